import Glibc
import RowFiles
import Subscriptions

/// Names the bad lines of a file on standard error while it is being read.
struct BadLineLog {
    /// Without `--skip-bad-rows` the file is refused anyway, and its first faults tell enough.
    static let namedWhenRefusing = 20

    let file: String
    private let namesAll: Bool
    private let asJSON: Bool
    /// Where all of them are written.
    private let copy: BadRowsFile?
    private(set) var count = 0

    init(file: String, namesAll: Bool, asJSON: Bool, copy: BadRowsFile? = nil) {
        self.file = file == "-" ? "standard input" : file
        self.namesAll = namesAll
        self.asJSON = asJSON
        self.copy = copy
    }

    mutating func note(_ bad: BadLine, in invocation: Invocation) throws(CommandFailure) {
        count += 1
        try copy?.add(bad, of: file)
        guard namesAll || count <= Self.namedWhenRefusing else { return }
        guard asJSON else { return invocation.say("\(file):\(bad.line): \(bad.reason)") }
        invocation.say(json: bad.json(of: file))
    }

    /// Says something about a line that is not bad.
    func remark(_ text: String, line: Int, in invocation: Invocation) {
        guard asJSON else { return invocation.say("\(file):\(line): \(text)") }
        invocation.say(
            json: .object([
                "file": .string(file), "line": .count(line), "remark": .string(text),
            ]))
    }

    /// Writes out what is still buffered of the copy.
    func finish() throws(CommandFailure) { try copy?.finish() }

    /// Reads a file of a comparison to its end.
    ///
    /// - Parameters:
    ///   - reader: The open file.
    ///   - file: The file as the user named it.
    ///   - invocation: Where bad lines are named.
    ///   - asJSON: Whether they are named as JSON.
    ///   - take: Gets each row, and whether the file had no bad line before it.
    /// - Throws: 65 where it has bad lines, of which the first are named; what `take` throws.
    static func readAll<Field, Row>(
        _ reader: inout RowFileReader<Field, Row>, of file: String, in invocation: Invocation,
        asJSON: Bool, _ take: (Row, _ isGood: Bool) throws -> Void
    ) throws {
        var log = BadLineLog(file: file, namesAll: false, asJSON: asJSON)
        while let line = try reader.next() {
            switch line {
            case .bad(let bad): try log.note(bad, in: invocation)
            case .row(let row, _): try take(row, log.count == 0)
            }
        }
        guard log.count == 0 else { throw log.comparisonRefusal }
    }

    /// The error by which a comparison refuses the file.
    private var comparisonRefusal: CommandFailure {
        CommandFailure(
            .data,
            "\(PlainText.of(file)): \(badLines())"
                + ". Nothing was compared. Export the file again, or remove these lines.")
    }

    /// - Parameter hint: Follows the remark that not all of them are named.
    /// - Returns: How many lines are bad.
    private func badLines(hint: String = "") -> String {
        let isCut = !namesAll && count > Self.namedWhenRefusing
        return count.counted("bad line")
            + (isCut ? " (the first \(Self.namedWhenRefusing) are named above\(hint))" : "")
    }

    /// The error by which the file is refused as a whole.
    var refusal: CommandFailure {
        CommandFailure(
            .data,
            "\(file): \(badLines(hint: "; --bad-rows FILE or --json gives all"))"
                + "; nothing was loaded. Fix the file, or leave bad lines out with --skip-bad-rows"
        )
    }
}

/// Every bad line of an import in a file of its own: CSV where its name says so, otherwise JSON
/// Lines.
final class BadRowsFile {
    private let sink: DescriptorSink
    private let descriptor: Int32
    private let isCSV: Bool

    /// - Throws: 73 when the file cannot be made.
    init(path: String) throws(CommandFailure) {
        let opened = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o640)
        guard opened >= 0 else {
            throw CommandFailure(
                .cannotCreate, "cannot create \(path): \(SettingsFile.reason(errno))")
        }
        descriptor = opened
        sink = DescriptorSink(descriptor: opened, name: path)
        isCSV = path.lowercased().hasSuffix(".csv")
        if isCSV { try sink.write(Array("file,line,reason\r\n".utf8)) }
    }

    deinit { close(descriptor) }

    func add(_ bad: BadLine, of file: String) throws(CommandFailure) {
        guard isCSV else {
            return try sink.line(bad.json(of: file).rendered)
        }
        let cells = [file, String(bad.line), bad.reason].map { text in
            let quoted = text.split(separator: "\"", omittingEmptySubsequences: false)
                .joined(separator: "\"\"")
            return "\"\(quoted)\""
        }
        try sink.write(Array((cells.joined(separator: ",") + "\r\n").utf8))
    }

    func finish() throws(CommandFailure) { try sink.flush() }
}

extension BadLine {
    func json(of file: String) -> CanonicalJSON {
        .object([
            "file": .string(file), "line": .count(line), "reason": .string(reason),
        ])
    }
}
