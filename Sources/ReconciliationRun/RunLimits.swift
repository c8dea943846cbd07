/// Every bound of a run that is not a setting, in one place.
package enum RunLimits {
    /// Rows that are asked and staged together; a killed run loses at most their calls.
    package static let rowsPerPage = 256
    /// Questions in flight at once, enough for Apple's 50 a second when an answer takes two seconds;
    /// the pacing decides how fast they may be sent.
    package static let concurrentInquiries = 100
    /// How long what was judged may wait to be staged.
    package static let longestUnstaged = Duration.seconds(1)
    /// Findings whose causes are looked for and stored together.
    package static let findingsPerPage = 500
    /// Corrections written in one transaction, so that others never wait long for the database.
    package static let correctionsPerTransaction = 100
    /// Undecodable answers in a row that end the run (docs/exit-statuses.md, 76).
    package static let undecodableInARow = 5
    /// Further questions about one case after its status call; there are at most three kinds.
    package static let furtherQuestionsPerCase = 4
    /// Rows asked once more at the end because revocation was not learned the first time.
    package static let undeterminedAskedAgain = 1_000
    /// Pages of one customer's history (20 transactions each).
    package static let historyPagesPerCustomer = 2_000
    /// Pages of one sweep through the notification history (20 notifications each).
    package static let notificationPagesPerSweep = 500_000
    /// How often a sweep starts again because its page token ended.
    package static let notificationSweepRestarts = 3
    /// Apple keeps notifications this long, less a margin for its clock and ours.
    package static let notificationDaysProduction: Int64 = 180
    package static let notificationDaysSandbox: Int64 = 30
    package static let notificationMarginMilliseconds: Int64 = 10 * 60 * 1000
    /// How long a watermark waits for entries of a history that do not verify.
    package static let unverifiedHistoryDays: Int64 = 14
}
