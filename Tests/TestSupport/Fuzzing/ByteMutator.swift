/// Changes bytes at random, reproducibly from its seed: one to four changes a time.
package struct ByteMutator: Sendable {
    /// Bytes and texts at which parsers go wrong.
    private static let stumblingBlocks: [[UInt8]] = [
        [0x00], [0x7F], [0x80], [0xFF], [0x30, 0x80], [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF],
        [0xED, 0xA0, 0x80], Array(".".utf8), Array("..".utf8), Array("=".utf8), Array("\"".utf8),
        Array("\\".utf8), Array("\\ud800".utf8), Array("[[[[[[[[".utf8), Array("{\"\":".utf8),
        Array("9223372036854775808".utf8), Array("-9223372036854775808".utf8),
        Array("1e999999".utf8), Array("1e-99999".utf8), Array("null".utf8), Array("-0".utf8),
        Array(",\"bundleId\":\"\"".utf8), Array("\u{FEFF}".utf8),
    ]
    private static let longest = 65_536

    private var generator: SeededGenerator

    package init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    /// One of the seeds, changed; parts of the others may be spliced in.
    package mutating func mutated(of seeds: [[UInt8]]) -> [UInt8] {
        var bytes = seeds[Int.random(in: 0..<seeds.count, using: &generator)]
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
            change(&bytes, seeds: seeds)
        }
        return Array(bytes.prefix(Self.longest))
    }

    private mutating func change(_ bytes: inout [UInt8], seeds: [[UInt8]]) {
        guard !bytes.isEmpty else {
            bytes = Self.stumblingBlocks.randomElement(using: &generator) ?? []
            return
        }
        let place = Int.random(in: 0..<bytes.count, using: &generator)
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
        case 1: bytes[place] = UInt8.random(in: 0...255, using: &generator)
        case 2: bytes.removeSubrange(place..<min(bytes.count, place + length()))
        case 3:
            let piece = bytes[place..<min(bytes.count, place + length())]
            bytes.insert(contentsOf: piece, at: place)
        case 4:
            let block = Self.stumblingBlocks.randomElement(using: &generator) ?? []
            bytes.insert(contentsOf: block, at: place)
        case 5:
            let block = Self.stumblingBlocks.randomElement(using: &generator) ?? []
            bytes.replaceSubrange(place..<min(bytes.count, place + block.count), with: block)
        case 6: bytes.removeSubrange(place...)
        default:
            let other = seeds[Int.random(in: 0..<seeds.count, using: &generator)]
            guard !other.isEmpty else { return }
            let start = Int.random(in: 0..<other.count, using: &generator)
            bytes.insert(contentsOf: other[start..<min(other.count, start + length())], at: place)
        }
    }

    /// Mostly a few bytes, sometimes many.
    private mutating func length() -> Int {
        Bool.random(using: &generator)
            ? Int.random(in: 1...8, using: &generator) : Int.random(in: 1...2048, using: &generator)
    }
}
