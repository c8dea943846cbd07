import Subscriptions

/// The check on one subscription, before the policy decides what is reported and written.
struct OutcomeDraft: Sendable {
    let key: SubscriptionKey
    var verdict: Verdict?
    var differences: [Difference] = []
    var absence = AbsenceObservation.nothing
    /// The row as it is; `nil` where none is held.
    var row: LocalSubscription?
    /// When an absence must be checked again to confirm it.
    var suspectUntil: Timestamp?
    /// When Apple signed the verified statement about the subscription, also one that a doubt kept
    /// from being compared.
    var statedAt: Timestamp?
    /// The row with Apple's statement, where they were compared.
    var comparison: Comparison?
    var periods: PeriodComparison?
    /// The one-time purchase that this is about, in place of a row.
    var purchase: PurchaseComparison?
    /// The stored one-time purchase that Apple does not find, where this is about one.
    private(set) var unknownPurchase: TransactionKey?
    /// The row to insert, where one is missing and nothing forbids the insert.
    var insertion: MissingRow?
    /// The reason why nothing is written although a finding asks for it; see `veto(onInsertOf:)` and
    /// `orderLosses`.
    var veto: String?
    /// Where the row's correction ends access: the subscriptions by which access continues.
    var continuedBy: [String] = []
    /// Whether Apple's statement about a subscription that no row holds could not be used.
    var lacksStatement = false
    /// Whether only the whole history shows the transactions of its period that decide.
    var lacksPeriod = false
    /// Whether the history was asked for and could not be read to its end.
    var lacksHistory = false

    init(key: SubscriptionKey, differences: [Difference] = []) {
        self.key = key
        self.differences = differences
    }

    /// The draft of a one-time purchase, which is not a row of the table of subscriptions.
    init(of purchase: PurchaseComparison) {
        key = purchase.purchase
        self.purchase = purchase
        statedAt = purchase.signed.signedDate
        differences = AllRules.purchase.compactMap { $0.difference(in: purchase) }
        veto = purchase.veto
    }

    /// The draft of a stored one-time purchase that Apple does not find.
    init(ofUnknown purchase: LocalTransaction) {
        key = purchase.subscription
        unknownPurchase = purchase.key
        differences = AllRules.purchaseUnknown.differences(in: purchase)
    }

    /// Adds findings; they make a match a discrepancy.
    mutating func add(_ more: [Difference]) {
        differences += more
        if verdict == .match, more.contains(where: \.contradictsMatch) { verdict = .discrepancy }
    }

    /// How much of the row was examined.
    var examined: ExaminationDepth {
        // Nothing that was found about such a row before is true of it any longer.
        if verdict == .excluded(.seatMember) { return .periods }
        if unknownPurchase != nil { return .periods }
        if let purchase { return purchase.isComparable ? .periods : .nothing }
        guard verdict == .match || verdict == .discrepancy else { return .nothing }
        guard comparison != nil else { return .standing }
        return periods?.isComplete == true ? .periods : .statement
    }

    /// Whether what was found rests on an answer that may be wrong once.
    ///
    /// Only a verified statement about the subscription settles it. A malformed id was never
    /// checked, so no further answer could say anything else.
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

    /// Whether only the whole history tells how many seats the period has.
    var lacksSeats: Bool { !forbidsWriting && comparison?.lacksSeats == true }

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
        if insertion == nil {
            guard mayWrite else { return [] }
            if periods.areKept {
                return policy.reports(.transactionMissing) ? periods.missing : []
            }
        }
        return policy.history == .always && policy.onlyKinds == nil ? periods.missing : []
    }

    /// Whether empty columns of stored periods are filled in: only where the row may be written as
    /// well.
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
    /// Report-only columns are written as well: there is no value of the company's to overwrite.
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
            reason: "Adds a subscription of the customer that Apple lists: missing_locally.",
            rules: [AppliedRule(kind: .missingLocally, rule: AllRules.missingLocally.identity)])
    }
}

extension OutcomeDraft {
    /// By what the row is checked, and its values once its corrections are written; `nil` where it
    /// was not checked.
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
            let lacksHistory = comparison.needsHistoryOfTransaction || comparison.lacksSeats
            if staysAhead || lacksHistory && policy.history != .never {
                values = ValuesDigest(bits: 0)
            }
            var check = RowCheck(comparison.stated, values: values, now: policy.now)
            // What is found next to another source's payment ends with that.
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
        guard let customer = CustomerDigest(ofID: customerID) else { return nil }
        let stated = insertion?.stated ?? comparison?.stated
        let paid = stated.flatMap { $0.isPaid && $0.contradiction == nil ? $0.group : nil }
        return Payer(customer: customer, paidGroup: paid?.isEmpty == true ? nil : paid)
    }
}

