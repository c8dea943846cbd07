package import Reconciliation
package import Subscriptions

/// What one job does, with the defaults of the contract.
package struct JobSettings: Hashable, Sendable {
    /// The file's name without `.yaml`.
    package var name: String
    package var file: String
    package var steps: [JobStep] = [.recover, .walk]
    package var mode: RunMode = .apply
    package var coverage: Coverage = .delta
    package var history: HistoryUse = .whenNeeded
    /// Every row is asked at least this often.
    package var sweepDays = 7
    /// Share of the quiet rows asked at random each night.
    package var sample = 0.01
    package var settleMilliseconds: Int64 = 15 * 60_000
    package var maxDurationMilliseconds: Int64 = 4 * 3_600_000
    /// How long an endpoint that does not work is waited for.
    package var maxOutageMilliseconds: Int64 = 30 * 60_000
    package var failOn: FailureThreshold = .high
    package var notFoundConfirmations = 3
    package var recover = Recovery()
    package var guards = GuardLimits()
    /// Columns that are reported but never written.
    package var reportOnlyFields: Set<String> = Self.alwaysReportOnly

    /// What an amount was is Apple's to say and the accountants' to book.
    static let alwaysReportOnly: Set<String> = ["price", "currency"]

    package init(name: String, file: String) {
        self.name = name
        self.file = file
    }

    /// How the notification history is read.
    package struct Recovery: Hashable, Sendable {
        /// Re-read behind the watermark.
        package var overlapMilliseconds: Int64 = 7 * 86_400_000
        /// On the very first run; the run keeps it inside what Apple remembers.
        package var lookbackMilliseconds: Int64 = 30 * 86_400_000
        package var inbox: Inbox = .none
    }
}

/// A step of a job, in the order in which they are done.
package enum JobStep: String, Hashable, Sendable, CaseIterable {
    /// Read the notification history and settle what it touched.
    case recover
    /// Ask for statuses and, when needed, history.
    case walk
}

/// Whom a walk asks for.
package enum Coverage: String, Hashable, Sendable, CaseIterable {
    case delta, full
}

/// Whether received notifications are imported, so that a lost one can be told.
package enum Inbox: String, Hashable, Sendable, CaseIterable {
    case none, imported
}

/// From which severity on unresolved findings fail a run.
package enum FailureThreshold: String, Hashable, Sendable, CaseIterable {
    case none, low, medium, high, critical

    /// `nil` when no finding fails the run.
    package var severity: Severity? { Severity(rawValue: rawValue) }
}
