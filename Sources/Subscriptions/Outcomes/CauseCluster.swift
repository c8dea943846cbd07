/// What became of the notification that should have brought a change.
package enum Delivery: String, Hashable, Sendable, CaseIterable, Codable {
    /// SUCCESS recorded, an inbox is kept, and it is not there.
    case lostAfterSuccess = "lost_after_200"
    /// SUCCESS recorded, and yet the row disagrees.
    case notApplied = "delivered_not_applied"
    /// Our endpoint answered with another status than 200 to 206.
    case refused
    /// No answer of ours came back to Apple.
    case unreached = "did_not_reach_us"
    /// Apple's history records no attempt yet.
    case notAttempted = "not_attempted"
    /// Delivered only by a retry, or long after it was signed.
    case late
    /// An older notification arrived after it and overwrote what it had brought.
    case outOfOrder = "out_of_order"
    /// Apple's history covers the change and holds no notification of it.
    case neverSent = "never_sent"
    /// The change is older than the statement that the row rests on.
    case changedByUs = "changed_by_us"
    /// Apple's history does not tell.
    case unknown
}

/// Findings of one run and app that have one cause, and what else they have in common.
package struct CauseCluster: Hashable, Sendable, Codable {
    package var bundleID: String
    package var environment: String
    /// The text that every finding of the cluster carries as its `cause`.
    package var cause: String
    /// `nil` for causes that no notification could have prevented.
    package var delivery: Delivery?
    /// `sendAttemptResult` as Apple spells it, where the cause is one.
    package var result: String?
    package var findings = 0
    /// Rows that differ; a notification that changed no row of ours counts among `notifications`.
    package var rows = 0
    /// Corrections that mend them: written, or planned where nothing was written.
    package var corrections = 0
    /// Notifications of Apple's behind the findings.
    package var notifications = 0
    /// How many of the notifications Apple still tries to deliver.
    package var stillRetried = 0
    /// Findings by kind.
    package var kinds: [String: Int] = [:]
    /// Notifications by type and subtype (`DID_FAIL_TO_RENEW.GRACE_PERIOD`).
    package var notificationTypes: [String: Int] = [:]
    package var money: [MoneyTotal] = []
    /// When the attempts that the cause speaks of were made, first and last.
    package var firstAttempt: Timestamp?
    package var lastAttempt: Timestamp?
    /// Stretches of minutes in which they crowd, in the order of time; the largest ones only.
    package var bursts: [CauseBurst] = []
    /// The product of at least nine findings in ten, where there are several.
    package var productID: String?
    /// The lowest original transaction id among them.
    package var example: String?
    /// On how many of the seven days before a run found the same cause.
    package var earlierDays = 0

    package init(
        bundleID: String, environment: String, cause: String, delivery: Delivery? = nil,
        result: String? = nil
    ) {
        self.bundleID = bundleID
        self.environment = environment
        self.cause = cause
        self.delivery = delivery
        self.result = result
    }
}

/// Attempts close to each other: from the first to the last minute, both counted.
package struct CauseBurst: Hashable, Sendable, Codable {
    package var start: Timestamp
    package var end: Timestamp
    package var notifications: Int

    package init(start: Timestamp, end: Timestamp, notifications: Int) {
        self.start = start
        self.end = end
        self.notifications = notifications
    }
}
