package import Subscriptions

/// What the second look at a corrected subscription says.
package enum CanaryJudgement: Hashable, Sendable {
    case agrees
    /// Our row and Apple's word still differ; in what, in words.
    case differs(String)
    case undecided(UndecidedReason)

    /// Judges what was asked again; `outcome` is `nil` when nothing came of it.
    ///
    /// What may not be corrected stays; that it was found before is then enough. Whatever would be
    /// corrected again was not mended.
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
        let columns = correction.changes.keys.filter {
            $0 != SubscriptionField.signedDate.rawValue
        }
        return columns.isEmpty ? [SubscriptionField.signedDate.rawValue] : Array(columns)
    }
}
