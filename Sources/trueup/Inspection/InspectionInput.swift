import Glibc
import Subscriptions

/// Reads what is to be inspected: any bytes, as they are.
enum InspectionInput {
    /// A history page is half a megabyte, an `evidence.jsonl` of a large night some tens.
    static let maximumBytes = 256 << 20

    static var isTerminal: Bool { isatty(STDIN_FILENO) == 1 }

    /// - Throws: 65 when the file is absent, a folder, unreadable or beyond all measure.
    static func bytes(of file: String) throws(CommandFailure) -> [UInt8] {
        guard file != "-" else { return try read(STDIN_FILENO, named: "standard input") }
        let descriptor = unsafe open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw CommandFailure(
                .data, "\(file): cannot be read: \(SettingsFile.reason(errno)); nothing was judged")
        }
        defer { close(descriptor) }
        return try read(descriptor, named: file)
    }

    private static func read(
        _ descriptor: Int32, named name: String
    ) throws(CommandFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = unsafe Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else {
                throw CommandFailure(
                    .data,
                    "\(name): cannot be read: \(SettingsFile.reason(errno)); nothing was judged")
            }
            if count == 0 { return bytes }
            bytes.append(contentsOf: chunk[..<count])
            guard bytes.count <= maximumBytes else {
                throw CommandFailure(
                    .data,
                    "\(name): is longer than \(maximumBytes >> 20) MiB; nothing was judged. "
                        + "Inspect it in parts")
            }
        }
    }
}
