import Logging
import Reconciliation
import SubscriptionStore
package import Subscriptions

/// Reads one app's notification history from its watermark, and stores what never arrived.
///
/// Every subscription that it names is settled by its own signed statement, or comes on the queue.
struct RecoverStep {
    let context: RunContext
    let app: AppIdentity

    /// The result of reading the history.
    struct Outcome {
        /// A sentence when a part of it could not be read.
        var shortfall: String?
        /// Whether the reading is tried once more at the end of the run.
        var mayComeLater = false
        /// How many notifications the history held, also such as did not verify; `nil` where it was
        /// not read to its end.
        var notifications: Int?
        /// How many of them did not verify.
        var unverifiable = 0
    }

    func run() async throws -> Outcome {
        // A stopped run of this checkpoint may have read the history already.
        context.pass.recoveredApps.contains(app) ? Outcome() : try await readHistory()
    }

    private func readHistory() async throws -> Outcome {
        let started = context.clock.now()
        let watermark = try await context.store.watermark(of: app)
        let plan = RecoveryWindow(
            watermark: watermark, now: started, environment: app.environment,
            settings: context.job.recover, settleMilliseconds: context.job.policy.settleMilliseconds
        )
        let shortfall = plan.shortfall(of: app)
        var outcome = try await sweep(plan, isFirst: watermark == nil)
        if let problem = outcome.shortfall {
            outcome.shortfall = [shortfall, problem].compactMap(\.self).joined(separator: " ")
            return outcome
        }
        let moved =
            context.header.worksOffQueue
            ? plan.watermark(afterReading: outcome.unverifiable) : nil
        let read = NotificationWindow(start: plan.window.start, end: plan.readThrough)
        try await context.store.finishRecovery(
            of: app, read: read, watermark: moved, shortfall: shortfall, in: context.pass)
        outcome.shortfall = shortfall
        return outcome
    }

    /// Reads the window, and records every page as it comes.
    private func sweep(_ plan: RecoveryWindow, isFirst: Bool) async throws -> Outcome {
        guard let appStore = context.appStores[app] else {
            throw Inquirer.notConnected(app)
        }
        let (reading, unknowns) = await context.stop.interruptible { [self] in
            var reading = NotificationReading(
                appStore: appStore, context: context, window: plan.window)
            var unknowns: Set<UnknownValue> = []
            await reading.run { page throws in
                try await record(page, through: plan.readThrough, isFirst: isFirst)
                unknowns.formUnion(page.unknowns)
            }
            return (reading, unknowns)
        }
        if !unknowns.isEmpty { try await report(unknowns: unknowns) }
        if let signal = context.stop.signal { throw RunEnd.signal(signal) }
        if let end = reading.end { throw end }
        if let failure = reading.failure {
            let problem =
                "The notification history of \(app.bundleID) (\(app.environment.rawValue)) "
                + "\(IncompleteReading.notToItsEnd): \(failure.why). Its watermark stays; the next run reads "
                + "it again."
            return Outcome(shortfall: problem, mayComeLater: failure.mayComeLater)
        }
        return Outcome(
            shortfall: Self.shortfall(undetermined: reading.undetermined, of: app),
            notifications: reading.notifications + reading.unverifiable,
            unverifiable: reading.unverifiable)
    }

    /// Notifications that may be genuine must not be left behind, so the watermark waits for them.
    private static func shortfall(undetermined: Int, of app: AppIdentity) -> String? {
        guard undetermined > 0 else { return nil }
        return "\(undetermined) \(IncompleteReading.undetermined) \(app.bundleID) "
            + "(\(app.environment.rawValue)) could not be checked, because it is not known whether "
            + "their certificates are revoked. The watermark stays; the next run reads them again."
    }

    private func record(
        _ page: NotificationPage, through readThrough: Timestamp, isFirst: Bool
    ) async throws {
        context.tally.note(rejected: page.rejected)
        context.tally.note(
            identityAgrees: !page.notifications.isEmpty, rejected: page.rejected, of: app)
        // Younger ones may still be on their way through the company's own endpoint.
        let settled = page.notifications.filter { $0.signedDate <= readThrough }
        let uuids = settled.map(\.notificationUUID)
        let inbox = try await context.store.inbox(of: app, notificationUUIDs: uuids)
        var seen: Set<String> = []
        let fresh = settled.filter {
            inbox[$0.notificationUUID]?.recoveredAt == nil
                && seen.insert($0.notificationUUID).inserted
        }
        var found = fresh.flatMap {
            findings(
                about: $0, inbox: inbox[$0.notificationUUID],
                inboxIsKept: context.job.recover.inboxIsKept, app: app)
        }.filter { context.job.policy.reports($0.kind) }
        if context.job.mode == .check {
            for index in found.indices where found[index].action == .recovered {
                found[index].action = .planned
            }
        }
        let reported = Set(
            found.filter { $0.kind == .notificationMissed || $0.kind == .notificationLost }
                .compactMap(\.field))
        let traced = settled.compactMap { notification in
            notification.traced(
                receivedAt: inbox[notification.notificationUUID]?.receivedAt,
                isReported: reported.contains(notification.notificationUUID))
        }
        var recorded = RecordedPage(
            fresh: fresh, findings: found, traced: traced,
            intoInbox: context.header.worksOffQueue)
        (recorded.settled, recorded.pending) = try await sortSubscriptions(
            of: fresh, isFirst: isFirst)
        recorded.purchases = try await purchaseOutcomes(of: fresh, knowing: page.notifications)
        try await context.store.record(
            recorded, of: app, in: context.pass, run: context.header)
        let unbelievable = page.rejected.filter { !$0.isUndetermined }
        guard !unbelievable.isEmpty else { return }
        try await context.stage(StagedBatch(outcomes: unbelievable.map(finding(about:))))
    }

