import Subscriptions

extension OutcomeDraft {
    /// By what the row is judged, and its values once its corrections are written; `nil` where it
    /// was not judged.
    func check(after corrections: [PlannedCorrection], policy: Policy) -> RowCheck? {
        if let insertion {
            guard let insert = corrections.first(where: \.insertsRow) else { return nil }
            let row = LocalSubscription(key: key).applying(insert.changes)
            return RowCheck(insertion.stated, values: ValuesDigest(of: row), now: policy.now)
        }
        guard verdict == .match || verdict == .discrepancy, let row else { return nil }
        let update = corrections.first {
            $0.target == .update(key, expectedRowVersion: row.rowVersion)
        }
        let values = ValuesDigest(of: update.map { row.applying($0.changes) } ?? row)
        if let comparison {
            var check = RowCheck(comparison.stated, values: values, now: policy.now)
            // What is found beside another source's payment ends with that.
            if check.isLasting, let until = row.paidElsewhereUntil, until > policy.now {
                check.clock = min(until, check.clock ?? until)
            }
            return check
        }
        return RowCheck(
            signedDate: nil, clock: suspectUntil, isLasting: row.isEntitling, values: values)
    }
}

extension RowCheck {
    /// Judged by a statement of Apple's.
    init(_ stated: StatedSubscription, values: ValuesDigest, now: Timestamp) {
        self.init(
            signedDate: stated.signedDate,
            clock: nextClock(of: stated, notificationsFlow: true, now: now),
            isLasting: stated.status.isEntitling || stated.status == .billingRetry,
            values: values,
            account: AccountDigest(appTransactionID: stated.transaction.appTransactionID))
    }
}

extension PlannedCorrection {
    fileprivate var insertsRow: Bool {
        if case .insert = target { true } else { false }
    }
}

extension LocalSubscription {
    /// The row with some columns changed.
    fileprivate func applying(_ changes: ChangeSet) -> LocalSubscription {
        var row = self
        for (field, change) in changes.ofSubscription {
            field.definition.place.set(change.after, in: &row)
        }
        return row
    }
}

extension CaseContext {
    /// The beginning of the next UTC day, while further days must confirm that Apple does not find
    /// the row; `nil` when nothing is to be confirmed.
    func nextLook(at scoped: ScopedRow, after absence: AbsenceObservation) -> Timestamp? {
        guard case .absent(let day) = absence,
            AbsenceRecord.after(scoped.absence, day: day).distinctDays
                < policy.notFoundConfirmations
        else { return nil }
        let (days, _) = policy.now.unixMilliseconds.floorDivided(by: Milliseconds.perDay)
        return Timestamp(unixMilliseconds: 0).adding(
            milliseconds: (days + 1).multipliedReportingOverflow(by: Milliseconds.perDay)
                .partialValue)
    }
}
