/// A rule of the core as it stood when a plan was made.
package struct RuleVersion: Hashable, Sendable {
    /// The name of its type and file, such as `ExpiryRule`.
    package var name: String
    /// Raised whenever what the rule finds changes.
    package var version: Int

    package init(name: String, version: Int) {
        self.name = name
        self.version = version
    }
}

/// Why a correction is planned: the rule that asks for it and the kind of finding that it mends.
package struct AppliedRule: Hashable, Sendable {
    /// `nil` for a first fill, which mends no finding.
    package var kind: FindingKind?
    package var rule: RuleVersion

    package init(kind: FindingKind?, rule: RuleVersion) {
        self.kind = kind
        self.rule = rule
    }

    package var json: CanonicalJSON {
        .object([
            "kind": .text(kind?.rawValue), "rule": .string(rule.name),
            "version": .integer(Int64(rule.version)),
        ])
    }
}
