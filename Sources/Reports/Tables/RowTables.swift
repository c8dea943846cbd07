import Subscriptions

extension Table where Record == UndecidedRow {
    /// Rows that were not judged, with the reason.
    static func undecided(in runID: String) -> Table {
        Table([
            ("run_id", { _ in .own(runID) }),
            ("app", { .text($0.key.bundleID) }),
            ("environment", { .text($0.key.environment) }),
            ("original_transaction_id", { .text($0.key.originalTransactionID) }),
            ("customer_id", { Cell($0.customerID) }),
            ("reason", { .own($0.reason.rawValue) }),
        ])
    }
}

extension Table where Record == NotFoundAccount {
    /// Rows that Apple did not find: since when, on how many days, and what was last proven.
    static func notFound(in runID: String) -> Table {
        Table([
            ("run_id", { _ in .own(runID) }),
            ("app", { .text($0.key.bundleID) }),
            ("environment", { .text($0.key.environment) }),
            ("original_transaction_id", { .text($0.key.originalTransactionID) }),
            ("customer_id", { Cell($0.customerID) }),
            ("status", { Cell($0.status) }),
            ("state", { .own($0.isConfirmed ? "confirmed" : "suspect") }),
            ("first_day", { .own($0.absence.firstDay) }),
            ("last_day", { .own($0.absence.lastDay) }),
            ("distinct_days", { Cell($0.absence.distinctDays) }),
            ("last_good_as_of", { Cell($0.lastGoodAsOf) }),
            ("last_good_evidence", { Cell($0.lastGoodEvidence) }),
        ])
    }
}

extension Table where Record == NotificationAudit {
    /// Apple's notification history against the inbox.
    static func notifications(in runID: String) -> Table {
        Table([
            ("run_id", { _ in .own(runID) }),
            ("app", { .text($0.app.bundleID) }),
            ("environment", { .own($0.app.environment.rawValue) }),
            ("notification_uuid", { .text($0.notificationUUID) }),
            ("notification_type", { .text($0.notificationType) }),
            ("subtype", { Cell($0.subtype) }),
            ("signed_date", { Cell($0.signedDate) }),
            ("original_transaction_id", { Cell($0.originalTransactionID) }),
            ("attempts", { Cell($0.attempts) }),
            ("last_attempt_result", { Cell($0.lastAttemptResult) }),
            ("verdict", { .text($0.verdict) }),
            ("evidence", { Cell($0.evidence) }),
        ])
    }
}
