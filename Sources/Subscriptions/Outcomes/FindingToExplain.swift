/// A finding of a pass with what may tell its cause.
package struct FindingToExplain: Hashable, Sendable {
    /// Findings of a pass in the order in which they were staged; those of one row stand together.
    package var sequence: Int64
    package var finding: Finding
    /// The number of the correction that mends it, written or planned.
    package var correction: Int64?
    /// Whether its amount counts; a graver finding may speak of the same period.
    package var countsAmount = true
    /// What Apple's history says of its subscription, newest first.
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
