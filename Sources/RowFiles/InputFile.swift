import CZlib
import Crypto
import FoundationEssentials
import Glibc
import Subscriptions

/// An open file of rows, or standard input; closed with its owner.
///
/// One that is packed with gzip is unpacked as it is read.
struct InputFile: ~Copyable {
    /// As the user named it; `standard input` for `-`.
    let name: String
    private let descriptor: Int32
    private let isOwned: Bool
    private var isAtStart = true
    private var gzip: GzipReader?
    /// Gets every byte as it is read; `nil` where no digest is wanted.
    private let sealing: InputSealing?

    /// The digest of what was read so far, packed where the file is; `nil` where none was wanted.
    var seal: InputSeal? { sealing?.seal(of: name) }

    /// Opens a file; `-` is standard input.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - isSealed: Whether a digest of what is read is wanted.
    /// - Throws: `.unreadable`.
    init(path: String, isSealed: Bool = false) throws(RowFileError) {
        sealing = isSealed ? InputSealing() : nil
        guard path != "-" else {
            name = "standard input"
            descriptor = STDIN_FILENO
            isOwned = false
            return
        }
        let opened = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard opened >= 0 else {
            throw RowFileError.unreadable(file: path, reason: Self.reason(errno))
        }
        var status = stat()
        if unsafe fstat(opened, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
            close(opened)
            throw RowFileError.unreadable(file: path, reason: "it is a folder")
        }
        name = path
        descriptor = opened
        isOwned = true
    }

    private init(name: String, ownedDescriptor: Int32) {
        self.name = name
        descriptor = ownedDescriptor
        isOwned = true
        sealing = nil
    }

    deinit {
        if isOwned { close(descriptor) }
    }

    /// Reads into `bytes` from `offset` to its end at most; 0 at the end of the file.
    mutating func read(into bytes: inout [UInt8], at offset: Int) throws(RowFileError) -> Int {
        if let gzip { return try read(gzip, into: &bytes, at: offset) }
        let count = try readStored(into: &bytes, at: offset)
        defer { isAtStart = false }
        guard isAtStart, count > 2, bytes[offset] == 0x1F, bytes[offset + 1] == 0x8B else {
            return count
        }
        let gzip = GzipReader(beginning: Array(bytes[offset..<offset + count]))
        self.gzip = gzip
        return try read(gzip, into: &bytes, at: offset)
    }

    /// Reads what the file unpacks to.
    private func read(
        _ gzip: GzipReader, into bytes: inout [UInt8], at offset: Int
    ) throws(RowFileError) -> Int {
        while true {
            guard let count = gzip.unpack(into: &bytes, at: offset) else {
                throw RowFileError.unreadable(file: name, reason: "its gzip data is damaged")
            }
            if count > 0 { return count }
            let isMore = try gzip.refill { (packed) throws(RowFileError) in
                try readStored(into: &packed, at: 0)
            }
            guard !isMore else { continue }
            guard gzip.isAtEndOfMember else {
                throw RowFileError.unreadable(
                    file: name, reason: "its gzip data ends too early; copy the file again")
            }
            return 0
        }
    }

    private func readStored(into bytes: inout [UInt8], at offset: Int) throws(RowFileError) -> Int {
        while true {
            let count = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(
                    descriptor, buffer.baseAddress?.advanced(by: offset), buffer.count - offset)
            }
            if count >= 0 {
                sealing?.add(bytes[offset..<offset + count])
                return count
            }
            guard errno == EINTR else {
                throw RowFileError.unreadable(file: name, reason: Self.reason(errno))
            }
        }
    }

    /// Goes back to the beginning; `false` for a pipe.
    mutating func rewind() -> Bool {
        guard lseek(descriptor, 0, SEEK_SET) == 0 else { return false }
        isAtStart = true
        gzip = nil
        return true
    }

    /// A copy in a temporary file without a name: what was read before, then the rest.
    mutating func spooled(after beginning: ArraySlice<UInt8>) throws(RowFileError) -> InputFile {
        let folder = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
        var template = (folder + "/trueup-XXXXXX").utf8CString
        let copy = unsafe template.withUnsafeMutableBufferPointer { template in
            guard let path = template.baseAddress else { return Int32(-1) }
            let descriptor = unsafe mkstemp(path)
            if descriptor >= 0 { unsafe unlink(path) }
            return descriptor
        }
        guard copy >= 0 else {
            throw RowFileError.unreadable(
                file: name, reason: "no temporary file for it: \(Self.reason(errno))")
        }
        var spool = InputFile(name: name, ownedDescriptor: copy)
        try spool.write(beginning)
        var bytes = [UInt8](repeating: 0, count: RecordBuffer.chunkBytes)
        while true {
            let count = try read(into: &bytes, at: 0)
            if count == 0 { break }
            try spool.write(bytes[..<count])
        }
        _ = spool.rewind()
        return spool
    }

    private func write(_ bytes: ArraySlice<UInt8>) throws(RowFileError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { buffer in
                unsafe Glibc.write(descriptor, buffer.baseAddress, buffer.count)
            }
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else {
                throw RowFileError.unreadable(
                    file: name, reason: "no room for a temporary copy: \(Self.reason(errno))")
            }
            rest = rest.dropFirst(count)
        }
    }

    private static func reason(_ code: Int32) -> String {
        guard let text = unsafe strerror(code) else { return "error \(code)" }
        return unsafe String(cString: text)
    }
}

