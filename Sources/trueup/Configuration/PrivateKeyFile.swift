import Subscriptions

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
