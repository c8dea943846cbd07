package import Subscriptions

/// The result of checking a corrected subscription with Apple again.
package enum CanaryJudgement: Hashable, Sendable {
    case agrees
    /// Our row still differs from Apple's statement; the text lists the columns or kinds.
    case differs(String)
    case undecided(UndecidedReason)

    /// Judges the outcome of the second question; `outcome` is `nil` when there was none.
    ///
    /// A row that would be corrected again differs. A finding that is never corrected is no
    /// difference if the row had it before.
    package init(of row: CanaryRow, isHeld: Bool, outcome: RowOutcome?) {
        guard isHeld else {
            self = .differs("the row is gone")
            return
        }
        switch outcome?.verdict {
        case .match, .discrepancy: break
        case .undecided(let reason):
            self = .undecided(reason)
            return
        case .excluded, nil:
            self = .undecided(.deadline)
            return
        }
        let columns = outcome?.corrections.flatMap { Self.columns(of: $0) } ?? []
        let kinds = (outcome?.findings ?? []).map(\.kind)
            .filter { !row.kindsBefore.contains($0) }.map(\.rawValue)
        let differing = columns.isEmpty ? kinds : columns
        self =
            differing.isEmpty
            ? .agrees : .differs(Set(differing).sorted().joined(separator: ", "))
    }

    private static func columns(of correction: PlannedCorrection) -> [String] {
        guard correction.action == .update else { return ["a missing row"] }
        let signedDate = SubscriptionField.signedDate.rawValue
        let columns = correction.changes.named.map(\.column).filter { $0 != signedDate }
        return columns.isEmpty ? [signedDate] : columns
    }
}
