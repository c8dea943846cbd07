package import Subscriptions

/// The result of checking a case: a question that must be answered first, or the outcomes.
package enum CaseJudgement: Hashable, Sendable {
    /// Ask this, put the answer into the case and check it again.
    case needs(Question)
    /// Nothing is missing. One outcome for each subscription, sorted by key.
    case outcomes([RowOutcome])
}

/// A further question to Apple that a case needs answered.
package enum Question: Hashable, Sendable {
    /// Get Transaction Info of the asked id: which transaction is it?
    case transactionInfo
    /// Get All Subscription Statuses of the asked id in another configured environment of the
    /// bundle.
    case statuses(in: AppIdentity)
    /// The customer's transaction history, from a stored revision where there is one.
    case history(after: String?)
    /// Get Transaction Info of stored one-time purchases that the customer's complete history lacks.
    case purchases([String])
}

/// Judges one case, or says what must be asked before it can be checked.
///
/// There is an outcome for the asked row, for every held row that the answer settles, and for every
/// subscription of the customer that is missing. Each row is checked in this order:
/// 1. rows in flight, and those of members of a developer's group, are excluded;
/// 2. the standing rules: do the row's id, app and environment exist at Apple?
/// 3. the doubts: can Apple's statement be compared with the row at all?
/// 4. the comparison, column by column and period by period, or the first fill;
/// 5. over the whole answer, the customer's subscriptions compared with each other;
/// 6. what of it is reported and written, by the policy.
///
/// Nothing depends on the order of the answer.
package func judge(_ item: Case, policy: Policy) -> CaseJudgement {
    let context = CaseContext(item, policy: policy)
    if let question = context.questionAboutID { return .needs(question) }
    let drafts = context.drafts()
    if let question = context.questionAboutHistory(for: drafts) { return .needs(question) }
    if let question = context.questionAboutPurchases(beside: drafts) { return .needs(question) }
    return .outcomes(drafts.map { $0.outcome(policy: policy) })
}

/// The outcome of one one-time purchase by what Apple signed of it in a notification, a list of refunds, or
/// the history of a customer without subscriptions.
///
/// Without an owner only the stored row says whose the purchase is, so a missing one is reported and not
/// inserted.
package func outcome(
    ofPurchase signed: SignedTransaction, stored: LocalTransaction?, owner: PurchaseOwner? = nil,
    app: AppIdentity, isNotified: Bool = true, policy: Policy
) -> RowOutcome {
    let comparison = PurchaseComparison(
        signed: signed, stored: stored, owner: owner, app: app,
        notified: isNotified ? signed.signedDate : nil, policy: policy)
    return OutcomeDraft(of: comparison).outcome(policy: policy)
}

/// The outcomes of a case as it is, also while a question about it is open.
package func outcomes(of item: Case, policy: Policy) -> [RowOutcome] {
    CaseContext(item, policy: policy).drafts().map { $0.outcome(policy: policy) }
}

/// The findings about one notification of Apple's history.
///
/// At most one of `notification_missed` and `notification_lost`, and one for each field with a
/// value that this version does not know. Their evidence is the notification's own payload.
package func findings(
    about notification: RecordedNotification, inbox: InboxRecord?, inboxIsKept: Bool,
    app: AppIdentity
) -> [Finding] {
    let item = NotificationCase(
        notification: notification, inbox: inbox, inboxIsKept: inboxIsKept, app: app)
    return AllRules.notification.compactMap { $0.find(item) } + item.unknownValues
}

extension CaseContext {
    /// The question about the asked id itself; `nil` when there is none.
    ///
    /// - The answer does not contain the id: which transaction is it?
    /// - Apple does not find the id: does the bundle's other environment know it? On the day that
    ///   would confirm the absence also: does Get Transaction Info know it?
    ///
    /// There is no further question about a row of an app that is not configured.
    ///
    /// Of an id without a row that the answer does not contain, Get Transaction Info says whether it is a
    /// one-time purchase, where these are stored.
    var questionAboutID: Question? {
        if item.asked == nil {
            let isAnswered = answer != nil || item.statuses == .transactionNotFound
            return policy.keepsPurchases && isAnswered && !answerContainsAsked
                && item.transactionInfo == nil ? .transactionInfo : nil
        }
        guard !answerContainsAsked, let asked = item.asked, belongsToApp(asked.row),
            exclusion(of: asked.row, policy: policy) == nil
        else { return nil }
        if let answer {
            let isOpen =
                !answer.isEmpty && rejection(of: asked.row) == nil
                && successor(of: asked.row) == nil
            return isOpen && item.transactionInfo == nil ? .transactionInfo : nil
        }
        guard item.statuses == .transactionNotFound else { return nil }
        if item.elsewhere == nil, let other = otherEnvironment { return .statuses(in: other) }
        guard statementElsewhere == nil, item.transactionInfo == nil,
            policy.wouldConfirmAbsence(of: asked)
        else { return nil }
        return .transactionInfo
    }

    /// Which part of the customer's history must be read, given the drafts without it; `nil` for
    /// none.
    ///
    /// - Every transaction that the answer shows of a period is revoked, and the period has others:
    ///   the whole history says whether they are revoked as well.
    /// - Seats were added to the period, and the table keeps their number: it is a sum over all
    ///   transactions of the period.
    /// - A subscription would be inserted: the whole history says whether a stored row is stored
    ///   under the id of one of its later transactions.
    /// - Periods are stored: the history says which are missing or differ.
    /// - The row's transaction id is not Apple's, but the line item is: the whole history says
    ///   whether it is a restore's.
    ///
    /// Where one-time purchases are stored, it is read from its beginning.
    func questionAboutHistory(for drafts: [OutcomeDraft]) -> Question? {
        guard answerContainsAsked, item.history == nil else { return nil }
        if policy.history != .never,
            drafts.contains(where: { $0.lacksPeriod || $0.lacksSeats })
        {
            return .history(after: nil)
        }
        if policy.reports(.missingLocally), drafts.contains(where: { $0.insertion != nil }) {
            return .history(after: nil)
        }
        let needing = drafts.filter { draft in
            if policy.history == .never { return false }
            return policy.readsEveryHistory
                ? draft.comparison != nil && !draft.forbidsWriting
                : draft.needsHistory(policy: policy)
        }
        let revisions = Set(
            needing.map { draft in
                draft.needsHistoryOfTransaction ? nil : draft.comparison?.scoped.historyRevision
            })
        guard let revision = revisions.first else { return nil }
        let readsOn = revisions.count == 1 && !policy.keepsPurchases
        return .history(after: readsOn ? revision : nil)
    }

    /// The question about stored purchases that the customer's history lacks; `nil` for none.
    func questionAboutPurchases(beside drafts: [OutcomeDraft]) -> Question? {
        guard item.purchaseInfos == nil else { return nil }
        let ids = absentPurchases(beside: drafts).map(\.key.transactionID)
        return ids.isEmpty ? nil : .purchases(ids)
    }
}
