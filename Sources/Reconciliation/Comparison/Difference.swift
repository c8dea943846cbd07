import Subscriptions

/// What a rule found: the finding, what it rests on and the columns that would mend it.
struct Difference: Hashable, Sendable {
    var finding: Finding
    /// The signed payload whose digest the finding names.
    var payload: SignedPayload?
    /// The column that a correction would set; `nil` when the kind is never corrected.
    var column: SubscriptionField?
    /// Columns that make sense only together with `column`.
    var companions: Set<SubscriptionField>
    /// The rule that found it, where a correction may follow from it.
    var rule: RuleVersion?

    init(
        _ finding: Finding, payload: SignedPayload?, column: SubscriptionField? = nil,
        companions: Set<SubscriptionField> = []
    ) {
        self.finding = finding
        self.finding.evidence = payload?.digest
        self.payload = payload
        self.column = column
        self.companions = companions
    }

    var kind: FindingKind { finding.kind }

    /// The rule with the kind that it found; `nil` where no correction follows.
    var appliedRule: AppliedRule? { rule.map { AppliedRule(kind: kind, rule: $0) } }

    /// Every column that a correction of this finding touches.
    var columns: Set<SubscriptionField> { companions.union(column.map { [$0] } ?? []) }

    /// Whether it makes a row that otherwise agrees discrepant: all but what is only unknown to us
    /// and what concerns no subscription.
    var contradictsMatch: Bool { kind != .unknownValue && finding.key != nil }
}
