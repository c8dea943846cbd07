import Foundation

/// A small file beside the database, for its owner alone, that is replaced as a whole.
///
/// Such files carry words between the running job and commands that speak of it. Nothing depends on
/// them after a crash, so they are not forced to the disk.
struct RunFile: Sendable {
    /// More than this is not read.
    private static let maximumBytes = 1 << 16
    private static let mode: mode_t = 0o600

    let path: String

    /// - Parameters:
    ///   - database: The database's path; a symbolic link leads to the same file.
    ///   - suffix: What is appended to its name.
    init(besideDatabaseAt database: String, suffix: String) {
        path = URL(fileURLWithPath: database).resolvingSymlinksInPath().path + suffix
    }

    /// Replaces the file.
    ///
    /// - Parameter text: All of the new contents.
    /// - Returns: Why it could not be written; `nil` when it was.
    func replace(with text: String) -> String? {
        let draft = "\(path).\(getpid())"
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC
        let descriptor = unsafe Glibc.open(draft, flags, Self.mode)
        guard descriptor >= 0 else { return Self.reason() }
        giveToOwnerOfFolder(descriptor)
        let bytes = Array(text.utf8)
        let written = unsafe bytes.withUnsafeBytes { buffer in
            unsafe write(descriptor, buffer.baseAddress, buffer.count)
        }
        var reason = written == bytes.count ? nil : Self.reason()
        close(descriptor)
        if reason == nil, unsafe rename(draft, path) != 0 { reason = Self.reason() }
        if reason != nil { _ = unsafe unlink(draft) }
        return reason
    }

    /// What the file holds; `nil` where there is none, or somebody else could have written it.
    var text: String? {
        let descriptor = unsafe Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_mode & 0o077 == 0,
            geteuid() == 0 || status.st_uid == geteuid() || status.st_uid == 0
        else { return nil }
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Self.maximumBytes) {
            buffer, count in
            count = unsafe max(0, read(descriptor, buffer.baseAddress, buffer.count))
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The members of the JSON object that the file holds.
    var members: [String: Any]? {
        guard let text else { return nil }
        let object = try? JSONSerialization.jsonObject(with: Data(text.utf8))
        return object as? [String: Any]
    }

    func remove() { _ = unsafe unlink(path) }

    /// What root writes must be readable for the job, which belongs to the database's owner.
    private func giveToOwnerOfFolder(_ descriptor: Int32) {
        guard geteuid() == 0 else { return }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        var status = stat()
        guard unsafe stat(folder, &status) == 0 else { return }
        _ = fchown(descriptor, status.st_uid, status.st_gid)
    }

    private static func reason() -> String { unsafe String(cString: strerror(errno)) }
}
