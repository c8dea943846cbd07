import Subscriptions

/// A case with its indexed answer and the policy: what the rules work with.
///
/// A class, because it is large and every rule is given it: a copy counts references that all cases
/// share, for which the processors then wait on each other.
final class CaseContext: Sendable {
    let item: Case
    let policy: Policy
    /// The customer's history, where it was read and the job may use it.
    let history: HistoryReading?
    /// The status answer, when there is one.
    let answer: CustomerAnswer?
    /// Whether the answer contains a verified statement about the asked id.
    let answerContainsAsked: Bool
    /// Whether any part of the answers did not pass verification.
    private let hasRejections: Bool

    init(_ item: Case, policy: Policy) {
        self.item = item
        self.policy = policy
        history = policy.history == .never ? nil : item.history
        if case .answered(let answer) = item.statuses {
            self.answer = CustomerAnswer(answer, history: history)
        } else {
            self.answer = nil
        }
        answerContainsAsked = answer?.contains(item.askedID) ?? false
        hasRejections =
            answer?.hasRejections == true || item.statuses?.isUnverified == true
            || item.transactionInfo?.isUnverified == true
    }

    /// Whether the row is the one that the question was for.
    func isAsked(_ row: LocalSubscription) -> Bool { item.asked?.row.key == row.key }

    /// Whether the row belongs to the app that asked.
    func belongsToApp(_ row: LocalSubscription) -> Bool {
        item.app.owns(row.key)
    }

    /// The answer of Get Transaction Info to the asked id.
    ///
    /// Ignored when it is about neither the asked id nor its successor: then it belongs to another
    /// request.
    var info: SignedTransaction? {
        guard case .answered(let info) = item.transactionInfo,
            info.transactionID == item.askedID
                || info.previousOriginalTransactionID == item.askedID
        else { return nil }
        return info
    }

    /// The bundle's other environment, where it is configured.
    var otherEnvironment: AppIdentity? {
        policy.apps.sorted().first {
            $0.bundleID == item.app.bundleID && $0.environment != item.app.environment
        }
    }

    /// The verified statement about the asked id in the bundle's other environment.
    var statementElsewhere: StatedSubscription? {
        guard let elsewhere = item.elsewhere, elsewhere.app.environment != item.app.environment,
            case .answered(let answer) = elsewhere.statuses
        else { return nil }
        let found = CustomerAnswer(answer)
        return found.contains(item.askedID) ? found.statement(about: item.askedID) : nil
    }

    /// Every row of the case in key order, so that nothing depends on the order of the answer.
    var rows: [ScopedRow] {
        let asked = item.asked.map { [$0] } ?? []
        guard !item.held.isEmpty else { return asked }
        return (asked + item.held.filter { !isAsked($0.row) }).sorted { $0.row.key < $1.row.key }
    }
}

extension CaseContext {
    /// The part of the answers about a row that did not pass verification; `nil` when all did.
    ///
    /// That is the entry with the row's own id. For the asked row also the whole answer, the answer
    /// of Get Transaction Info, and an entry without a usable id where no entry has the asked one.
    func rejection(of row: LocalSubscription) -> RejectedStatement? {
        guard hasRejections else { return nil }
        let id = row.key.originalTransactionID
        if let rejected = answer?.rejected[id] { return rejected }
        guard isAsked(row) || item.asked == nil else { return nil }
        if case .unverified(let rejected) = item.statuses { return rejected }
        if let answer, !answer.contains(id), let first = answer.unattributed.first { return first }
        if !answerContainsAsked, case .unverified(let rejected) = item.transactionInfo {
            return rejected
        }
        return nil
    }

    /// A rejected entry whose signature is valid: the payload is genuine, but was made for another
    /// app or environment.
    ///
    /// The unsigned envelope of an answer proves nothing, and an entry without a usable id may be
    /// about another subscription.
    func signedRejection(
        of row: LocalSubscription, for reason: VerificationFailure.Reason
    ) -> RejectedStatement? {
        guard let rejected = rejection(of: row), rejected.failure.reason == reason,
            rejected.payload != nil, answer?.unattributed.contains(rejected) != true
        else { return nil }
        return rejected
    }
}

