/// Zones as the time zone database of a machine has them.
///
/// Source: RFC 9636. Only what every machine has now is read: version 2 and later, without leap
/// seconds.
extension LocalClock {
    /// - Parameters:
    ///   - name: For example `Europe/Berlin`.
    ///   - bytes: The file of that zone.
    package init?(zone name: String, tzif bytes: [UInt8]) {
        var reader = TZifReader(bytes: bytes)
        // The first block has times of 32 bits, for programs of long ago.
        guard let old = reader.header(), old.version >= UInt8(ascii: "2"),
            reader.skip(old.length(ofTime: 4)), let block = reader.header(), block.leaps == 0,
            block.types > 0
        else { return nil }
        var times: [Int64] = []
        for _ in 0..<block.times {
            guard let time = reader.integer(bytes: 8) else { return nil }
            times.append(time)
        }
        var indexes: [Int] = []
        for _ in 0..<block.times {
            guard let index = reader.byte(), Int(index) < block.types else { return nil }
            indexes.append(Int(index))
        }
        var offsets: [Int64] = []
        for _ in 0..<block.types {
            // An offset; then whether it is summer, and the place of its name.
            guard let offset = reader.integer(bytes: 4), reader.skip(2),
                (-100_000...100_000).contains(offset)
            else { return nil }
            offsets.append(offset)
        }
        guard reader.skip(block.characters &+ block.standards &+ block.universals),
            let footer = reader.footer(), zip(times, times.dropFirst()).allSatisfy({ $0 < $1 })
        else { return nil }
        var yearly: YearlyRule?
        if !footer.isEmpty {
            guard let rule = YearlyRule(posix: footer) else { return nil }
            yearly = rule
        }
        self.init(
            name, first: offsets[0],
            changes: zip(times, indexes).map { Change(at: $0, offset: offsets[$1]) },
            yearly: yearly)
    }
}

/// Reads the pieces of such a file, front to back.
private struct TZifReader {
    private let bytes: [UInt8]
    private var position = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// How much of what a block holds.
    struct Header {
        var version: UInt8
        var universals, standards, leaps, times, types, characters: Int

        func length(ofTime size: Int) -> Int {
            times &* (size &+ 1) &+ types &* 6 &+ characters &+ leaps &* (size &+ 4) &+ standards
                &+ universals
        }
    }

    mutating func byte() -> UInt8? {
        guard position < bytes.count else { return nil }
        defer { position &+= 1 }
        return bytes[position]
    }

    mutating func skip(_ count: Int) -> Bool {
        guard count >= 0, count <= bytes.count &- position else { return false }
        position &+= count
        return true
    }

    /// Of so many bytes, the sign in the first, the greatest first.
    mutating func integer(bytes count: Int) -> Int64? {
        var value: Int64?
        for _ in 0..<count {
            guard let byte = byte() else { return nil }
            value = value.map { $0 << 8 | Int64(byte) } ?? Int64(Int8(bitPattern: byte))
        }
        return value
    }

    mutating func header() -> Header? {
        for expected in "TZif".utf8 where byte() != expected { return nil }
        guard let version = byte(), skip(15) else { return nil }
        var counts: [Int] = []
        for _ in 0..<6 {
            // No zone has a hundredth of it.
            guard let count = integer(bytes: 4), (0...100_000).contains(count) else { return nil }
            counts.append(Int(count))
        }
        return Header(
            version: version, universals: counts[0], standards: counts[1], leaps: counts[2],
            times: counts[3], types: counts[4], characters: counts[5])
    }

    /// The rule after the last change, between two line feeds at the end.
    mutating func footer() -> String? {
        let lineFeed = UInt8(ascii: "\n")
        guard byte() == lineFeed else { return nil }
        let start = position
        while let byte = byte() {
            guard byte == lineFeed else { continue }
            return String(decoding: bytes[start..<position &- 1], as: UTF8.self)
        }
        return nil
    }
}
