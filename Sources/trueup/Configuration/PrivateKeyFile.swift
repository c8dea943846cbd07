import Glibc
import Subscriptions

/// The app's private key, read only when it is safe where it lies.
package enum PrivateKeyFile {
    /// A `.p8` is 257 bytes; anything far larger is another file.
    private static let maximumBytes = 16_384

    /// The PEM that an app's settings point to.
    ///
    /// - Throws: 77 when the file is not a regular file, others may read it, or it is no plain
    ///   PEM key; 78 when it or the environment variable is absent.
    package static func load(
        _ app: AppSettings, environment: [String: String]
    ) throws(ConfigurationError) -> Secret {
        switch app.keySource {
        case .file(let path):
            return try pem(try contents(ofFileAt: path), file: path, key: "key_file")
        case .environment(let name):
            guard let text = environment[name], !text.isEmpty else {
                throw ConfigurationError(
                    file: "environment", key: name, problem: "is not set, but key_env names it",
                    suggestion: "set it to the text of the .p8 file")
            }
            return try pem(text, file: "environment", key: name)
        }
    }

    private static func contents(ofFileAt path: String) throws(ConfigurationError) -> String {
        let refuse = { (problem: String, suggestion: String?) in
            ConfigurationError(
                file: path, key: "key_file", problem: problem, suggestion: suggestion,
                status: .denied)
        }
        var entry = stat()
        guard unsafe lstat(path, &entry) == 0 else {
            let missing = errno == ENOENT || errno == ENOTDIR
            throw ConfigurationError(
                file: path, key: "key_file",
                problem: missing ? "does not exist" : "cannot be read",
                suggestion: "put the .p8 from App Store Connect there, or mend the path")
        }
        if entry.st_mode & S_IFMT == S_IFLNK {
            throw refuse(
                "is a symbolic link: what it points to can be changed unseen",
                "name the key file itself")
        }
        // The same descriptor is checked and read, so the file cannot be swapped in between.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw refuse("cannot be read: \(SettingsFile.reason(errno))", nil)
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw refuse("is not a regular file", "name the .p8 file itself")
        }
        guard [0o600, 0o400].contains(status.st_mode & 0o7777) else {
            let mode = String(status.st_mode & 0o7777, radix: 8)
            throw refuse(
                "has mode 0\(mode); a private key is for its owner alone",
                "run: chmod 600 \(path)")
        }
        var bytes = [UInt8](repeating: 0, count: maximumBytes + 1)
        var filled = 0
        while filled < bytes.count {
            let count = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe read(
                    descriptor, buffer.baseAddress?.advanced(by: filled), buffer.count - filled)
            }
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else {
                throw refuse("cannot be read: \(SettingsFile.reason(errno))", nil)
            }
            if count == 0 { break }
            filled += count
        }
        guard filled <= maximumBytes else { throw refuse("is too large to be a .p8 key", nil) }
        return String(decoding: bytes[..<filled], as: UTF8.self)
    }

    /// Looks at the outside only; whether the numbers inside are a key is for the signer to say.
    private static func pem(
        _ text: String, file: String, key: String
    ) throws(ConfigurationError) -> Secret {
        let problem: String
        if text.contains("ENCRYPTED") {
            problem = "is protected by a passphrase, which a nightly job cannot type"
        } else if text.contains("BEGIN PUBLIC KEY") || text.contains("BEGIN CERTIFICATE") {
            problem = "holds a public key or a certificate, not the private key"
        } else if text.contains("-----BEGIN PRIVATE KEY-----")
            || text.contains("-----BEGIN EC PRIVATE KEY-----")
        {
            return Secret(text)
        } else {
            problem = "is not a PEM private key"
        }
        throw ConfigurationError(
            file: file, key: key, problem: problem,
            suggestion: "use the .p8 file as downloaded from App Store Connect", status: .denied)
    }
}
