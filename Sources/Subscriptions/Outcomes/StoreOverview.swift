/// The contents of `trueup status` for a database.
package struct StoreOverview: Hashable, Sendable {
    package var subscriptions: Int
    /// Rows without a status.
    package var notYetKnown: Int
    /// Newest first.
    package var runs: [RunListing]
    /// When the newest pass over the whole population that was completed began.
    package var lastCompletePass: Timestamp?
    /// When the newest complete pass over each app began, over all apps or for some alone.
    package var completePasses: [AppIdentity: Timestamp] = [:]
    /// Subscriptions with a check record.
    package var judgedRows = 0
    /// One-time purchases in the table.
    package var purchases = 0
    /// When Apple signed the oldest of the statements by which the rows were checked last.
    package var oldestCheck: Timestamp?
    /// Subscriptions about which Apple must be asked by the next run, whatever else it asks.
    package var pending = 0
    /// Rows on the queue that a stopped run has checked: its job continues them without asking.
    package var checkedByStoppedRuns = 0
    package var watermarks: [AppIdentity: Timestamp]
    package var openFindings: [FindingCount]
    /// Events about corrections, for others.
    package var outbox = OutboxTotals()
    /// The records that `retention` clears.
    package var bookkeeping: [BookkeepingCount] = []
    /// Findings that are known and no longer count as open.
    package var acknowledged: [AcknowledgedFinding] = []

    package init(
        subscriptions: Int, notYetKnown: Int, runs: [RunListing], lastCompletePass: Timestamp?,
        watermarks: [AppIdentity: Timestamp], openFindings: [FindingCount]
    ) {
        self.subscriptions = subscriptions
        self.notYetKnown = notYetKnown
        self.runs = runs
        self.lastCompletePass = lastCompletePass
        self.watermarks = watermarks
        self.openFindings = openFindings
    }
}

/// One line about a run.
package struct RunListing: Hashable, Sendable {
    package var runID: String
    package var job: String
    package var mode: RunMode
    package var started: Timestamp
    /// `nil` while it runs, or when it was killed.
    package var ended: Timestamp?
    package var exitStatus: ExitStatus?
    package var totals: RunTotals
    /// `nil` where it has not ended, and where no one-time purchase was stored.
    package var purchases: PurchaseTotals?

    package init(
        runID: String, job: String, mode: RunMode, started: Timestamp, ended: Timestamp?,
        exitStatus: ExitStatus?, totals: RunTotals, purchases: PurchaseTotals? = nil
    ) {
        self.purchases = purchases
        self.runID = runID
        self.job = job
        self.mode = mode
        self.started = started
        self.ended = ended
        self.exitStatus = exitStatus
        self.totals = totals
    }
}

/// How many rows of one kind of bookkeeping are stored, and how old the oldest is.
package struct BookkeepingCount: Hashable, Sendable {
    package var kind: String
    package var rows: Int
    /// `nil` where there is none.
    package var oldest: Timestamp?

    package init(kind: String, rows: Int, oldest: Timestamp?) {
        self.kind = kind
        self.rows = rows
        self.oldest = oldest
    }
}
