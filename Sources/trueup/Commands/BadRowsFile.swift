import Glibc
import RowFiles
import Subscriptions

/// Every bad line of an import in a file of its own: CSV where its name says so, else JSON Lines.
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
            "file": .string(file), "line": .integer(Int64(line)), "reason": .string(reason),
        ])
    }
}
