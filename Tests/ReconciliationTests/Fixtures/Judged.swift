import Reconciliation
import Subscriptions
import Testing

/// The question that a case still needs answered; `nil` when it can be judged.
func nextQuestion(for item: Case, policy: Policy) -> Question? {
    if case .needs(let question) = judge(item, policy: policy) { question } else { nil }
}

/// The outcome about one id of a case; fails the test where there is not exactly one.
func outcome(
    _ item: Case, _ policy: Policy = Sample.policy(), of id: String? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) throws -> RowOutcome {
    let matching = outcomes(of: item, policy: policy).filter {
        $0.key.originalTransactionID == id ?? item.askedID
    }
    #expect(matching.count == 1, sourceLocation: sourceLocation)
    return try #require(matching.first, sourceLocation: sourceLocation)
}

/// The outcome of one row beside one statement about it.
func outcome(
    _ row: LocalSubscription, beside stated: StatedSubscription,
    _ policy: Policy = Sample.policy(), sourceLocation: SourceLocation = #_sourceLocation
) throws -> RowOutcome {
    try outcome(Sample.item(row, [stated]), policy, sourceLocation: sourceLocation)
}

extension RowOutcome {
    var kinds: [FindingKind] { findings.map(\.kind) }

    func finding(_ kind: FindingKind) throws -> Finding {
        try #require(findings.first { $0.kind == kind })
    }

    /// What the only correction of a row sets, as plain texts by column.
    func changes() throws -> [String: String] {
        try #require(corrections.count == 1)
        return corrections[0].changes.after.mapValues(\.plainText)
    }

    /// Whether every digest that a finding or a correction names has its payload here.
    var hasAllEvidence: Bool {
        let held = Set(evidence.map(\.digest))
        let named =
            findings.compactMap(\.evidence)
            + corrections.flatMap { [$0.evidence, $0.evidenceRenewal].compactMap { $0 } }
        return named.allSatisfy(held.contains)
    }
}

extension LocalSubscription {
    /// The row after its planned corrections, as a database would have it.
    func applying(_ corrections: [PlannedCorrection]) -> LocalSubscription {
        var row = self
        for correction in corrections where correction.table == "subscriptions" {
            for (column, change) in correction.changes.ofSubscription {
                row.set(column, change.after)
            }
            row.rowVersion += 1
        }
        return row
    }

    private mutating func set(_ column: SubscriptionField, _ value: FieldValue) {
        if !column.isStated, column != .customerID { Issue.record("a correction sets \(column)") }
        column.definition.place.set(value, in: &self)
    }
}

extension FieldValue {
    var text: String? { if case .text(let text) = self { text } else { nil } }
    var integer: Int? { if case .integer(let number) = self { Int(number) } else { nil } }
    var time: Timestamp? { if case .time(let time) = self { time } else { nil } }
}
