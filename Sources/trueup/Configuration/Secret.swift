import EventDelivery
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

/// Where a secret is: a private key of App Store Connect's, or what events are signed with.
package enum SecretSource: Hashable, Sendable {
    /// A path, already seen from the settings file, or the name of a credential as written there.
    case file(String)
    /// The name of the environment variable that holds it.
    case environment(String)
}

extension SecretSource {
    /// The PEM of a private key of App Store Connect's.
    ///
    /// - Throws: 77 when the file is not a regular file, others than its owner and a group of this
    ///   process may read it, or it is not a plain PEM key; 78 when it or the variable is absent.
    package func privateKey(
        _ environment: [String: String]
    ) throws(ConfigurationError) -> Secret {
        let setting = SecretSetting(
            key: "key_file", alternative: "key_env", what: "the .p8 file",
            remedy: "put the .p8 from App Store Connect there, or correct the path",
            remedyOfVariable: "set it to the text of the .p8 file")
        let (text, file, key) = try setting.text(of: self, environment)
        // The outside alone: whether the numbers inside are a key is for the signer to say.
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

    /// The signature of events (`tell`), or of messages about runs (`message`).
    ///
    /// - Throws: 77 when the secret's file is not safe; 78 when there is none, or it could be guessed.
    func signature(
        ofSection section: String, _ environment: [String: String]
    ) throws(ConfigurationError) -> WebhookSignature {
        let setting = SecretSetting(
            key: section + ".secret_file", alternative: section + ".secret_env",
            what: "the secret's file", remedy: "put the secret there, or correct the path",
            remedyOfVariable: "set it to the secret that the receiver knows as well")
        let (text, file, key) = try setting.text(of: self, environment)
        // An editor's line feed at the end is not part of it.
        var secret = Substring(text)
        while let last = secret.last, last.isNewline { secret = secret.dropLast() }
        let minimumBytes = WebhookSignature.minimumSecretBytes
        guard secret.utf8.count >= minimumBytes else {
            throw ConfigurationError(
                file: file, key: key,
                problem: "is shorter than \(minimumBytes) bytes, and could be guessed",
                suggestion: "make one with: openssl rand -hex 32")
        }
        return WebhookSignature(secret: Array(secret.utf8))
    }
}

/// The settings that name a secret, and how it is read: only when it is safe where it lies.
private struct SecretSetting {
    /// The setting that names a file.
    let key: String
    /// The setting that would name a variable instead.
    let alternative: String
    /// The expected kind of secret, for errors: `the .p8 file`.
    let what: String
    /// How to put the file there.
    let remedy: String
    let remedyOfVariable: String

    /// Anything far larger than a key or a password is another file.
    private static let maximumBytes = 16_384

    /// Reads the secret.
    ///
    /// - Returns: Its text, with the file and key that errors about it name.
    /// - Throws: 78 when there is none; 77 when its file is not a regular file, too large, or others than
    ///   its owner and a group of this process may do anything with it.
    func text(
        of source: SecretSource, _ environment: [String: String]
    ) throws(ConfigurationError) -> (text: String, file: String, key: String) {
        switch source {
        case .file(let path): return (try text(ofFileAt: path, environment), path, key)
        case .environment(let name):
            guard let text = environment[name], !text.isEmpty else {
                throw ConfigurationError(
                    file: "environment", key: name,
                    problem: "is not set, but \(alternative) names it",
                    suggestion: remedyOfVariable)
            }
            return (text, "environment", name)
        }
    }

    private func text(
        ofFileAt path: String, _ environment: [String: String]
    ) throws(ConfigurationError) -> String {
        let credential = SettingsPath.credential(in: path)
        let place =
            try credential.map { name throws(ConfigurationError) in
                try self.place(ofCredential: name, environment)
            } ?? path
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
        try check(descriptor, place, isCredential: credential != nil)
        let bytes = try SettingsFile.bytes(of: descriptor, limit: Self.maximumBytes) {
            refusal(of: place, $0)
        }
        guard bytes.count <= Self.maximumBytes else {
            throw refusal(of: place, "is too large to be \(what)")
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func place(
        ofCredential name: String, _ environment: [String: String]
    ) throws(ConfigurationError) -> String {
        let variable = SettingsPath.credentialVariable
        guard let folder = environment[variable], !folder.isEmpty else {
            throw ConfigurationError(
                file: "environment", key: variable, problem: "is not set, but \(key) names it",
                suggestion: "systemd sets it for a unit with LoadCredential=\(name):FILE; by hand, "
                    + "set it to the folder of the file")
        }
        return folder + "/" + name
    }

    private func check(
        _ descriptor: Int32, _ place: String, isCredential: Bool
    ) throws(ConfigurationError) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw refusal(of: place, "is not a regular file", "name \(what) itself")
        }
        let access = FileAccess(
            mode: status.st_mode & 0o7777, owner: status.st_uid, group: status.st_gid,
            isCredential: isCredential)
        guard let objection = access.objection(toUser: geteuid(), in: Self.groupsOfThisProcess)
        else {
            return
        }
        throw refusal(
            of: place, objection,
            "run: chmod 600 \(place); where it is mounted, with mode 0440 for a group of the job's "
                + "user; or use \(alternative)")
    }

    private static var groupsOfThisProcess: Set<UInt32> {
        // The kernel's own limit of groups a process may be in.
        var supplementary = [gid_t](repeating: 0, count: 65_536)
        let count = unsafe getgroups(Int32(supplementary.count), &supplementary)
        return Set(supplementary.prefix(Int(max(0, count)))).union([getegid()])
    }

    private func refusal(
        of place: String, _ problem: String, _ suggestion: String? = nil
    ) -> ConfigurationError {
        ConfigurationError(
            file: place, key: key, problem: problem, suggestion: suggestion, status: .denied)
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

    /// Decides whether a secret may be in that place.
    ///
    /// Its owner alone, as ever; or as secrets are mounted: root's or the process's own, and
    /// readable by one group that the process is in. Only the owner may write.
    ///
    /// - Parameters:
    ///   - user: The user of the process.
    ///   - groups: Every group that it is in.
    /// - Returns: Why it may not; `nil` where it may.
    package func objection(toUser user: UInt32, in groups: Set<UInt32>) -> String? {
        let octal = "0" + String(mode, radix: 8)
        switch mode {
        case 0o600, 0o400: return nil
        case 0o640, 0o440: break
        default:
            return "has mode \(octal); it is for its owner, or for one group to read"
        }
        guard owner == 0 || owner == user else {
            return "has mode \(octal) and belongs to user \(owner), neither root nor this process's"
        }
        guard isCredential || groups.contains(group) else {
            return "has mode \(octal) for group \(group), and this process is not in that group"
        }
        return nil
    }
}
