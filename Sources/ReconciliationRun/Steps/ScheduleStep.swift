import Logging
import Reconciliation
import SubscriptionStore
import Subscriptions

/// Finds out, among all rows, about whom Apple must be asked tonight.
struct ScheduleStep {
    let context: RunContext
    let settings: DeltaSettings

    /// Finds out which rows were due, where a run ended before it came to that: its report counts
    /// them as not judged, and a retry asks about them.
    ///
    /// Where they cannot be read any more, the report tells of those alone that were owed before.
    static func countWhatIsLeft(in context: RunContext, after end: RunEnd) async {
        switch end {
        case .completed, .store: return
        case .deadline, .signal, .stop, .unavailable, .unreadable: break
        }
        let job = context.job
        guard job.obstacle == nil, job.planSource == .judgement, job.steps.contains(.walk),
            !job.narrowing.leavesOutRows, case .delta(let settings) = job.coverage
        else { return }
        _ = try? await ScheduleStep(context: context, settings: settings).run()
    }

    func run() async throws -> ScheduleCounts {
        let now = context.clock.now()
        var request = ScheduleRequest(
            now: now, sweepMilliseconds: settings.sweepMilliseconds,
            sweepEndedMilliseconds: settings.sweepEndedMilliseconds, sample: settings.sample,
            seed: Self.seed(of: context.header.runID), apps: context.job.narrowing.apps)
        request.readsHistories = context.job.policy.history != .never
        context.logger.info("schedule.begin", metadata: ["run_id": "\(context.header.runID)"])
        let apps = Set(context.job.policy.apps)
        let asked = request
        let counts = try await context.store.schedule(
            asked, in: context.pass, run: context.header,
            level: { sweepLevel(rowsByDaysLeft: $0) },
            due: { dueReason(of: $0, sweeping: $1, asked, apps: apps) })
        var metadata: Logger.Metadata = [
            "run_id": "\(context.header.runID)", "rows": "\(counts.rows)",
            "quiet": "\(counts.quiet)",
        ]
        for (reason, rows) in counts.due { metadata[reason.rawValue] = "\(rows)" }
        context.logger.info("schedule", metadata: metadata)
        return counts
    }

    /// Every run draws another sample, which its id makes repeatable.
    private static func seed(of runID: String) -> UInt64 {
        var digest = ValuesDigest()
        digest.add(runID)
        return digest.bits
    }
}
