import Crypto
import Glibc
import Subscriptions

/// A file being written: buffered, with digest, bytes and lines counted as they pass.
///
/// Holds a buffer's worth of memory however long the file grows. Every fault of the disk is
/// `ReportError.notWritten`. A file that may be packed is packed with gzip once it is large, and
/// then has another name.
package struct OutputFile: ~Copyable {
    /// Bytes gathered before they are handed to the system.
    package static let bufferBytes = 128 * 1024

    /// A file that may be packed is packed beyond so many bytes of content.
    package static let packedBeyondBytes = 1 << 20

    private var path: String
    private var descriptor: FileDescriptor
    private let mayBePacked: Bool
    /// The content of a packed file that is not packed yet; `nil` for a plain file.
    private var unpacked: [UInt8]?
    /// Of the packed bytes.
    private var packedHash = SHA256()
    private var packedBytes = 0
    /// Takes the bytes instead of the descriptor.
    private var receive: (([UInt8]) throws(ReportError) -> Void)?
    private var buffer: [UInt8] = []
    private var hash = SHA256()
    private var flushedBytes = 0
    private var flushedLines = 0

    /// Creates the file, or empties the one that is there.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - mayBePacked: Whether it is packed where it is large.
    /// - Throws: `.notWritten`.
    package init(creating path: String, mayBePacked: Bool = false) throws(ReportError) {
        self.path = path
        self.mayBePacked = mayBePacked
        descriptor = try Self.create(path)
        buffer.reserveCapacity(Self.bufferBytes + 16 * 1024)
    }

    private static func create(_ path: String) throws(ReportError) -> FileDescriptor {
        try FileDescriptor(path, O_WRONLY | O_CREAT | O_TRUNC, orSay: "cannot create")
    }

    /// Begins a file that is not a file: its bytes go to a closure, a buffer at a time.
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
        var seal = FileSeal(
            name: name, sha256: hash.finalize().hexadecimal, bytes: flushedBytes,
            lines: flushedLines)
        if let rest = unpacked {
            if !rest.isEmpty { try writePacked(rest[...]) }
            seal = FileSeal(
                name: name + PackedMembers.suffix, sha256: packedHash.finalize().hexadecimal,
                bytes: packedBytes, lines: flushedLines, contentBytes: flushedBytes)
        }
        try descriptor.synchronize()
        try descriptor.close()
        return seal
    }

    private mutating func flush() throws(ReportError) {
        guard !buffer.isEmpty else { return }
        hash.update(data: buffer)
        flushedBytes += buffer.count
        flushedLines += buffer.lineFeeds
        if mayBePacked, unpacked == nil, flushedBytes > Self.packedBeyondBytes {
            try beginPacking()
        }
        if let receive {
            try receive(buffer)
        } else if unpacked != nil {
            try pack(buffer)
        } else {
            try descriptor.write(buffer)
        }
        buffer.removeAll(keepingCapacity: true)
    }

    /// Puts a packed file with the same content in the place of the plain one.
    private mutating func beginPacking() throws(ReportError) {
        let plain = path
        let written = try FileDescriptor(plain, O_RDONLY | O_NOFOLLOW, orSay: "cannot read")
        path = plain + PackedMembers.suffix
        descriptor = try Self.create(path)
        unpacked = []
        while let bytes = try written.read() { try pack(bytes) }
        guard unsafe unlink(plain) == 0 else {
            throw .notWritten(FileSystem.sentence("cannot remove", plain, errno))
        }
    }

    private mutating func pack(_ bytes: [UInt8]) throws(ReportError) {
        let content = (unpacked ?? []) + bytes
        var rest = content[...]
        while rest.count >= PackedMembers.contentBytes {
            try writePacked(rest.prefix(PackedMembers.contentBytes))
            rest = rest.dropFirst(PackedMembers.contentBytes)
        }
        unpacked = Array(rest)
    }

    private mutating func writePacked(_ content: ArraySlice<UInt8>) throws(ReportError) {
        guard let member = PackedMembers.packed(content) else {
            throw .notWritten("cannot pack \(path): zlib failed")
        }
        packedHash.update(data: member)
        packedBytes += member.count
        try descriptor.write(member)
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

/// The facts that identify the finished bytes of a file.
package struct FileSeal: Hashable, Sendable {
    package var name: String
    /// In lowercase hexadecimal.
    package var sha256: String
    package var bytes: Int
    /// Line feeds of the content, as `wc -l` counts: a quoted CSV field may hold some of its own.
    package var lines: Int
    /// The size of a packed file's content; `nil` for a plain file.
    package var contentBytes: Int?
}

/// An open file with one owner; every fault is `ReportError.notWritten`, with a sentence.
struct FileDescriptor: ~Copyable {
    private let number: Int32
    private let name: String
    private var isOpen = true

    /// Opens a file, or a folder.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - flags: As open(2) takes them; programs that are started do not get it.
    ///   - name: How sentences name it; `nil` for its path.
    ///   - failure: How the sentence about a fault begins.
    /// - Throws: `.notWritten`.
    init(
        _ path: String, _ flags: Int32, named name: String? = nil, orSay failure: String
    ) throws(ReportError) {
        let number = unsafe open(path, flags | O_CLOEXEC, 0o640)
        guard number >= 0 else {
            throw .notWritten(FileSystem.sentence(failure, name ?? path, errno))
        }
        self.number = number
        self.name = name ?? path
    }

    private func require(_ code: Int32?, _ failure: String) throws(ReportError) {
        if let code { throw .notWritten(FileSystem.sentence(failure, name, code)) }
    }

    /// Writes all bytes.
    func write(_ bytes: [UInt8]) throws(ReportError) {
        let code = unsafe bytes.withUnsafeBytes { buffer -> Int32? in
            var offset = 0
            while offset < buffer.count {
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[offset...])
                let written = unsafe Glibc.write(number, rest.baseAddress, rest.count)
                if written < 0 && errno == EINTR { continue }
                // A write that takes nothing would otherwise be tried for ever.
                guard written > 0 else { return written < 0 ? errno : EIO }
                offset += written
            }
            return nil
        }
        try require(code, "cannot write")
    }

    /// The next bytes; `nil` at the end.
    func read() throws(ReportError) -> [UInt8]? {
        let limit = OutputFile.bufferBytes
        var code: Int32?
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            var taken = unsafe Glibc.read(number, buffer.baseAddress, limit)
            while taken < 0 && errno == EINTR {
                taken = unsafe Glibc.read(number, buffer.baseAddress, limit)
            }
            if taken < 0 { code = errno }
            count = max(0, taken)
        }
        try require(code, "cannot read")
        return bytes.isEmpty ? nil : bytes
    }

    /// Drops everything from an offset on.
    func cut(at bytes: Int) throws(ReportError) {
        try require(ftruncate(number, bytes) == 0 ? nil : errno, "cannot write")
    }

    /// Waits until everything is on the disk.
    func synchronize() throws(ReportError) {
        try require(fsync(number) == 0 ? nil : errno, "cannot write")
    }

    /// Closes it, and throws the error that the system reports only then.
    mutating func close() throws(ReportError) {
        isOpen = false
        try require(Glibc.close(number) == 0 ? nil : errno, "cannot write")
    }

    deinit {
        if isOpen { _ = Glibc.close(number) }
    }
}

/// Files that another service sent, kept as they were sent.
extension FileSystem {
    /// Writes a file that has its name only when it is whole, checked and on the disk.
    ///
    /// - Parameters:
    ///   - bytes: The content.
    ///   - name: The name in the folder.
    ///   - folder: The folder; it is made where there is none.
    ///   - check: Throws for a content that must not be kept; it gets the path of the draft.
    /// - Throws: `ReportError`, or what `check` throws; then there is no file.
    package static func write(
        _ bytes: [UInt8], named name: String, in folder: String,
        check: (_ draft: String) throws -> Void
    ) throws {
        try makeFolders(folder)
        let path = folder + "/" + name
        let draft = path + ReportFolder.partialSuffix
        do {
            var file = try OutputFile(creating: draft)
            try file.append { $0 += bytes }
            _ = try file.close(named: name)
            try check(draft)
            try rename(draft, to: path)
            try synchronize(folder: folder)
        } catch {
            try? removeTree(draft)
            throw error
        }
    }

    /// Whether a file of this path is there.
    package static func exists(_ path: String) -> Bool { entry(at: path) != .nothing }
}
