package import Subscriptions

/// What must still be asked before `judge` can decide; `nil` when nothing.
package func nextQuestion(for item: Case, policy: Policy) -> Question? {
    nil
}

/// Judges one case: an outcome for the asked row, for every held row that the answer settles, and
/// for every subscription that we should hold.
package func judge(_ item: Case, policy: Policy) -> [RowOutcome] {
    []
}

/// What one notification of Apple's history says against our inbox.
package func judge(
    _ notification: RecordedNotification, inbox: InboxRecord?, inboxIsKept: Bool,
    app: AppIdentity, now: Timestamp
) -> [Finding] {
    []
}

/// Why a row is left out before it is asked for; `nil` when it is to be asked.
package func exclusion(of row: LocalSubscription, policy: Policy) -> ExclusionReason? {
    nil
}