extension RowCheck {
    /// Checked by a statement of Apple's.
    init(_ stated: StatedSubscription, values: ValuesDigest, now: Timestamp) {
        self.init(
            signedDate: stated.signedDate,
            clock: nextClock(of: stated, notificationsFlow: true, now: now),
            isLasting: stated.status.isEntitling || stated.status == .billingRetry,
            values: values,
            account: AccountDigest(ofID: stated.transaction.appTransactionID))
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
    func nextCheck(at scoped: ScopedRow, after absence: AbsenceObservation) -> Timestamp? {
        guard case .absent(let day) = absence,
            AbsenceRecord.after(scoped.absence, day: day).distinctDays
                < policy.notFoundConfirmations
        else { return nil }
        return policy.now.startOfDay(addingDays: 1)
    }
}

extension OutcomeDraft {
    /// The outcome: what is reported and written, and the payloads that prove it.
    func outcome(policy: Policy) -> RowOutcome {
        var outcome = RowOutcome(key: key, verdict: verdict)
        outcome.absence = absence
        outcome.examined = examined
        outcome.isDoubtful = isDoubtful
        outcome.lacksHistory = lacksHistory
        var kept = differences.filter { policy.reports($0.kind) }
        var payloads: [SignedPayload] = []
        if let insertion, policy.reports(.missingLocally) {
            outcome.corrections.append(insertion.correction(keeping: policy.kept))
            payloads += [insertion.stated.transaction.evidence, insertion.stated.renewal.evidence]
            mark(&kept) { $0.kind == .missingLocally }
        }
        if let veto {
            refuse(&kept, because: veto, policy: policy)
        } else if mayWrite, let comparison {
            let correctable = kept.filter { isCorrectable($0, policy: policy) }
            if let correction = correction(
                of: comparison, fixing: correctable, policy: policy)
            {
                outcome.corrections.append(correction)
                payloads += [
                    comparison.stated.transaction.evidence, comparison.stated.renewal.evidence,
                ]
                mark(&kept) { correctable.contains($0) }
            }
        }
        if veto == nil, let purchase {
            for index in kept.indices {
                guard
                    let correction = purchase.correction(
                        of: kept[index].kind, by: kept[index].rule, policy: policy)
                else { continue }
                outcome.corrections.append(correction)
                kept[index].finding.action = .planned
            }
            if !outcome.corrections.isEmpty { payloads.append(purchase.signed.evidence) }
        }
        for period in periodsToInsert(policy: policy) {
            outcome.corrections += period.inserts(
                into: key, kinds: periods?.areKept == true ? [.transactionMissing] : [])
            payloads += [period.transaction.evidence] + period.purchases.map(\.evidence)
            mark(&kept) {
                $0.kind == .transactionMissing
                    && $0.finding.field == period.transaction.transactionID
            }
        }
        let fills = periods?.fills(policy: policy) ?? []
        if fillsPeriods(policy: policy) {
            outcome.corrections += fills.map { $0.correction(of: key) }
            payloads += fills.map(\.transaction.evidence)
        } else {
            outcome.leavesPeriodsEmpty = !fills.isEmpty
        }
        outcome.purchase = judgedPurchase
        outcome.statedAt = statedAt
        for index in outcome.corrections.indices {
            outcome.corrections[index].restsOn = statedAt
        }
        outcome.check = check(after: outcome.corrections, policy: policy)
        outcome.payer = outcome.check == nil ? nil : payer
        outcome.figures = figures
        outcome.findings = kept.map(\.finding).sorted { $0.sortKey < $1.sortKey }
        outcome.evidence = Set(payloads + kept.compactMap(\.payload))
            .sorted { $0.digest.hexadecimal < $1.digest.hexadecimal }
        return outcome
    }

    /// The verdict about the one-time purchase, whatever kinds the run reports.
    private var judgedPurchase: JudgedPurchase? {
        if let unknownPurchase {
            return JudgedPurchase(key: unknownPurchase, verdict: .discrepancy)
        }
        return purchase.map {
            JudgedPurchase(
                key: $0.key,
                verdict: !$0.isComparable
                    ? .undecided : differences.isEmpty ? .match : .discrepancy)
        }
    }

    /// The row's part of the control totals.
    private var figures: RowFigures? {
        guard verdict == .match || verdict == .discrepancy, let row else { return nil }
        return RowFigures(
            ourStatus: row.status.map(Int64.init),
            statedStatus: comparison?.stated.status.rawValue,
            price: comparison?.pricedTransaction.price,
            currency: comparison?.pricedTransaction.currency)
    }

    /// Whether the row was checked and no finding forbids writing.
    var mayWrite: Bool {
        (verdict == .match || verdict == .discrepancy) && !forbidsWriting
    }

