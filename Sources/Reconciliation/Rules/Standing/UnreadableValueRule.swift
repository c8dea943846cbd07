import Subscriptions

extension AllRules {
    /// `unreadable_value`: a stored value does not have its column's type.
    ///
    /// Text in a time, bytes in a text, a status that is not an integer: its meaning is unknown, so it
    /// is neither a match nor a difference nor an unknown value. One finding for each column, with the
    /// stored value. The row is undecided and never corrected, because a correction would destroy a
    /// value that could not be restored. The same holds for values of its periods, without which it is
    /// unknown which periods are stored.
    ///
    /// A `signed_date` more than a day after the run's clock is reported also but the row is checked as
    /// if it were empty: the date is about the statement and not about the subscription, and every
    /// later answer of Apple's would count as older. It is replaced when another column is corrected.
    static let unreadableValue = StandingRule("UnreadableValueRule", version: 2) { scoped, _ in
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

    /// The part of the rule about `signed_date`.
    static let datedAhead = RowRule("UnreadableValueRule", version: 2) { comparison in
        guard comparison.isDatedAhead, let signed = comparison.row.signedDate else { return [] }
        var finding = finding(
            comparison.row, SubscriptionField.signedDate.rawValue, signed.rfc3339)
        finding.localValue = .time(signed)
        finding.cause = "dated after the run's clock; taken as empty"
        return [Difference(finding, payload: nil)]
    }

    private static func finding(
        _ row: LocalSubscription, _ field: String, _ shown: String
    ) -> Finding {
        var finding = Finding(kind: .unreadableValue, severity: .high, row: row)
        finding.field = field
        finding.localValue = .text(shown)
        finding.cause = "stored value is not of its column's form"
        return finding
    }
}
