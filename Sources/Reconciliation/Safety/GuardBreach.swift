package import Subscriptions

/// What one guard objects to in a plan.
package struct GuardBreach: Hashable, Sendable {
    package var name: GuardName
    /// Both numbers, what was seen and what is allowed; whole sentences.
    package var sentence: String

    package init(name: GuardName, sentence: String) {
        self.name = name
        self.sentence = sentence
    }

    /// As a person reads it: `guard max_changes: The plan changes …`.
    package var named: String { "guard \(name.rawValue): \(sentence)" }
}