    private func mark(_ differences: inout [Difference], where isPlanned: (Difference) -> Bool) {
        for index in differences.indices where isPlanned(differences[index]) {
            differences[index].finding.action = .planned
        }
    }

    /// Marks each finding that would have been corrected as refused, with the veto as its cause.
    private func refuse(
        _ differences: inout [Difference], because veto: String, policy: Policy
    ) {
        for index in differences.indices
        where differences[index].kind == .missingLocally || purchase != nil
            || (mayWrite && isCorrectable(differences[index], policy: policy))
        {
            differences[index].finding.action = .refused
            differences[index].finding.cause = veto
        }
    }

    private func isCorrectable(_ difference: Difference, policy: Policy) -> Bool {
        guard let column = difference.column else { return false }
        return isWritten(column, by: policy)
    }

    /// Whether a column may be written, as far as the job and the table say.
    private func isWritten(_ field: SubscriptionField, by policy: Policy) -> Bool {
        !policy.reportOnlyFields.contains(field.rawValue) && !policy.kept.readOnly.contains(field)
    }

    /// The correction or fill of a held row; `nil` when there is nothing to write.
    ///
    /// A corrected row gets every column that Apple states, empty ones included, because from then
    /// on it is the row of the new statement. Without a finding to correct, a row without a status
    /// is filled completely, any other row only in its empty columns. Not written are report-only
    /// columns, and columns of findings that this run leaves out. A run that is limited to some
    /// kinds fills nothing, because a fill belongs to no kind.
    private func correction(
        of comparison: Comparison, fixing correctable: [Difference], policy: Policy
    ) -> PlannedCorrection? {
        let onlyFills = correctable.isEmpty
        guard !onlyFills || policy.onlyKinds == nil else { return nil }
        let corrected = correctable.reduce(into: Set<SubscriptionField>()) {
            $0.formUnion($1.columns)
        }
        let held = differences.filter { !correctable.contains($0) }
            .reduce(into: Set<SubscriptionField>()) { $0.formUnion($1.columns) }
            .subtracting(corrected)
        var changes: [SubscriptionField: FieldChange] = [:]
        for field in SubscriptionField.stated
        where !held.contains(field)
            && isWritten(field, by: policy)
            && field != .signedDate
            && (!onlyFills || comparison.isFirstFill || comparison.isNotKnownYet(field))
            && comparison.differs(in: field)
        {
            changes[field] = comparison.change(of: field)
        }
        guard !changes.isEmpty else { return nil }
        if comparison.row.signedDate != comparison.stated.signedDate {
            changes[.signedDate] = comparison.change(of: .signedDate)
        }
        let kinds = correctable.map(\.kind).inContractOrder
        var planned = PlannedCorrection(
            target: .update(key, expectedRowVersion: comparison.row.rowVersion),
            changes: .subscription(changes), kinds: kinds,
            evidence: comparison.stated.transaction.evidence.digest,
            evidenceRenewal: comparison.stated.renewal.evidence.digest,
            appleSignedDate: comparison.stated.signedDate,
            reason: reason(of: comparison, kinds, Set(changes.keys)),
            rules: kinds.isEmpty
                ? [comparison.isFirstFill ? .firstFill : .columnFill]
                : correctable.compactMap(\.appliedRule).inContractOrder)
        if planned.endsAccess { planned.continuedBy = continuedBy }
        return planned
    }

    private func reason(
        of comparison: Comparison, _ kinds: [FindingKind], _ changed: Set<SubscriptionField>
    ) -> String {
        guard kinds.isEmpty else {
            return "Stores what Apple signed: "
                + kinds.map(\.rawValue).joined(separator: ", ") + "."
        }
        if comparison.isFirstFill { return "First fill of a row that was not known yet." }
        let columns = SubscriptionField.allCases.filter {
            $0 != .signedDate && changed.contains($0)
        }
        return "Fills in what was not known yet: "
            + columns.map(\.rawValue).joined(separator: ", ") + "."
    }
}

extension Finding {
    /// The order of findings within one outcome: kind, then field, as in the report files.
    var sortKey: (String, String) { (kind.rawValue, field ?? "") }
}

extension [FindingKind] {
    /// Each kind once, in the order of `FindingKind`.
    var inContractOrder: [FindingKind] {
        let held = Set(self)
        return FindingKind.allCases.filter(held.contains)
    }
}

extension Sequence where Element == AppliedRule {
    /// Each rule once, by kind in the order of `FindingKind`, then by name.
    var inContractOrder: [AppliedRule] {
        let order = FindingKind.allCases
        return Set(self).sorted { left, right in
            let ranks = [left, right].map { $0.kind.flatMap(order.firstIndex) ?? -1 }
            return (ranks[0], left.rule.name) < (ranks[1], right.rule.name)
        }
    }
}
