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

/// The app's private key, read only when it is safe where it lies.
package enum PrivateKeyFile {
    /// The PEM that an app's settings point to.
    ///
    /// - Throws: 77 when the file is not a regular file, others than its owner and a group of this
    ///   process may read it, or it is no plain PEM key; 78 when it or the variable is absent.
    package static func load(
        _ app: AppSettings, environment: [String: String]
    ) throws(ConfigurationError) -> Secret {
        switch app.keySource {
        case .file(let path):
            let file = ProtectedFile(
                path: path, key: "key_file", alternative: "key_env", what: "the .p8 file",
                remedy: "put the .p8 from App Store Connect there, or mend the path")
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
                remedy: "put the secret there, or mend the path"
            ).text(environment)
        case .environment(let name):
            (file, key) = ("environment", name)
            guard let value = environment[name], !value.isEmpty else {
                throw ConfigurationError(
                    file: file, key: name,
                    problem: "is not set, but \(section).secret_env names it",
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
