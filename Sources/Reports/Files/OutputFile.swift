import Crypto
import Glibc
import Subscriptions

/// A file being written: buffered, with digest, bytes and lines counted as they pass.
///
/// Holds a buffer's worth of memory however long the file grows. Every fault of the disk is
/// `ReportError.notWritten`.
package struct OutputFile: ~Copyable {
    /// Bytes gathered before they are handed to the system.
    package static let bufferBytes = 128 * 1024

    private let path: String
    private let descriptor: FileDescriptor
    /// Takes the bytes instead of the descriptor.
    private var receive: (([UInt8]) throws(ReportError) -> Void)?
    private var buffer: [UInt8] = []
    private var hash = SHA256()
    private var flushedBytes = 0
    private var flushedLines = 0

    /// Creates the file, or empties the one that is there.
    package init(creating path: String) throws(ReportError) {
        let number = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o640)
        guard number >= 0 else {
            throw .notWritten(FileSystem.sentence("cannot create", path, errno))
        }
        self.path = path
        self.descriptor = FileDescriptor(owning: number)
        buffer.reserveCapacity(Self.bufferBytes + 16 * 1024)
    }

    /// Begins a file that is no file: its bytes go to a closure, a buffer at a time.
    ///
    /// It ends with `handOnRest`; there is nothing to put on a disk and close.
    init(handingTo receive: @escaping ([UInt8]) throws(ReportError) -> Void) throws(ReportError) {
        try self.init(creating: "/dev/null")
        self.receive = receive
    }

    /// Hands on what is still buffered.
    mutating func handOnRest() throws(ReportError) { try flush() }

    /// Appends text as UTF-8.
    package mutating func write(_ text: String) throws(ReportError) {
        buffer.append(contentsOf: text.utf8)
        if buffer.count >= Self.bufferBytes { try flush() }
    }

    /// Appends whatever the closure adds to the bytes.
    mutating func append(_ body: (inout [UInt8]) -> Void) throws(ReportError) {
        body(&buffer)
        if buffer.count >= Self.bufferBytes { try flush() }
    }

    /// The SHA-256 of everything written so far.
    package mutating func digestSoFar() throws(ReportError) -> String {
        try flush()
        return hash.finalize().hexadecimal
    }

    /// Puts everything on the disk and closes the file.
    package consuming func close(named name: String) throws(ReportError) -> FileSeal {
        try flush()
        let seal = FileSeal(
            name: name, sha256: hash.finalize().hexadecimal, bytes: flushedBytes,
            lines: flushedLines)
        if let code = descriptor.synchronize() {
            throw .notWritten(FileSystem.sentence("cannot write", path, code))
        }
        if let code = descriptor.close() {
            throw .notWritten(FileSystem.sentence("cannot write", path, code))
        }
        return seal
    }

    private mutating func flush() throws(ReportError) {
        guard !buffer.isEmpty else { return }
        hash.update(data: buffer)
        flushedBytes += buffer.count
        flushedLines += buffer.lineFeeds
        if let receive {
            try receive(buffer)
        } else if let code = descriptor.write(buffer) {
            throw .notWritten(FileSystem.sentence("cannot write", path, code))
        }
        buffer.removeAll(keepingCapacity: true)
    }
}

extension [UInt8] {
    /// How many line feeds there are, found with `memchr`: reports run to gigabytes.
    var lineFeeds: Int {
        unsafe withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return 0 }
            var count = 0
            var offset = 0
            while let found = unsafe memchr(base + offset, 0x0A, bytes.count - offset) {
                count += 1
                offset = unsafe UnsafeRawPointer(found) - base + 1
            }
            return count
        }
    }
}

/// What identifies the finished bytes of a file.
package struct FileSeal: Hashable, Sendable {
    package var name: String
    /// In lowercase hexadecimal.
    package var sha256: String
    package var bytes: Int
    /// Line feeds, as `wc -l` counts: a quoted CSV field may hold some of its own.
    package var lines: Int
}
