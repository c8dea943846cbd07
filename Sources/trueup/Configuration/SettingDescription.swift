/// What people are told about one setting.
package struct SettingDescription: Hashable, Sendable {
    package var key: String
    /// What may be written: its type and its bounds.
    package var form: String
    /// The words of which it is one; empty where it is no choice.
    package var choices: [String] = []
    /// What holds when the key is left out.
    package var absence: Absence
    /// Texts that may be written; where there are several, they mean different things.
    package var examples: [String]
    /// One sentence, without a capital at the beginning and a full stop.
    package var meaning: String
    /// An environment variable that takes precedence over the file.
    package var variable: String?
    /// Whether a run with another value begins a new pass instead of going on with a stopped one.
    package var beginsNewPass = false
    /// Why this version does the same whatever is written; `nil` when it does not.
    package var withoutEffect: String?
    /// The settings below this key.
    package var nested: [SettingDescription] = []

    package enum Absence: Hashable, Sendable {
        case required
        /// Required under a condition, which the words tell.
        case requiredUnless(String)
        /// The default as one would write it.
        case value(String)
        /// There is nothing that one could write for it.
        case words(String)
        /// The settings below the key have defaults of their own.
        case below

        /// The default as one would write it; `nil` where there is none.
        var defaultText: String? {
            if case .value(let text) = self { text } else { nil }
        }
    }

    init(
        key: String, form: String, choices: [String] = [], absence: Absence, examples: [String],
        meaning: String, beginsNewPass: Bool = false, nested: [SettingDescription] = []
    ) {
        self.key = key
        self.form = form
        self.choices = choices
        self.absence = absence
        self.examples = examples
        self.meaning = meaning
        self.beginsNewPass = beginsNewPass
        self.nested = nested
    }
}
