import FoundationEssentials
import Glibc

/// An open file of rows, or standard input; closed with its owner.
struct InputFile: ~Copyable {
    /// As the user named it; `standard input` for `-`.
    let name: String
    private let descriptor: Int32
    private let isOwned: Bool

    /// Opens a file; `-` is standard input.
    init(path: String) throws(RowFileError) {
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
    }

    deinit {
        if isOwned { close(descriptor) }
    }

    /// Reads into `bytes` from `offset` to its end at most; 0 at the end of the file.
    func read(into bytes: inout [UInt8], at offset: Int) throws(RowFileError) -> Int {
        while true {
            let count = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(
                    descriptor, buffer.baseAddress?.advanced(by: offset), buffer.count - offset)
            }
            if count >= 0 { return count }
            guard errno == EINTR else {
                throw RowFileError.unreadable(file: name, reason: Self.reason(errno))
            }
        }
    }

    /// Goes back to the beginning; `false` for a pipe.
    func rewind() -> Bool { lseek(descriptor, 0, SEEK_SET) == 0 }

    /// A copy in a temporary file without a name: what was read before, then the rest.
    func spooled(after beginning: ArraySlice<UInt8>) throws(RowFileError) -> InputFile {
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
        let spool = InputFile(name: name, ownedDescriptor: copy)
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
