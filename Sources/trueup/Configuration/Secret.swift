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

/// A private key of App Store Connect's, read only when it is safe where it lies.
package enum PrivateKeyFile {
    /// The PEM that the settings point to.
    ///
    /// - Throws: 77 when the file is not a regular file, others than its owner and a group of this
    ///   process may read it, or it is not a plain PEM key; 78 when it or the variable is absent.
    package static func load(
        _ source: KeySource, environment: [String: String]
    ) throws(ConfigurationError) -> Secret {
        switch source {
        case .file(let path):
            let file = ProtectedFile(
                path: path, key: "key_file", alternative: "key_env", what: "the .p8 file",
                remedy: "put the .p8 from App Store Connect there, or correct the path")
            return try pem(try file.text(environment), file: path, key: "key_file")
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

/// The secret that events, or messages of runs, are signed with.
enum NotifySecret {
    /// - Throws: 77 when its file is not safe; 78 when there is none, or it could be guessed.
    static func load(
        _ source: SecretSource, minimumBytes: Int, section: String = "tell",
        environment: [String: String]
    ) throws(ConfigurationError) -> Secret {
        let text: String
        let file: String
        let key: String
        switch source {
        case .file(let path):
            (file, key) = (path, section + ".secret_file")
            text = try ProtectedFile(
                path: path, key: key, alternative: section + ".secret_env",
                what: "the secret's file",
                remedy: "put the secret there, or correct the path"
            ).text(environment)
        case .environment(let name):
            (file, key) = ("environment", name)
            guard let value = environment[name], !value.isEmpty else {
                throw ConfigurationError(
                    file: file, key: name,
                    problem: "is not set, but \(section).secret_env names it",
                    suggestion: "set it to the secret that the receiver knows as well")
            }
            text = value
        }
        // An editor's line feed at the end is not part of it.
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

/// A file with a secret in it, read only when it is safe where it lies.
struct ProtectedFile {
    /// As the settings name it.
    let path: String
    /// The setting that names it.
    let key: String
    /// The setting that would name a variable instead.
    let alternative: String
    /// The expected kind of secret, for errors: `the .p8 file`.
    let what: String
    /// How to put it there.
    let remedy: String

    /// Anything far larger than a key or a password is another file.
    private static let maximumBytes = 16_384

    /// - Throws: 78 when there is none; 77 when it is not a regular file, too large, or others than
    ///   its owner and a group of this process may do anything with it.
    func text(_ environment: [String: String]) throws(ConfigurationError) -> String {
        let place = try place(environment)
        // Links are followed, as mounted secrets consist of them. What was opened is what is
        // checked and read, so nothing can be swapped in between.
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

/// The user of a process, and every group that it is in.
package struct ProcessIdentity: Hashable, Sendable {
    package var user: UInt32
    package var groups: Set<UInt32>

    package init(user: UInt32, groups: Set<UInt32>) {
        self.user = user
        self.groups = groups
    }

    /// This process.
    static var current: ProcessIdentity {
        // The kernel's own limit of groups a process may be in.
        var supplementary = [gid_t](repeating: 0, count: 65_536)
        let count = unsafe getgroups(Int32(supplementary.count), &supplementary)
        return ProcessIdentity(
            user: geteuid(),
            groups: Set(supplementary.prefix(Int(max(0, count)))).union([getegid()]))
    }
}

/// Who may read and write a file, as the kernel says of it.
package struct FileAccess: Hashable, Sendable {
    /// Permissions, and nothing of the file's type.
    package var mode: UInt32
    package var owner: UInt32
    package var group: UInt32
    /// Handed over by the service manager, which lets this unit alone into the folder.
    ///
    /// Where an access list does that, the mode shows it as a right of root's group.
    package var isCredential: Bool

    package init(mode: UInt32, owner: UInt32, group: UInt32, isCredential: Bool = false) {
        self.mode = mode
        self.owner = owner
        self.group = group
        self.isCredential = isCredential
    }

    /// Returns why a secret may not be in that place; `nil` where it may.
    ///
    /// Its owner alone, as ever; or as secrets are mounted: root's or the process's own, and
    /// readable by one group that the process is in. Only the owner may write.
    package func objection(to process: ProcessIdentity) -> String? {
        let octal = "0" + String(mode, radix: 8)
        switch mode {
        case 0o600, 0o400: return nil
        case 0o640, 0o440: break
        default:
            return "has mode \(octal); it is for its owner, or for one group to read"
        }
        guard owner == 0 || owner == process.user else {
            return "has mode \(octal) and belongs to user \(owner), neither root nor this process's"
        }
        guard isCredential || process.groups.contains(group) else {
            return "has mode \(octal) for group \(group), and this process is not in that group"
        }
        return nil
    }
}