extension CaseContext {
    /// The drafts of all outcomes of the case, one for each subscription, sorted by key.
    func drafts() -> [OutcomeDraft] {
        var drafts = rows.compactMap(draft(of:))
        guard let answer else {
            addUnheldRejection(to: &drafts)
            return drafts + purchaseDrafts(beside: drafts)
        }
        if answerContainsAsked {
            // With only the asked row's own subscription there is nothing to compare it with,
            // unless its customer pays under another Apple Account.
            if answer.subscriptions.count > 1 || item.asked?.neighbours.isEmpty != true {
                let reading = CustomerReading(self, answer: answer)
                for rule in AllRules.customer {
                    for difference in rule.differences(in: reading) {
                        attach(difference, to: &drafts)
                    }
                }
                addMissing(reading, to: &drafts)
            }
            addRejectedSiblings(answer, to: &drafts)
        } else {
            addUnheldRejection(to: &drafts)
        }
        drafts += purchaseDrafts(beside: drafts)
        drafts += absentPurchases(beside: drafts).compactMap { purchase in
            item.purchaseInfos?[purchase.key.transactionID].flatMap {
                OutcomeDraft(ofAbsent: purchase, info: $0, app: item.app, policy: policy)
            }
        }
        // Also when the answer lacks the asked id: it still settles the customer's held rows.
        if answer.subscriptions.count > 1 {
            orderLosses(in: &drafts, by: CustomerReading(self, answer: answer))
        }
        if case .incomplete = item.history {
            for index in drafts.indices where drafts[index].comparison != nil {
                drafts[index].lacksHistory = true
            }
        }
        return drafts.count > 1 ? drafts.sorted { $0.key < $1.key } : drafts
    }

    /// The drafts of the one-time purchases in the customer's history, one for each purchase.
    ///
    /// The history is the asked row's customer's. Where that is in doubt, nothing is written.
    private func purchaseDrafts(beside drafts: [OutcomeDraft]) -> [OutcomeDraft] {
        guard let stored = item.purchases else { return [] }
        guard let asked = item.asked?.row else {
            guard case .answered(let info) = item.transactionInfo, !info.isSubscription,
                info.transactionID == item.askedID
            else { return [] }
            return [draft(of: info, among: stored, owner: nil)]
        }
        guard answerContainsAsked, belongsToApp(asked), let history = item.history else {
            return []
        }
        let own = drafts.first { $0.key == asked.key }
        if case .excluded = own?.verdict { return [] }
        let known = Set(drafts.map(\.key))
        let signed = history.transactions.filter { !$0.isSubscription }.latestByID.values
        return signed.sorted { $0.comesBefore($1) }.compactMap { transaction in
            var draft = draft(of: transaction, among: stored, owner: PurchaseOwner(asked))
            guard !known.contains(draft.key) else { return nil }
            if own?.mayWrite != true {
                draft.veto = "the row by which the history was read is in doubt"
            }
            return draft
        }
    }

    /// The stored purchases of the asked row's customer that the customer's complete history lacks; none where
    /// the row is in doubt.
    func absentPurchases(beside drafts: [OutcomeDraft]) -> [LocalTransaction] {
        guard answerContainsAsked, let asked = item.asked?.row, belongsToApp(asked),
            !item.customerPurchases.isEmpty, let history = item.history,
            drafts.first(where: { $0.key == asked.key })?.mayWrite == true
        else { return [] }
        let known = Set(drafts.filter { $0.purchase == nil }.map(\.key))
        return Reconciliation.absentPurchases(
            item.customerPurchases, from: history, policy: policy
        ).filter { !known.contains($0.subscription) }
    }

    private func draft(
        of signed: SignedTransaction, among stored: [String: LocalTransaction],
        owner: PurchaseOwner?
    ) -> OutcomeDraft {
        OutcomeDraft(
            of: PurchaseComparison(
                signed: signed, stored: stored[signed.transactionID], owner: owner, app: item.app,
                policy: policy))
    }

    /// Adds a customer rule's finding to the draft of its row; excluded rows get none.
    private func attach(_ difference: Difference, to drafts: inout [OutcomeDraft]) {
        guard let key = difference.finding.key else { return }
        guard let index = drafts.firstIndex(where: { $0.key == key }) else {
            drafts.append(OutcomeDraft(key: key, differences: [difference]))
            return
        }
        if case .excluded = drafts[index].verdict { return }
        drafts[index].add([difference])
    }