    /// Fields of the answer itself that this version does not know: findings about no subscription.
    private func report(unknowns: Set<UnknownValue>) async throws {
        guard context.job.policy.reports(.unknownValue) else { return }
        var outcome = RowOutcome(
            key: SubscriptionKey(app: app, originalTransactionID: ""), verdict: nil)
        let sorted = unknowns.sorted {
            ($0.field, $0.value ?? "") < ($1.field, $1.value ?? "")
        }
        outcome.findings = sorted.map { unknown in
            var finding = Finding(
                kind: .unknownValue, severity: .info, bundleID: app.bundleID,
                environment: app.environment.rawValue)
            finding.field = unknown.field
            finding.appleValue = unknown.value.map { .text($0) } ?? .null
            finding.cause = "unknown to this version"
            return finding
        }
        try await context.stage(StagedBatch(outcomes: [outcome]))
    }

    /// A notification that did not verify: a finding about no subscription.
    private func finding(about rejected: RejectedStatement) -> RowOutcome {
        var finding = Finding(
            kind: .verificationFailed, severity: .critical, bundleID: app.bundleID,
            environment: app.environment.rawValue)
        finding.field = rejected.payload.map {
            Finding.notificationFieldPrefix + $0.digest.hexadecimal.prefix(16)
        }
        finding.cause = "notification not verifiable: \(rejected.failure.reason.rawValue)"
        finding.evidence = rejected.payload?.digest
        var outcome = RowOutcome(
            key: SubscriptionKey(app: app, originalTransactionID: ""), verdict: nil)
        outcome.findings = [finding]
        outcome.evidence = rejected.payload.map { [$0] } ?? []
        return outcome
    }
}

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
    /// An entry that does not verify may be a genuine notification that was damaged on its way, so
    /// the watermark waits for it. It waits for days and not for ever: an entry that never verifies
    /// must not make every later run read half a year.
    ///
    /// - Parameter unverifiable: How many entries of the window did not verify.
    /// - Returns: Behind which nothing is left to be read again, except for the overlap.
    package func watermark(afterReading unverifiable: Int) -> Timestamp {
        guard unverifiable > 0 else { return readThrough }
        let oldest = readThrough.adding(
            milliseconds: -RunLimits.unverifiedHistoryDays * Milliseconds.perDay)
        return min(readThrough, max(watermark ?? window.start, oldest))
    }

    /// The notifications that are lost for good, in a sentence; `nil` when none are.
    package func shortfall(of app: AppIdentity) -> String? {
        guard lostMilliseconds > 0 else { return nil }
        return "The notification history of \(app.bundleID) (\(app.environment.rawValue)) was last "
            + "read \(lostMilliseconds / Milliseconds.perDay + 1) days \(IncompleteReading.tooLate): "
            + "notifications before \(window.start.rfc3339) cannot be recovered. A run with "
            + "coverage: full checks the subscriptions themselves."
    }
}

/// Decides, page by page, how a sweep through the notification history continues.
///
/// It cannot loop and cannot end early unnoticed: a repeated token, an empty page that promises
/// more, and more pages than the limit all end it as not finished.
package struct NotificationSweep {
    package enum Step: Hashable {
        case nextPage
        case finished
        case gaveUp(String)
    }

    package private(set) var paginationToken: String?
    private var pages = 0
    private var restarts = 0
    /// Brent's cycle detection: one remembered page, renewed at powers of two.
    private var remembered: [String] = []
    private var nextRemembering = 1

    package init() {}

    package mutating func pageArrived(_ lookup: Lookup<NotificationPage>) -> Step {
        switch lookup {
        case .answered(let page): return pageArrived(page)
        case .restart:
            restarts += 1
            guard restarts <= RunLimits.notificationSweepRestarts else {
                return .gaveUp("its page token ended \(restarts) times")
            }
            paginationToken = nil
            remembered = []
            return .nextPage
        case .rateLimited: return .gaveUp("Apple's rate limit")
        case .unavailable(let why), .undecodable(let why): return .gaveUp(why)
        case .internalFault: return .gaveUp("Apple answered 5000000")
        case .unverified(let rejected): return .gaveUp(rejected.failure.detail)
        case .refused(let code, _, _): return .gaveUp("Apple refused it (\(code))")
        case .transactionNotFound, .accountNotFound, .invalidID:
            return .gaveUp("Apple answered about a transaction that was not asked for")
        }
    }

    private mutating func pageArrived(_ page: NotificationPage) -> Step {
        guard page.hasMore else { return .finished }
        guard let token = page.paginationToken, !token.isEmpty else {
            return .gaveUp("a page promises more without saying where")
        }
        let uuids = page.notifications.map(\.notificationUUID)
        guard !uuids.isEmpty || !page.rejected.isEmpty else {
            return .gaveUp("an empty page promises more")
        }
        guard token != paginationToken, uuids.isEmpty || uuids != remembered else {
            return .gaveUp("its pages repeat")
        }
        pages += 1
        guard pages < RunLimits.notificationPagesPerSweep else {
            return .gaveUp("it has more pages than the limit")
        }
        if pages == nextRemembering {
            remembered = uuids
            nextRemembering *= 2
        }
        paginationToken = token
        return .nextPage
    }
}
