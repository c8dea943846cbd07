/// Where some lines of a file stand that is sorted by digest, so that any other is found within a
/// few of them.
///
/// A million lines are searched in twenty steps, each of which reads the file; with the guide it is one
/// or two. It takes at most a mebibyte: of a longer file it keeps fewer lines.
struct DigestGuide: Sendable {
    private static let keptLines = 1 << 16

    /// The first eight bytes of each digest, and where its line begins.
    private var lines: [(key: UInt64, start: Int)] = []
    /// Of so many lines one is kept.
    private var interval = 1
    private var seen = 0

    /// Notes the next line.
    mutating func note(_ digest: String, start: Int) {
        defer { seen += 1 }
        guard seen % interval == 0 else { return }
        if lines.count == Self.keptLines {
            lines = lines.indices.filter { $0 % 2 == 0 }.map { lines[$0] }
            interval *= 2
            guard seen % interval == 0 else { return }
        }
        lines.append((Self.key(of: digest), start))
    }

    /// The part of the file where the line of a digest begins, if there is one.
    func part(for digest: String, ofBytes bytes: Int) -> Range<Int> {
        let key = Self.key(of: digest)
        // Others may begin with the same bytes, so the line may be behind one that does.
        let first = firstIndex { $0 >= key }
        let next = firstIndex { $0 > key }
        let isKept = interval == 1 && first < next
        let low = isKept ? lines[first].start : first == 0 ? 0 : lines[first - 1].start
        return low..<max(low, next < lines.count ? lines[next].start : bytes)
    }

    /// The index of the first line whose key holds; keys that do not hold come first.
    private func firstIndex(where holds: (UInt64) -> Bool) -> Int {
        var low = 0
        var high = lines.count
        while low < high {
            let middle = low + (high - low) / 2
            if holds(lines[middle].key) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    private static func key(of digest: String) -> UInt64 {
        UInt64(digest.prefix(16), radix: 16) ?? 0
    }
}