    /// Prepares the inserts of missing subscriptions, and reports the doubts about the others.
    ///
    /// Nothing is inserted when no row of the customer is stored, or when the asked row may belong
    /// to another app.
    private func addMissing(_ reading: CustomerReading, to drafts: inout [OutcomeDraft]) {
        let doubtsCustomer = drafts.contains { draft in
            draft.key == item.asked?.row.key
                && draft.differences.contains {
                    [.wrongApp, .wrongEnvironment].contains($0.kind)
                }
        }
        for stated in reading.subscriptions where !reading.isHeld(stated) {
            let row = reading.row(of: stated)
            guard let index = drafts.firstIndex(where: { $0.key == row.key }) else { continue }
            let comparison = Comparison(
                scoped: ScopedRow(row: row), stated: stated,
                period: answer?.period(of: stated.originalTransactionID))
            let doubt = doubt(in: comparison)
            drafts[index].absence = .present
            drafts[index].statedAt = stated.signedDate
            drafts[index].lacksStatement = doubt != nil
            drafts[index].lacksPeriod = doubt?.verdict == .undecided(.periodNotShown)
            drafts[index].add(doubt?.differences ?? [])
            drafts[index].add(AllRules.unknownValues(stated.unknownValues, row: row))
            guard doubt == nil, !doubtsCustomer, reading.knowsCustomer else { continue }
            drafts[index].veto = reading.veto(onInsertOf: stated)
            drafts[index].lacksHistory =
                drafts[index].veto == CustomerReading.vetoOfUnreadHistory
            guard drafts[index].veto == nil else { continue }
            drafts[index].insertion = MissingRow(
                key: row.key, customerID: row.customerID, stated: stated)
            guard policy.kept.hasPeriods else { continue }
            drafts[index].periods = PeriodComparison(
                scoped: comparison.scoped, current: stated.transaction, history: item.history,
                now: policy.now)
        }
    }

    /// Reports entries of the asked customer's answer that did not pass verification and that
    /// concern no stored row.
    private func addRejectedSiblings(_ answer: CustomerAnswer, to drafts: inout [OutcomeDraft]) {
        for (id, rejected) in answer.rejected.sorted(by: { $0.key < $1.key })
        where rejected.isInvalid
            && !drafts.contains(where: { $0.key.originalTransactionID == id })
        {
            let key = SubscriptionKey(app: item.app, originalTransactionID: id)
            let finding = Finding(
                kind: .verificationFailed, severity: .critical, row: LocalSubscription(key: key))
            let difference = rejected.difference(finding)
            drafts.append(OutcomeDraft(key: key, differences: [difference]))
        }
        guard let rejected = answer.unattributed.first(where: \.isInvalid),
            let index = drafts.firstIndex(where: {
                $0.key.originalTransactionID == item.askedID
            })
        else { return }
        var finding = Finding(
            kind: .verificationFailed, severity: .critical, bundleID: item.app.bundleID,
            environment: item.app.environment.rawValue)
        finding.field = item.askedID
        drafts[index].add([rejected.difference(finding)])
    }

    /// Reports an answer that did not pass verification when no stored row was checked.
    private func addUnheldRejection(to drafts: inout [OutcomeDraft]) {
        guard item.asked == nil else { return }
        let key = SubscriptionKey(app: item.app, originalTransactionID: item.askedID)
        let scoped = ScopedRow(row: LocalSubscription(key: key))
        guard !drafts.contains(where: { $0.key == key }),
            let conclusion = AllRules.verificationFailed.find((scoped, self))
        else { return }
        drafts.append(OutcomeDraft(key: key, differences: conclusion.differences))
    }
}

