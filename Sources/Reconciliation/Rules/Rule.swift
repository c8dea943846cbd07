import Subscriptions

/// What every rule has beside what it finds: a name and a version, which a plan states.
///
/// Whoever changes what a rule finds raises the version in the rule's file: a plan that is applied
/// a week later still says by which rule it was made.
protocol Rule: Sendable {
    static var version: Int { get }
}

extension Rule {
    /// The rule as a plan names it: its type, which is also its file.
    static var identity: RuleVersion {
        RuleVersion(name: String(describing: Self.self), version: version)
    }

    var identity: RuleVersion { Self.identity }
}

/// Filling in a row, or its periods, for the first time: no rule finds anything, yet it writes.
enum FirstFill: Rule {
    static let version = 1

    static var applied: AppliedRule { AppliedRule(kind: nil, rule: identity) }
}

/// Filling in single columns of a row, or of a stored period, that is known: nothing differs, yet it
/// writes.
enum ColumnFill: Rule {
    static let version = 1

    static var applied: AppliedRule { AppliedRule(kind: nil, rule: identity) }
}

extension Sequence<Difference> {
    /// The same with the name of the rule that found them.
    func found(by rule: any Rule) -> [Difference] {
        map { difference in
            var named = difference
            named.rule = rule.identity
            return named
        }
    }
}
