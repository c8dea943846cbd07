/// The port to the database while a job runs.
///
/// Every method is one short transaction.
///
/// A *pass* holds what has been judged so far; it outlives a killed process. Within a pass each row
/// is settled once: what is staged for a settled row is ignored, unless it `replaces`.
package protocol ReconciliationStore: GuardRecords {
    /// Records the run and opens its pass: the unfinished one of the same job, mode and settings
    /// digest where it began less than a day before, else a new one. Older unfinished passes of
    /// the job are dropped; their written corrections stay for the next report.
    func begin(_ run: RunHeader) async throws(StoreError) -> OpenPass

    /// The next rows of the walk in key order that this pass has not settled.
    func rows(
        after key: SubscriptionKey?, limit: Int, in pass: OpenPass
    ) async throws(StoreError) -> [ScopedRow]

    /// How many rows the table holds of each app and environment, in that order.
    func rowsByApp() async throws(StoreError) -> [AppRows]

    /// The rows held under these original transaction ids in any app and environment.
    func rows(
        holding originalTransactionIDs: [String]
    ) async throws(StoreError) -> [ScopedRow]

    /// The rows that stand under ids of later transactions of these original transaction ids, as far
    /// as an earlier look found any; by true original id.
    func standIns(
        of originalTransactionIDs: [String], in app: AppIdentity
    ) async throws(StoreError) -> [String: [SubscriptionKey]]

    /// Which of these rows the job's last run asked about in vain, for want of an answer.
    func failedLastTime(
        among keys: [SubscriptionKey], before run: RunHeader
    ) async throws(StoreError) -> Set<SubscriptionKey>

    /// An id of the app that the pass has judged; `nil` where there is none.
    func judgedID(of app: AppIdentity, in pass: OpenPass) async throws(StoreError) -> String?

    /// How many rows that the run is about the pass has not settled.
    func unreachedRows(in pass: OpenPass, run: RunHeader) async throws(StoreError) -> Int

    /// Rows of this pass staged with `asksAgain`, in key order.
    func rowsToAskAgain(
        limit: Int, in pass: OpenPass
    ) async throws(StoreError) -> [ScopedRow]

    /// Stores what was judged, in one transaction with the walk's position.
    func stage(_ batch: StagedBatch, in pass: OpenPass, run: RunHeader) async throws(StoreError)

    /// How far an app's notification history has been read; `nil` before the first time.
    func watermark(of app: AppIdentity) async throws(StoreError) -> Timestamp?

    /// What is known of these notifications.
    func inbox(
        of app: AppIdentity, notificationUUIDs: [String]
    ) async throws(StoreError) -> [String: InboxRecord]

    /// Stores one page of notifications: their findings, which subscriptions they touched and,
    /// when `intoInbox`, the notifications themselves.
    func record(
        _ notifications: [RecordedNotification], findings: [Finding], of app: AppIdentity,
        intoInbox: Bool, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError)

    /// Subscriptions touched by this pass's notifications that it has not settled, by id order.
    ///
    /// Those that a finding of the pass names as the true original or the successor of a row that
    /// we hold under another id are left out: they are held, though not by their own name.
    func touchedSubscriptions(
        of app: AppIdentity, heldOnly: Bool, after originalTransactionID: String?, limit: Int,
        in pass: OpenPass
    ) async throws(StoreError) -> [String]

    /// Marks an app's notification history as read in this pass and, unless `nil`, moves its
    /// watermark.
    func finishRecovery(
        of app: AppIdentity, watermark: Timestamp?, in pass: OpenPass
    ) async throws(StoreError)

    /// Fixes what the pass plans and gives it its identity; once for each run, unless something is
    /// staged afterwards.
    @discardableResult
    func sealPlan(of pass: OpenPass, run: RunHeader) async throws(StoreError) -> PlanSeal

    /// Takes an earlier run's plan up into the pass, with the findings that it mends; what was
    /// written under this plan before counts as applied.
    func stagePlan(_ sha256: String, in pass: OpenPass, run: RunHeader) async throws(StoreError)

    /// Plans the inverse of an earlier run's corrections; what is taken back already is left out,
    /// what cannot be is staged as stale.
    func stageUndo(
        ofRun runID: String, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) -> UndoCounts

    /// What the run that made a plan looked at, for the guards; `changes` is 0.
    func planTotals(ofPlan sha256: String) async throws(StoreError) -> PlanTotals

    /// The corrections of the pass that were tried and not written.
    func unwritten(of pass: OpenPass) async throws(StoreError) -> UnwrittenCorrections

    /// Keeps what Apple recorded of sending these notifications until the pass is over; of one
    /// notification the first account stands.
    func noteDeliveries(
        _ notifications: [TracedNotification], of app: AppIdentity, in pass: OpenPass
    ) async throws(StoreError)

    /// Notes the part of an app's notification history that the pass has read to its end.
    func noteHistoryRead(
        _ window: NotificationWindow, of app: AppIdentity, in pass: OpenPass
    ) async throws(StoreError)

    /// The parts noted by `noteHistoryRead`; nothing of an app whose history was not read.
    func historyRead(
        in pass: OpenPass
    ) async throws(StoreError) -> [AppIdentity: NotificationWindow]

    /// Findings of the pass in the order in which they were staged, with what may tell their cause.
    func findingsToExplain(
        after sequence: Int64?, limit: Int, in pass: OpenPass
    ) async throws(StoreError) -> [FindingToExplain]

    /// Keeps the causes of findings, by sequence number, for this run's report.
    ///
    /// They count once the run is concluded; a run killed before that leaves none behind.
    func explain(
        _ causes: [Int64: String], in pass: OpenPass, run: RunHeader
    ) async throws(StoreError)

    /// Applies up to `limit` planned corrections of the pass, oldest key first, each with its
    /// ledger entry in the same transaction, by compare-and-set; says how many were taken up
    /// (0 when none is left). A row that moved becomes undecided (`changed_during_run`).
    func applyPlanned(
        limit: Int, in pass: OpenPass, run: RunHeader, at now: Timestamp
    ) async throws(StoreError) -> Int

    /// Records how the run ended and closes its pass, or leaves it to the next run.
    ///
    /// Where the conclusion says so, rows that the pass did not settle become undecided
    /// (`deadline`) in this run's report; a run that continues the pass asks them after all.
    /// Planned corrections that were not applied leave their findings' action as `planned`.
    func conclude(
        _ conclusion: RunConclusion, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError)

    /// The findings of the pass that count for the exit status: unresolved ones, by severity.
    func unresolvedFindings(of pass: OpenPass) async throws(StoreError) -> [Severity: Int]
}

