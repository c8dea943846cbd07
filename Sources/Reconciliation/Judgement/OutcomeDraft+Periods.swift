import Subscriptions

extension OutcomeDraft {
    /// Periods to store: the missing ones where periods are kept; with `history: always` all of
    /// them where none is kept yet.
    func periodsToInsert(policy: Policy) -> [StatedPeriod] {
        guard let periods, restraint == nil else { return [] }
        if insertion != nil {
            return policy.history == .always && policy.onlyKinds == nil ? periods.missing : []
        }
        guard mayWrite else { return [] }
        if periods.areKept {
            return policy.reports(.transactionMissing) ? periods.missing : []
        }
        return policy.history == .always && policy.onlyKinds == nil ? periods.missing : []
    }

    /// Whether empty columns of stored periods are filled in: where the row itself might be.
    func fillsPeriods(policy: Policy) -> Bool {
        mayWrite && restraint == nil && insertion == nil && policy.onlyKinds == nil
    }
}
