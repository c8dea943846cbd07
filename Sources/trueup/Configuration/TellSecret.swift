import Subscriptions

/// The secret that events are signed with.
enum TellSecret {
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