extension CaseContext {
    /// The draft of one row; `nil` for a held row that this case does not settle.
    func draft(of scoped: ScopedRow) -> OutcomeDraft? {
        let row = scoped.row
        guard isAsked(row) || settles(row) else { return nil }
        if let reason = exclusion(of: row, policy: policy) {
            return OutcomeDraft(excluding: row, because: reason)
        }
        var draft = OutcomeDraft(key: row.key)
        draft.row = row
        let conclusions = AllRules.standing.lazy.compactMap { $0.find((scoped, self)) }
        if let conclusion = conclusions.first {
            draft.verdict = conclusion.verdict
            draft.differences = conclusion.differences
            draft.absence = conclusion.absence
            draft.suspectUntil = nextCheck(at: scoped, after: conclusion.absence)
        } else if let answer, answer.contains(row.key.originalTransactionID),
            let stated = answer.statement(about: row.key.originalTransactionID)
        {
            compare(
                Comparison(
                    scoped: scoped, stated: stated,
                    period: answer.period(of: row.key.originalTransactionID), kept: policy.kept,
                    history: history, now: policy.now, catalogue: policy.catalogue),
                into: &draft)
        } else {
            draft.verdict = verdictWithoutStatement(of: row)
        }
        if case .excluded = draft.verdict { return draft }
        draft.add(AllRules.duplicateLocal.find(scoped))
        let unknowns = isAsked(row) ? unknownsAroundStatements : []
        if !unknowns.isEmpty {
            let reported = Set(draft.differences.map(\.finding.field))
            let more = unknowns.filter { !reported.contains($0.field) }
            draft.add(AllRules.unknownValues(more.map { ($0, nil) }, row: row))
        }
        return draft
    }

    /// Unknown fields and values of the answers, outside the statements that are compared with
    /// rows.
    private var unknownsAroundStatements: [UnknownValue] {
        (answer?.unknowns ?? []) + item.historyUnknowns + (info?.unknowns ?? [])
    }

    /// Whether the answer settles a row other than the asked one: it belongs to the asked customer
    /// and has an entry about the row.
    private func settles(_ row: LocalSubscription) -> Bool {
        guard let answer, answerIsTheAskedCustomers else { return false }
        let id = row.key.originalTransactionID
        return answer.contains(id) || answer.rejected[id] != nil
    }

    /// Whether the answer contains the asked id, or its proven original or successor.
    ///
    /// Otherwise it may belong to another customer.
    private var answerIsTheAskedCustomers: Bool {
        guard let answer else { return false }
        if answerContainsAsked || answer.successor(of: item.askedID) != nil { return true }
        return info.map { answer.contains($0.originalTransactionID) } ?? false
    }

    /// The first doubt whether Apple's statement can be compared with the row.
    private func doubt(in comparison: Comparison) -> Conclusion? {
        AllRules.doubts.lazy.compactMap { [policy] in $0.find((comparison, policy)) }.first
    }

    private func compare(_ comparison: Comparison, into draft: inout OutcomeDraft) {
        draft.absence = .present
        draft.statedAt = comparison.stated.signedDate
        if let doubt = doubt(in: comparison) {
            draft.verdict = doubt.verdict
            draft.lacksPeriod = doubt.verdict == .undecided(.periodNotShown)
            draft.differences = doubt.differences
            return
        }
        draft.verdict = .match
        draft.comparison = comparison
        if !comparison.scoped.aliasRows.isEmpty || isTrueOriginal(comparison.row) {
            draft.veto = Finding.causeAliasRow
        }
        draft.add(AllRules.blocking.flatMap { $0.differences(in: comparison) })
        draft.add(AllRules.beside.flatMap { $0.differences(in: comparison) })
        if !comparison.isFirstFill {
            if !comparison.statusReadsAlike {
                draft.add(
                    AllRules.status.lazy.compactMap { $0.difference(in: comparison) }.first
                        .map { [$0] } ?? [])
            }
            draft.add(AllRules.row.flatMap { $0.differences(in: comparison) })
        }
        var unknowns = comparison.stated.unknownValues
        if policy.kept.hasPeriods,
            !comparison.scoped.periods.isEmpty || comparison.scoped.needsWholeHistory
                || history != nil
        {
            let periods = PeriodComparison(
                scoped: comparison.scoped, current: comparison.stated.transaction,
                history: history, now: policy.now)
            draft.periods = periods
            draft.add(AllRules.period.flatMap { $0.differences(in: periods) })
            unknowns += periods.stated.flatMap { period in
                period.transaction.unknowns.map { ($0, period.transaction.evidence) }
            }
        }
        if !unknowns.isEmpty {
            draft.add(AllRules.unknownValues(unknowns, row: comparison.row))
        }
    }

    /// Whether the asked id is the id of a later transaction of the row's subscription.
    private func isTrueOriginal(_ row: LocalSubscription) -> Bool {
        trueOriginal?.originalTransactionID
            == row.key.originalTransactionID && belongsToApp(row)
    }

