package import Subscriptions

/// What is wrong with the settings: where, which key, and what to write instead.
///
/// It quotes keys and harmless values, never the contents of a key file or a variable.
package struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file as named by the user, or `environment` for an environment variable.
    package var file: String
    /// Counted from 1; `nil` when the file as a whole is meant.
    package var line: Int?
    /// For example `apps[0].key_file`; `nil` when no key is concerned.
    package var key: String?
    package var problem: String
    /// What to do about it, as an imperative or a question.
    package var suggestion: String?
    /// `config` (78), or `denied` (77) for a key file that others may read.
    package var status: ExitStatus

    package init(
        file: String, line: Int? = nil, key: String? = nil, problem: String,
        suggestion: String? = nil, status: ExitStatus = .config
    ) {
        self.file = file
        self.line = line
        self.key = key
        self.problem = problem
        self.suggestion = suggestion
        self.status = status
    }

    /// For example `trueup.yaml:7: apps[0].bundel_id: unknown key; did you mean "bundle_id"?`.
    package var description: String {
        var text = file
        if let line { text += ":\(line)" }
        if let key { text += ": \(key)" }
        text += ": \(problem)"
        if let suggestion { text += "; \(suggestion)" }
        return text
    }
}
