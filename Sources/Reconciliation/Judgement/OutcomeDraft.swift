import Subscriptions

/// The judgement on one subscription, before the policy decides what is reported and written.
struct OutcomeDraft: Sendable {
    let key: SubscriptionKey
    var verdict: Verdict?
    var differences: [Difference] = []
    var absence = AbsenceObservation.nothing
    /// The row as it stands; `nil` where none is held.
    var row: LocalSubscription?
    /// When an absence must be looked at again, so as to be confirmed.
    var suspectUntil: Timestamp?
    /// When Apple signed the verified statement about the subscription, also one that a doubt kept
    /// from being compared.
    var statedAt: Timestamp?
    /// The row with Apple's statement, where they were compared.
    var comparison: Comparison?
    var periods: PeriodComparison?
    /// The row to insert, where one is missing and nothing forbids the insert.
    var insertion: MissingRow?
    /// Why nothing is written although a finding asks for it; see `WriteVeto` and `orderLosses`.
    var veto: String?
    /// Where the row's correction ends access: the subscriptions by which access continues.
    var continuedBy: [String] = []
    /// Whether Apple's statement about a subscription that no row holds could not be used.
    var lacksStatement = false

    /// Adds findings; they make a match a discrepancy.
    mutating func add(_ more: [Difference]) {
        differences += more
        if verdict == .match, more.contains(where: \.contradictsMatch) { verdict = .discrepancy }
    }

    /// How much of the row was examined.
    var look: LookDepth {
        guard verdict == .match || verdict == .discrepancy else { return .nothing }
        guard comparison != nil else { return .standing }
        return periods?.isComplete == true ? .periods : .statement
    }

    /// Whether what was found rests on an answer that may be wrong once.
    ///
    /// Only a verified statement about the subscription settles it. A malformed id was never asked
    /// about, so no further answer could say anything else.
    var isDoubtful: Bool {
        if lacksStatement { return true }
        return TransactionID(key.originalTransactionID) != nil
            && differences.contains(where: \.finding.kind.mayBeWrongOnce)
    }

    /// Whether a finding forbids every write to the row.
    var forbidsWriting: Bool {
        differences.contains { AllRules.forbidWriting.contains($0.kind) }
    }

    /// Whether only the whole history tells whether the row's transaction id is right.
    var needsHistoryOfTransaction: Bool {
        !forbidsWriting && comparison?.needsHistoryOfTransaction == true
    }

    /// Whether the history is needed (policy `when-needed`).
    ///
    /// It is when the stored periods changed since they were last compared with all of it. And when
    /// periods are stored, and the row differs or is filled for the first time, the current period
    /// is missing, or a period has empty columns that the history could fill.
    func needsHistory(policy: Policy) -> Bool {
        if needsHistoryOfTransaction { return true }
        guard let comparison, let periods else { return false }
        if comparison.scoped.needsWholeHistory { return true }
        guard periods.areKept else { return false }
        let isCurrentHeld = periods.priced.allSatisfy { period in
            periods.scoped.periods.contains(where: period.includes)
        }
        return comparison.isFirstFill || verdict == .discrepancy || !isCurrentHeld
            || (fillsPeriods(policy: policy) && periods.lackStatements(policy: policy))
    }
}

extension OutcomeDraft {
    /// The periods to insert: the missing ones where periods are stored; with `history: always` all
    /// of them where none is stored yet.
    func periodsToInsert(policy: Policy) -> [StatedPeriod] {
        guard let periods, veto == nil else { return [] }
        if insertion != nil {
            return policy.history == .always && policy.onlyKinds == nil ? periods.missing : []
        }
        guard mayWrite else { return [] }
        if periods.areKept {
            return policy.reports(.transactionMissing) ? periods.missing : []
        }
        return policy.history == .always && policy.onlyKinds == nil ? periods.missing : []
    }

    /// Whether empty columns of stored periods are filled in: only where the row may be written,
    /// too.
    func fillsPeriods(policy: Policy) -> Bool {
        mayWrite && veto == nil && insertion == nil && policy.onlyKinds == nil
    }
}

/// A subscription of Apple's that is missing from the table.
///
/// A class, so that the drafts of the many rows that are held are small.
final class MissingRow: Sendable {
    let key: SubscriptionKey
    let customerID: String?
    let stated: StatedSubscription

    init(key: SubscriptionKey, customerID: String?, stated: StatedSubscription) {
        self.key = key
        self.customerID = customerID
        self.stated = stated
    }

    /// The insert of the whole row.
    ///
    /// Report-only columns are written, too: there is no value of the company's to overwrite.
    func correction(keeping kept: KeptColumns) -> PlannedCorrection {
        var row = LocalSubscription(key: key)
        row.customerID = customerID
        var changes: [SubscriptionField: FieldChange] = [:]
        for field in SubscriptionField.allCases where !kept.leavesOut(field) {
            let value = [row.value(of: field), stated.value(of: field)].first { $0 != .null }
            if let value { changes[field] = FieldChange(before: .null, after: value) }
        }
        return PlannedCorrection(
            target: .insert(key), changes: .subscription(changes), kinds: [.missingLocally],
            evidence: stated.transaction.evidence.digest,
            evidenceRenewal: stated.renewal.evidence.digest, appleSignedDate: stated.signedDate,
            reason: "Takes in a subscription of the customer's that Apple holds: missing_locally.",
            rules: [AppliedRule(kind: .missingLocally, rule: MissingLocallyRule.identity)])
    }
}

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
        var values = ValuesDigest(of: update.map { row.applying($0.changes) } ?? row)
        if let comparison {
            // Asked about again by the next run: no row has this digest.
            let staysAhead =
                comparison.isDatedAhead && update?.changes.ofSubscription[.signedDate] == nil
            if staysAhead || comparison.needsHistoryOfTransaction && policy.history != .never {
                values = ValuesDigest(bits: 0)
            }
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

extension OutcomeDraft {
    /// Whose the row is, or will be once it is inserted, and what Apple says they pay for.
    var payer: Payer? {
        let customerID = insertion?.customerID ?? row?.customerID
        guard let customer = CustomerDigest(customerID: customerID) else { return nil }
        let stated = insertion?.stated ?? comparison?.stated
        let paid = stated.flatMap { $0.isPaid && $0.contradiction == nil ? $0.group : nil }
        return Payer(customer: customer, paidGroup: paid?.isEmpty == true ? nil : paid)
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
