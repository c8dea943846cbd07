import Logging
import Reconciliation
import SubscriptionStore
import Subscriptions

/// Reads one app's notification history from its watermark, and stores what never arrived.
///
/// Every subscription that it names is settled by its own signed statement, or comes on the agenda.
struct RecoverStep {
    let context: RunContext
    let app: AppIdentity

    /// What reading the history came to.
    struct Outcome {
        /// A sentence when a part of it could not be read.
        var shortfall: String?
        /// Whether the reading is tried once more at the end of the run.
        var mayComeLater = false
        /// How many notifications the history held, also such as did not verify; `nil` where it was not
        /// read to its end.
        var notifications: Int?
        /// How many of them did not verify.
        var unverifiable = 0
    }

    func run() async throws -> Outcome {
        // A stopped run of this pass may have read the history already.
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
        var outcome = try await sweep(plan.window, through: plan.readThrough)
        if let problem = outcome.shortfall {
            outcome.shortfall = [shortfall, problem].compactMap(\.self).joined(separator: " ")
            return outcome
        }
        let moved =
            context.header.worksOffAgenda
            ? plan.watermark(afterReading: outcome.unverifiable) : nil
        let read = NotificationWindow(start: plan.window.start, end: plan.readThrough)
        try await context.store.finishRecovery(
            of: app, read: read, watermark: moved, in: context.pass)
        outcome.shortfall = shortfall
        return outcome
    }

    /// Reads the window, and records every page as it comes.
    private func sweep(
        _ window: NotificationWindow, through readThrough: Timestamp
    ) async throws -> Outcome {
        guard let appStore = context.appStores[app] else {
            throw Inquirer.notConnected(app)
        }
        let (reading, unknowns) = await context.stop.interruptible { [self] in
            var reading = NotificationReading(
                appStore: appStore, context: context, window: window)
            var unknowns: Set<UnknownValue> = []
            await reading.run { page throws in
                try await record(page, through: readThrough)
                unknowns.formUnion(page.unknowns)
            }
            return (reading, unknowns)
        }
        if !unknowns.isEmpty { try await report(unknowns: unknowns) }
        if let signal = context.stop.signal { throw RunInterruption(end: .signal(signal)) }
        if let end = reading.end { throw RunInterruption(end: end) }
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
            + "(\(app.environment.rawValue)) could not be judged, because it could not be learned "
            + "whether their certificates are revoked. Its watermark stays; the next run reads it "
            + "again."
    }

    private func record(
        _ page: NotificationPage, through readThrough: Timestamp
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
        }.filter { context.job.policy.onlyKinds?.contains($0.kind) ?? true }
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
            intoInbox: context.header.worksOffAgenda)
        let questions = NotifiedSubscriptions(context: context, app: app)
        (recorded.settled, recorded.owed) = try await questions.sort(fresh)
        try await context.store.record(
            recorded, of: app, in: context.pass, run: context.header)
        let unbelievable = page.rejected.filter { !$0.isUndetermined }
        guard !unbelievable.isEmpty else { return }
        try await context.stage(StagedBatch(outcomes: unbelievable.map(finding(about:))))
    }

    /// Fields of the answer itself that this version does not know: findings about no subscription.
    private func report(unknowns: Set<UnknownValue>) async throws {
        guard context.job.policy.onlyKinds?.contains(.unknownValue) ?? true else { return }
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