/// The digest of a file while it is read, so that it is that of the bytes which were used.
private final class InputSealing {
    private var hash = SHA256()
    private var bytes = 0
    private var lines = 0

    func add(_ read: ArraySlice<UInt8>) {
        hash.update(data: read)
        bytes += read.count
        lines += read.count { $0 == UInt8(ascii: "\n") }
    }

    func seal(of name: String) -> InputSeal {
        InputSeal(
            path: name, sha256: hash.finalize().hexadecimal, bytes: bytes, lines: lines)
    }
}

/// Unpacks gzip data, of one member or several, as it comes.
@safe final class GzipReader {
    private static let chunkBytes = 1 << 18
    /// The largest window of zlib, and its mark for a gzip header.
    private static let windowBits: Int32 = 15 + 16

    private var stream = unsafe z_stream()
    private var isOpen = false
    private var packed: [UInt8]
    private var position = 0
    private var end: Int
    /// Whether everything so far is whole members.
    private(set) var isAtEndOfMember = true

    /// - Parameter beginning: the first packed bytes.
    init(beginning: [UInt8]) {
        packed = beginning
        end = beginning.count
    }

    deinit { close() }

    private func close() {
        if isOpen { _ = unsafe inflateEnd(&stream) }
        isOpen = false
    }

    private func open() -> Bool {
        if isOpen { return true }
        unsafe stream = z_stream()
        isOpen =
            unsafe inflateInit2_(
                &stream, Self.windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK
        return isOpen
    }

    /// Unpacks as much as fits; 0 where more packed bytes are needed, `nil` for damaged data.
    func unpack(into bytes: inout [UInt8], at offset: Int) -> Int? {
        while position < end {
            guard open() else { return nil }
            isAtEndOfMember = false
            var result = Z_OK
            var made = 0
            let first = position
            unsafe packed.withUnsafeMutableBufferPointer { source in
                unsafe bytes.withUnsafeMutableBufferPointer { target in
                    unsafe stream.next_in = source.baseAddress?.advanced(by: first)
                    unsafe stream.avail_in = uInt(end - first)
                    unsafe stream.next_out = target.baseAddress?.advanced(by: offset)
                    let room = target.count - offset
                    unsafe stream.avail_out = uInt(room)
                    result = unsafe inflate(&stream, Z_NO_FLUSH)
                    made = unsafe room - Int(stream.avail_out)
                }
            }
            position = unsafe end - Int(stream.avail_in)
            switch result {
            case Z_OK, Z_BUF_ERROR: break
            case Z_STREAM_END:
                isAtEndOfMember = true
                close()
            default: return nil
            }
            if made > 0 { return made }
            guard result == Z_STREAM_END || position > first else { return nil }
        }
        return 0
    }

    /// Reads more packed bytes; `false` at the end of the file.
    func refill(
        _ read: (inout [UInt8]) throws(RowFileError) -> Int
    ) throws(RowFileError) -> Bool {
        if packed.count < Self.chunkBytes {
            packed = [UInt8](repeating: 0, count: Self.chunkBytes)
        }
        end = try read(&packed)
        position = 0
        return end > 0
    }
}

/// Unpacks a file of another program to its end without keeping anything.
///
/// - Throws: `RowFileError` when it cannot be read, or its gzip data is damaged or ends too early.
package func checkPackedFile(_ path: String) throws(RowFileError) {
    var file = try InputFile(path: path)
    var bytes = [UInt8](repeating: 0, count: 65_536)
    while try file.read(into: &bytes, at: 0) > 0 {}
}
