package import Subscriptions

/// What must still be asked before `judge` can decide; `nil` when nothing.
package func nextQuestion(for item: Case, policy: Policy) -> Question? {
    CaseContext(item, policy: policy).nextQuestion
}

/// Judges one case: an outcome for the asked row, for every held row that the answer settles, and
/// for every subscription that we should hold.
///
/// In this order, for each row:
/// 1. rows in flight are excluded;
/// 2. the standing rules: is the row, its app, environment and id one that Apple knows as we do?
/// 3. the doubts: may Apple's statement be held against the row at all?
/// 4. the comparison, column by column and period by period, or the first fill;
/// 5. over the whole answer, the customer's subscriptions beside each other;
/// 6. what of it is reported and written, by the policy: corrections, inserts and their evidence.
///
/// Nothing depends on the order of the answer. The outcomes are sorted by key.
package func judge(_ item: Case, policy: Policy) -> [RowOutcome] {
    CaseContext(item, policy: policy).drafts().map { $0.outcome(policy: policy) }
}

/// What one notification of Apple's history says against our inbox.
///
/// At most one finding of `notification_missed` and `notification_lost`, and one for each field
/// with a value that this version does not know. The findings rest on the notification's own
/// payload.
package func judge(
    _ notification: RecordedNotification, inbox: InboxRecord?, inboxIsKept: Bool,
    app: AppIdentity, now: Timestamp
) -> [Finding] {
    let reading = NotificationReading(
        notification: notification, inbox: inbox, inboxIsKept: inboxIsKept, app: app)
    return AllRules.notification.compactMap { $0.finding(about: reading) } + reading.unknownValues
}
