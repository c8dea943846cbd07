import Glibc
import Subscriptions

/// A file with a secret in it, read only when it is safe where it lies.
struct ProtectedFile {
    /// As the settings name it.
    let path: String
    /// The setting that names it.
    let key: String
    /// The setting that would name a variable instead.
    let alternative: String
    /// What it should be, for errors: `the .p8 file`.
    let what: String
    /// How to put it there.
    let remedy: String

    /// Anything far larger than a key or a password is another file.
    private static let maximumBytes = 16_384

    /// - Throws: 78 when there is none; 77 when it is not a regular file, too large, or others than
    ///   its owner and a group of this process may do anything with it.
    func text(_ environment: [String: String]) throws(ConfigurationError) -> String {
        let place = try place(environment)
        // Links are followed, as mounted secrets consist of them. What was opened is what is judged
        // and read, so nothing can be swapped in between.
        let descriptor = unsafe open(place, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            let code = errno
            if code == ENOENT || code == ENOTDIR {
                throw ConfigurationError(
                    file: place, key: key, problem: "does not exist", suggestion: remedy)
            }
            throw refusal(
                of: place, "cannot be read: \(SettingsFile.reason(code))",
                code == EACCES
                    ? "give it to the job's user, or mount it for a group of that user; or use "
                        + alternative
                    : nil)
        }
        defer { close(descriptor) }
        try check(descriptor, place)
        return try contents(of: descriptor, place)
    }

    private func place(_ environment: [String: String]) throws(ConfigurationError) -> String {
        guard let name = SettingsPath.credential(in: path) else { return path }
        let variable = SettingsPath.credentialVariable
        guard let folder = environment[variable], !folder.isEmpty else {
            throw ConfigurationError(
                file: "environment", key: variable, problem: "is not set, but \(key) names it",
                suggestion: "systemd sets it for a unit with LoadCredential=\(name):FILE; by hand, "
                    + "set it to the folder of the file")
        }
        return folder + "/" + name
    }

    private func check(_ descriptor: Int32, _ place: String) throws(ConfigurationError) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw refusal(of: place, "is not a regular file", "name \(what) itself")
        }
        let access = FileAccess(
            mode: status.st_mode & 0o7777, owner: status.st_uid, group: status.st_gid,
            isCredential: SettingsPath.credential(in: path) != nil)
        guard let objection = access.objection(to: .current) else { return }
        throw refusal(
            of: place, objection,
            "run: chmod 600 \(place); where it is mounted, with mode 0440 for a group of the job's "
                + "user; or use \(alternative)")
    }

    private func contents(
        of descriptor: Int32, _ place: String
    ) throws(ConfigurationError) -> String {
        var bytes = [UInt8](repeating: 0, count: Self.maximumBytes + 1)
        var filled = 0
        while filled < bytes.count {
            let count = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe read(
                    descriptor, buffer.baseAddress?.advanced(by: filled), buffer.count - filled)
            }
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else {
                throw refusal(of: place, "cannot be read: \(SettingsFile.reason(errno))")
            }
            if count == 0 { break }
            filled += count
        }
        guard filled <= Self.maximumBytes else {
            throw refusal(of: place, "is too large to be \(what)")
        }
        return String(decoding: bytes[..<filled], as: UTF8.self)
    }

    private func refusal(
        of place: String, _ problem: String, _ suggestion: String? = nil
    ) -> ConfigurationError {
        ConfigurationError(
            file: place, key: key, problem: problem, suggestion: suggestion, status: .denied)
    }
}
