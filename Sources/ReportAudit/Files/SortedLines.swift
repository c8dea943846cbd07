/// A file whose lines stand in ascending order of a key: one is found by halving, in constant memory.
final class SortedLines {
    private static let chunkBytes = 1 << 16

    private let file: PlainFile

    init(_ path: String) throws(UnreadableFile) {
        file = try PlainFile(path)
    }

    /// Where the looked-for line stands from a line.
    enum Direction {
        case before, here, after
    }

    /// The line that `direction` calls `here`, without its line feed; `nil` when there is none.
    func line(_ direction: ([UInt8]) -> Direction) throws(UnreadableFile) -> [UInt8]? {
        var low = 0
        var high = file.bytes
        while low < high {
            let middle = low + (high - low) / 2
            guard let start = try firstLineStart(from: middle), start < high else {
                high = middle
                continue
            }
            let line = try line(at: start)
            switch direction(line) {
            case .here: return line
            case .before: high = middle
            case .after: low = start + line.count + 1
            }
        }
        return nil
    }

    /// The first beginning of a line at or after an offset.
    private func firstLineStart(from offset: Int) throws(UnreadableFile) -> Int? {
        guard offset > 0 else { return 0 }
        var position = offset - 1
        while true {
            let chunk = try file.read(upTo: Self.chunkBytes, at: position)
            if chunk.isEmpty { return nil }
            if let end = chunk.firstLineFeed(from: 0) { return position + end + 1 }
            position += chunk.count
        }
    }

    private func line(at start: Int) throws(UnreadableFile) -> [UInt8] {
        var line: [UInt8] = []
        while true {
            let chunk = try file.read(upTo: Self.chunkBytes, at: start + line.count)
            if let end = chunk.firstLineFeed(from: 0) { return line + chunk[..<end] }
            line += chunk
            if chunk.isEmpty || line.count > LineFile.lineLimitBytes { return line }
        }
    }
}
