import Glibc
import Subscriptions

/// A text that must not be seen: it prints as redacted wherever it is interpolated or dumped.
package struct Secret: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    private let value: String

    package init(_ value: String) {
        self.value = value
    }

    /// The text itself, for the one place that needs it.
    package func reveal() -> String { value }

    package var description: String { "<redacted>" }
    package var debugDescription: String { "<redacted>" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

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

/// The app's private key, read only when it is safe where it lies.
package enum PrivateKeyFile {
    /// The PEM that an app's settings point to.
    ///
    /// - Throws: 77 when the file is not a regular file, others may read it, or it is no plain
    ///   PEM key; 78 when it or the environment variable is absent.
    package static func load(
        _ app: AppSettings, environment: [String: String]
    ) throws(ConfigurationError) -> Secret {
        switch app.keySource {
        case .file(let path):
            let file = ProtectedFile(
                path: path, key: "key_file", what: "the .p8 file",
                remedy: "put the .p8 from App Store Connect there, or mend the path")
            return try pem(try file.text(), file: path, key: "key_file")
        case .environment(let name):
            guard let text = environment[name], !text.isEmpty else {
                throw ConfigurationError(
                    file: "environment", key: name, problem: "is not set, but key_env names it",
                    suggestion: "set it to the text of the .p8 file")
            }
            return try pem(text, file: "environment", key: name)
        }
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

/// The secret that events are signed with.
enum NotifySecret {
    /// - Throws: 77 when its file is not safe; 78 when there is none, or it could be guessed.
    static func load(
        _ source: SecretSource, minimumBytes: Int, environment: [String: String]
    ) throws(ConfigurationError) -> Secret {
        let text: String
        let file: String
        let key: String
        switch source {
        case .file(let path):
            (file, key) = (path, "tell.secret_file")
            text = try ProtectedFile(
                path: path, key: key, what: "the secret's file",
                remedy: "put the secret there, or mend the path"
            ).text()
        case .environment(let name):
            (file, key) = ("environment", name)
            guard let value = environment[name], !value.isEmpty else {
                throw ConfigurationError(
                    file: file, key: name, problem: "is not set, but tell.secret_env names it",
                    suggestion: "set it to the secret that the receiver knows, too")
            }
            text = value
        }
        // An editor's line feed at the end is no part of it.
        var secret = Substring(text)
        while let last = secret.last, last.isNewline { secret = secret.dropLast() }
        guard secret.utf8.count >= minimumBytes else {
            throw ConfigurationError(
                file: file, key: key,
                problem: "is shorter than \(minimumBytes) bytes, and could be guessed",
                suggestion: "make one with: openssl rand -hex 32")
        }
        return Secret(String(secret))
    }
}
