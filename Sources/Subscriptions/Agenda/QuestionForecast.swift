/// Which questions a run that began now would ask, as far as the database alone tells.
package struct QuestionForecast: Hashable, Sendable {
    /// Rows in the table.
    package var rows = 0
    /// Distinct customers in the table; a row without one counts as a customer.
    package var customers = CustomerCount()
    /// Rows that no reason names; `nil` where every row is checked.
    package var unchanged: Int?
    /// Rows to be checked, by the most urgent reason; what is pending included.
    package var questions: [QuestionReason: Int] = [:]
    /// Of these: subscriptions that a notification named and no row holds.
    package var unheld = 0
    /// Rows that would be a question, which were not checked.
    package var excluded: [ExclusionReason: Int] = [:]
    /// Whose subscriptions are checked; one call answers for a customer.
    package var asked: [AppIdentity: CustomerCount] = [:]
    /// Whether only a part of the unchanged rows is drawn.
    ///
    /// The run draws others than the forecast, so
    /// that it may hit another number of customers.
    package var drawsPart = false
    /// Rows that an earlier run of an unfinished full scan has settled.
    package var settledInRound = 0
    /// Rows without a status that the run fills in.
    package var firstFills = 0
    /// Rows that a stopped run has checked, whose work the run continues.
    package var judgedByStoppedRun = 0
    /// Whether a run of the job was stopped or killed: the next one continues its work.
    package var resumes = false
    /// Whose refunds are read, where the job reads them and purchases of the app are stored.
    package var refunds: [AppIdentity: RefundSweepCount] = [:]
    /// How many pages beyond the first the histories have by what is stored, where they are read from their
    /// beginning because one-time purchases are stored.
    package var furtherPages: [AppIdentity: HistoryPages] = [:]
    /// The last runs of the job that were not narrowed and came to their end, newest first.
    package var pastRuns: [PastRun] = []

    package init() {}
}

/// The questions of an earlier run of the same job.
package struct PastRun: Hashable, Sendable {
    package var runID: String
    package var started: Timestamp
    /// Calls by endpoint, whatever came of them.
    package var calls: [String: Int]
    package var coverage: RunCoverage?

    package init(
        runID: String, started: Timestamp, calls: [String: Int], coverage: RunCoverage?
    ) {
        self.runID = runID
        self.started = started
        self.calls = calls
        self.coverage = coverage
    }
}

/// The rows from which a run takes its questions, next to its pending checks.
package enum ForecastScope: Hashable, Sendable {
    /// None: a job without the step `walk`.
    case pending
    case delta(ScheduleRequest)
    /// Every row that the full scan has not settled.
    case full(isRound: Bool)
}

/// The fate of a question about a row.
package enum QuestionPlace: Hashable, Sendable {
    /// The run is not for its app.
    case leftOut
    case asked(AppIdentity)
    case excluded(ExclusionReason)
}

/// The expected effort of a run, found before its first call; the report compares it with the real
/// one.
package struct CallForecast: Hashable, Sendable, Codable {
    /// Rows to be checked.
    package var questions: Int
    /// Expected calls by endpoint, over all apps; an endpoint of which nothing tells is left out.
    package var calls: [String: Int]
    /// `nil` where nothing tells.
    package var milliseconds: Int64?

    package init(questions: Int, calls: [String: Int], milliseconds: Int64?) {
        self.questions = questions
        self.calls = calls
        self.milliseconds = milliseconds
    }
}

/// How long the histories of an app's customers are at least, by the stored transactions.
package struct HistoryPages: Hashable, Sendable {
    /// Customers with a stored subscription.
    package var customers: Int
    /// Pages beyond the first of each history.
    package var further: Int

    package init(customers: Int, further: Int) {
        self.customers = customers
        self.further = further
    }

    /// How many further pages so many customers have, if all are alike.
    package func further(ofCustomers count: Int) -> Int {
        customers == 0 ? 0 : Int((Double(further) * Double(count) / Double(customers)).rounded())
    }
}
