import Subscriptions

/// `unreadable_value`: a stored value is not of its column's form.
///
/// Text in a time, bytes in a text, a status that is no integer: what the company meant by it cannot
/// be told, so it is neither a match nor a difference nor something not known yet. One finding for
/// each column, with what stands there; never corrected, and the row is undecided, for a correction
/// would destroy a value that nobody could restore. A period's value counts for its subscription:
/// without it nobody can tell which periods are held.
struct UnreadableValueRule: StandingRule {
    static let version = 1

    func conclusion(about scoped: ScopedRow, in context: CaseContext) -> Conclusion? {
        let row = scoped.row
        var findings = row.unreadable.map { field, shown in
            finding(row, field.rawValue, shown)
        }
        for period in scoped.periods {
            findings += period.unreadable.map { field, shown in
                var finding = finding(
                    row, "\(field.rawValue):\(period.key.transactionID)", shown)
                finding.transactionID = period.key.transactionID
                return finding
            }
        }
        guard !findings.isEmpty else { return nil }
        return Conclusion(
            verdict: .undecided(.unreadableValue),
            differences: findings.map { Difference($0, payload: nil) })
    }

    private func finding(_ row: LocalSubscription, _ field: String, _ shown: String) -> Finding {
        var finding = Finding(kind: .unreadableValue, severity: .high, row: row)
        finding.field = field
        finding.localValue = .text(shown)
        finding.cause = "stored value is not of its column's form"
        return finding
    }
}
