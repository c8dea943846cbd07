package import Subscriptions

/// Which part of an app's notification history a run reads.
package struct RecoveryWindow: Hashable {
    package let window: NotificationWindow
    /// Notifications signed later than this are left to the next run.
    package let readThrough: Timestamp
    /// How much of the time since the watermark Apple no longer keeps.
    package let lostMilliseconds: Int64
    /// Up to where earlier runs had read; `nil` before the first.
    private let watermark: Timestamp?

    package init(
        watermark: Timestamp?, now: Timestamp, environment: AppStoreEnvironment,
        settings: RecoverSettings, settleMilliseconds: Int64
    ) {
        let keptDays =
            switch environment {
            case .production: RunLimits.notificationDaysProduction
            case .sandbox: RunLimits.notificationDaysSandbox
            }
        let oldest = now.adding(
            milliseconds: RunLimits.notificationMarginMilliseconds
                - keptDays * Milliseconds.perDay)
        let wanted =
            watermark.map { $0.adding(milliseconds: -settings.overlapMilliseconds) }
            ?? now.adding(milliseconds: -settings.lookbackMilliseconds)
        // A watermark from the future (a clock that was set back) must not make an empty window.
        let start = min(max(wanted, oldest), now.adding(milliseconds: -1))
        self.watermark = watermark
        self.window = NotificationWindow(start: start, end: now)
        self.readThrough = now.adding(milliseconds: -settleMilliseconds)
        self.lostMilliseconds = watermark.map { max(0, oldest.milliseconds(since: $0)) } ?? 0
    }

    /// Where the history counts as read after this run.
    ///
    /// An entry that does not verify may be a genuine notification that was damaged on its way, so the
    /// watermark waits for it. It waits for days and not for ever: an entry that never verifies must
    /// not make every later night read half a year.
    ///
    /// - Parameter unverifiable: How many entries of the window did not verify.
    /// - Returns: Behind which nothing is left to be read again, but for the overlap.
    package func watermark(afterReading unverifiable: Int) -> Timestamp {
        guard unverifiable > 0 else { return readThrough }
        let oldest = readThrough.adding(
            milliseconds: -RunLimits.unverifiedHistoryDays * Milliseconds.perDay)
        return min(readThrough, max(watermark ?? window.start, oldest))
    }

    /// What is lost for good, in a sentence; `nil` when nothing is.
    package func shortfall(of app: AppIdentity) -> String? {
        guard lostMilliseconds > 0 else { return nil }
        return "The notification history of \(app.bundleID) (\(app.environment.rawValue)) was last "
            + "read \(lostMilliseconds / Milliseconds.perDay + 1) days \(IncompleteReading.tooLate): "
            + "notifications before \(window.start.rfc3339) cannot be recovered. A full walk "
            + "settles the subscriptions themselves."
    }
}
