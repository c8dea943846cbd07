/// What became of the notification that should have brought a change.
package enum Delivery: String, Hashable, Sendable, CaseIterable, Codable {
    /// Apple recorded SUCCESS, but the company's inbox does not hold it.
    case lostAfterSuccess = "lost_after_200"
    /// Apple recorded SUCCESS, but the row was not updated.
    case notApplied = "delivered_not_applied"
    /// Our endpoint answered with another status than 200 to 206.
    case refused
    /// Apple received no response from our endpoint.
    case unreached = "did_not_reach_us"
    /// Apple's history records no attempt yet.
    case notAttempted = "not_attempted"
    /// Delivered by a retry, or long after it was signed.
    case late
    /// An older notification arrived later and overwrote its values.
    case outOfOrder = "out_of_order"
    /// Apple's history covers the time of the change and has no notification of it.
    case neverSent = "never_sent"
    /// The row was written from a statement newer than the change: we changed it ourselves.
    case changedByUs = "changed_by_us"
    /// Apple's history does not show it.
    case unknown
}

/// The findings of one run and app that have the same cause, and what else they share.
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
    /// Rows with a finding.
    ///
    /// Findings about notifications alone do not count here.
    package var rows = 0
    /// Corrections of these rows: written, or planned where nothing was written.
    package var corrections = 0
    /// Apple's notifications that should have prevented the findings.
    package var notifications = 0
    /// How many of these notifications Apple still tries to deliver.
    package var stillRetried = 0
    /// Findings by kind.
    package var kinds: [String: Int] = [:]
    /// Notifications by type and subtype (`DID_FAIL_TO_RENEW.GRACE_PERIOD`).
    package var notificationTypes: [String: Int] = [:]
    package var money: [MoneyTotal] = []
    /// The first and the last of the delivery attempts that the cause is about.
    package var firstAttempt: Timestamp?
    package var lastAttempt: Timestamp?
    /// The largest bursts of these attempts, in time order.
    package var bursts: [CauseBurst] = []
    /// The product that at least nine in ten findings name, where there are several findings.
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

/// Delivery attempts close to each other; `start` and `end` are minutes, both included.
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

/// A finding of a pass, with the data from which its cause is found.
package struct FindingToExplain: Hashable, Sendable {
    /// The position in the order of staging, in which findings of one row are adjacent.
    package var sequence: Int64
    package var finding: Finding
    /// The number of the correction of it, written or planned.
    package var correction: Int64?
    /// Whether its amount counts; `false` when a more severe finding has the same period.
    package var countsAmount = true
    /// The notifications of its subscription in Apple's history, newest first.
    package var notifications: [TracedNotification]

    package init(
        sequence: Int64, finding: Finding, correction: Int64?, notifications: [TracedNotification]
    ) {
        self.sequence = sequence
        self.finding = finding
        self.correction = correction
        self.notifications = notifications
    }
}