    /// The verdict on the asked row when there is no statement about it.
    private func verdictWithoutStatement(of row: LocalSubscription) -> Verdict {
        if let reason = item.statuses?.undecidedReason { return .undecided(reason) }
        guard belongsToApp(row) else { return .excluded(.appNotConfigured) }
        guard let answer else { return .undecided(.unavailable) }
        return .undecided(answer.isEmpty ? .noSubscriptionInAnswer : .idNotInAnswer)
    }
}

/// Access of one row is ended only when the customer's other subscription that gives access is
/// stored as entitling.
///
/// A customer who subscribed again under a new original id has paid, and a service that knows only
/// the old id would lock them out; but the old row must not stay wrong either. So the correction
/// that gives access is written first, then the one that ends it, in the same transaction, and the
/// second names the subscription by which access continues.
extension CaseContext {
    /// Tells each draft that ends access by which subscriptions access continues, or vetoes it
    /// where none of them is stored or will be by the same plan.
    func orderLosses(in drafts: inout [OutcomeDraft], by reading: CustomerReading) {
        for index in drafts.indices {
            guard let comparison = drafts[index].comparison, drafts[index].veto == nil else {
                continue
            }
            let others = reading.giving(accessInsteadOf: comparison)
            guard let newest = others.first else { continue }
            let standing = others.filter { willStand($0, among: drafts, in: reading) }
            drafts[index].continuedBy = standing.map(\.originalTransactionID)
            guard standing.isEmpty else { continue }
            // Then nothing of the row is written: a part of Apple's statement would match neither
            // side.
            drafts[index].veto = Finding.causeHeldBack(until: newest.originalTransactionID)
        }
    }

    /// Whether a subscription is stored as entitling, or will be once the plan is written.
    private func willStand(
        _ stated: StatedSubscription, among drafts: [OutcomeDraft], in reading: CustomerReading
    ) -> Bool {
        let draft = drafts.first { $0.key == reading.row(of: stated).key }
        guard let row = reading.heldRow(of: stated) else {
            return draft?.insertion != nil && policy.reports(.missingLocally)
        }
        guard belongsToApp(row), draft?.doubtsItsCustomer != true else { return false }
        if row.isEntitling { return true }
        return draft?.outcome(policy: policy).corrections.contains(where: \.givesAccess) ?? false
    }
}

extension CustomerReading {
    /// For a row that gives access and, by Apple's statement, no longer should: the subscriptions
    /// of the same customer that give access instead, the newest first.
    ///
    /// They are of the same group, or grant an entitlement that the row's product grants.
    /// These have status 1 or 4 and a transaction that is neither wholly revoked nor upgraded; a
    /// prorated refund need not end the access. A row that is stored for another customer does not
    /// count.
    fileprivate func giving(accessInsteadOf ended: Comparison) -> [StatedSubscription] {
        guard ended.ourStatus?.isEntitling == true, !ended.stated.status.isEntitling else {
            return []
        }
        return comparable.filter { other in
            other.givesAccess(instead: ended, by: context.policy.catalogue)
                && !names(anotherCustomer: ended.row.customerID, in: heldRow(of: other))
        }.sorted { $1.began(before: $0) }
    }

    private func names(anotherCustomer customer: String?, in row: LocalSubscription?) -> Bool {
        guard let customer, let other = row?.customerID else { return false }
        return customer != other
    }
}

extension StatedSubscription {
    fileprivate func givesAccess(
        instead ended: Comparison, by catalogue: ProductCatalogue?
    ) -> Bool {
        let product = ended.row.productID ?? ended.stated.transaction.productID
        return originalTransactionID != ended.stated.originalTransactionID
            && (group == ended.stated.group
                || catalogue != nil && catalogue.grant(sameBy: product, and: transaction.productID))
            && status.isEntitling && !transaction.isWhollyRevoked && !transaction.isUpgraded
    }
}

extension OutcomeDraft {
    /// Whether findings question whose row it is, so that it cannot be relied on to give access.
    fileprivate var doubtsItsCustomer: Bool {
        let doubts: Set<FindingKind> = [
            .identity, .wrongApp, .wrongEnvironment, .migrated, .verificationFailed, .invalidID,
        ]
        return differences.contains { doubts.contains($0.kind) }
    }
}