/// What one page of the walk, or one touched customer, brought.
package struct StagedBatch: Hashable, Sendable {
    package var outcomes: [RowOutcome]
    /// Rows to ask once more at the end (5000000); they are settled as undecided until then.
    package var asksAgain: [SubscriptionKey]
    /// How far a customer's history was read, by subscription.
    package var historyMarks: [SubscriptionKey: HistoryMark]
    /// The walk's position afterwards; `nil` when the batch is not a page of the walk.
    package var walkedThrough: SubscriptionKey?
    /// Whether outcomes take the place of earlier ones of the same rows.
    package var replaces: Bool

    package init(
        outcomes: [RowOutcome] = [], asksAgain: [SubscriptionKey] = [],
        historyMarks: [SubscriptionKey: HistoryMark] = [:], walkedThrough: SubscriptionKey? = nil,
        replaces: Bool = false
    ) {
        self.outcomes = outcomes
        self.asksAgain = asksAgain
        self.historyMarks = historyMarks
        self.walkedThrough = walkedThrough
        self.replaces = replaces
    }
}

/// What the store knows of one notification.
package struct InboxRecord: Hashable, Sendable {
    /// When the company's own endpoint received it; `nil` when it did not, or nobody told us.
    package var receivedAt: Timestamp?
    /// When a run of ours stored it out of Apple's history.
    package var recoveredAt: Timestamp?

    package init(receivedAt: Timestamp?, recoveredAt: Timestamp?) {
        self.receivedAt = receivedAt
        self.recoveredAt = recoveredAt
    }
}
