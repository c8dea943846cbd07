import Glibc
import Subscriptions

/// A file with a secret in it, read only when it is safe where it lies.
struct ProtectedFile {
    let path: String
    /// The setting that names it.
    let key: String
    /// What it should be, for errors: `the .p8 file`.
    let what: String
    /// How to put it there.
    let remedy: String

    /// Anything far larger than a key or a password is another file.
    private static let maximumBytes = 16_384

    /// - Throws: 78 when there is none; 77 when it is a link, not a regular file, too large, or
    ///   others than its owner may do anything with it.
    func text() throws(ConfigurationError) -> String {
        var entry = stat()
        guard unsafe lstat(path, &entry) == 0 else {
            let missing = errno == ENOENT || errno == ENOTDIR
            throw ConfigurationError(
                file: path, key: key, problem: missing ? "does not exist" : "cannot be read",
                suggestion: remedy)
        }
        if entry.st_mode & S_IFMT == S_IFLNK {
            throw refusal(
                "is a symbolic link: what it points to can be changed unseen",
                "name the file itself")
        }
        // The same descriptor is checked and read, so the file cannot be swapped in between.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw refusal("cannot be read: \(SettingsFile.reason(errno))")
        }
        defer { close(descriptor) }
        try check(descriptor)
        return try contents(of: descriptor)
    }

    private func check(_ descriptor: Int32) throws(ConfigurationError) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw refusal("is not a regular file", "name \(what) itself")
        }
        guard [0o600, 0o400].contains(status.st_mode & 0o7777) else {
            let mode = String(status.st_mode & 0o7777, radix: 8)
            throw refusal("has mode 0\(mode); it is for its owner alone", "run: chmod 600 \(path)")
        }
    }

    private func contents(of descriptor: Int32) throws(ConfigurationError) -> String {
        var bytes = [UInt8](repeating: 0, count: Self.maximumBytes + 1)
        var filled = 0
        while filled < bytes.count {
            let count = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe read(
                    descriptor, buffer.baseAddress?.advanced(by: filled), buffer.count - filled)
            }
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else {
                throw refusal("cannot be read: \(SettingsFile.reason(errno))")
            }
            if count == 0 { break }
            filled += count
        }
        guard filled <= Self.maximumBytes else { throw refusal("is too large to be \(what)") }
        return String(decoding: bytes[..<filled], as: UTF8.self)
    }

    private func refusal(_ problem: String, _ suggestion: String? = nil) -> ConfigurationError {
        ConfigurationError(
            file: path, key: key, problem: problem, suggestion: suggestion, status: .denied)
    }
}
