import Logging
import Reconciliation
import SubscriptionStore
package import Subscriptions
import Synchronization

/// The values that every step of one run works with.
struct RunContext: Sendable {
    var job: ReconciliationJob
    let header: RunHeader
    let pass: OpenPass
    let appStores: [AppIdentity: any AppStore]
    let store: SQLiteStore
    let clock: RunClock
    let stop: StopRequest
    let tally: AnswerTally
    let refusals: AppRefusals
    let logger: Logger
    let progress: @Sendable (RunProgress) -> Void
    let reviewPlan: PlanReview?

    var rows: RowReader { RowReader(store: store) }

    /// The policy as of now: a run of hours must not check by the hour of its start.
    var policyOfNow: Policy {
        var policy = job.policy
        policy.now = clock.now()
        return policy
    }

    /// Whether a row may be settled by the statement in a notification: not where every row is to
    /// be checked.
    var settlesByNotification: Bool {
        if case .delta = job.coverage { true } else { !job.steps.contains(.walk) }
    }

    /// The reason to stop asking before the next page; `nil` while it may continue.
    var reasonToEnd: RunEnd? { reasonToStop ?? (clock.isPastDeadline ? .deadline : nil) }

    /// The reason to stop asking, apart from the deadline, which only counts where questions are
    /// left.
    var reasonToStop: RunEnd? {
        if let signal = stop.signal { return .signal(signal) }
        return tally.verdict ?? outage
    }

    /// Set when no app can be asked any more; as long as one can, a run makes progress.
    var outage: RunEnd? {
        let asked = appStores.values.filter { !refusals.isRefused($0.app) }
        let outages = asked.compactMap { $0.outage() }
        guard let why = outages.first, outages.count == asked.count else { return nil }
        return .unavailable(why)
    }

    /// This context, with the bundles of the table for which no app is configured.
    func withUnconfiguredApps() async throws -> RunContext {
        let table = try await store.rowsByApp()
        var context = self
        context.job.policy.unconfiguredBundles = unconfiguredBundles(
            among: table, apps: job.policy.apps)
        return context
    }

    /// Stores what was checked; a failure ends the run.
    func stage(_ batch: StagedBatch) async throws {
        try await store.stage(batch, in: pass, run: header)
    }

    func log(
        _ event: Logger.Message, _ metadata: Logger.Metadata = [:], at level: Logger.Level = .info
    ) {
        var metadata = metadata
        metadata["run_id"] = "\(header.runID)"
        logger.log(level: level, event, metadata: metadata)
    }
}

/// A step that must end the asking throws the end of the run, the store's `StoreError`, or Apple's
/// `RunStop`.
extension RunEnd: Error {
    /// The end of the run that follows from what a step threw.
    init(thrown error: any Error) {
        switch error {
        case let end as RunEnd: self = end
        case let error as StoreError: self = .store(error)
        case let stop as RunStop: self.init(stop)
        default:
            self = .store(
                .inconsistent(
                    "A step of the run ended with an error that no step may end with: \(error). "
                        + "That step wrote nothing. This is a fault of trueup, please report it."
                ))
        }
    }
}

/// How far a run is, for people who watch it.
package struct RunProgress: Hashable, Sendable {
    package enum Stage: String, Hashable, Sendable {
        /// Of books on a server, where this machine has no copy of them.
        case books
        /// Of the company's own table, before everything else.
        case read
        /// Of an import: reading its file, then comparing its lines with the table.
        case file, load
        /// Customers whose rows other programs changed, or all after a change of the catalogue.
        case entitlements
        case recover, walk, again
        /// Customers whose one-time purchases are read.
        case purchases
        case plan, apply, causes
        /// The bookkeeping of the run's end.
        case conclude
        case report
        /// Lines of reports, by `verify`.
        case verify
    }

    package var stage: Stage
    /// Rows, notifications or corrections done in this stage by this run.
    package var done: Int
    /// How many there are; `nil` where that is not known.
    package var total: Int?

    package init(stage: Stage, done: Int, total: Int? = nil) {
        self.stage = stage
        self.done = done
        self.total = total
    }
}

/// The two clocks of a run: what time it is, and when it must end.
package struct RunClock: Sendable {
    /// The wall clock, or the rehearsal's.
    package let now: @Sendable () -> Timestamp
    /// By the monotonic clock, so that a wall clock that is set does not move it.
    package let deadline: ContinuousClock.Instant

    package init(now: @escaping @Sendable () -> Timestamp, deadline: ContinuousClock.Instant) {
        self.now = now
        self.deadline = deadline
    }

    var isPastDeadline: Bool { ContinuousClock.now >= deadline }
}

/// A request from outside to stop: which signal came, and whom to tell.
package final class StopRequest: Sendable {
    private struct State {
        var signal: Int32?
        var handler: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    package init() {}

    /// The signal that asked to stop, if one did.
    package var signal: Int32? { state.withLock { $0.signal } }

    /// With what a command ends that a signal stopped.
    package var exitStatus: ExitStatus {
        switch signal {
        case 1: .hungUp
        case 2: .interrupted
        default: .terminated
        }
    }

    /// Records a signal and wakes the waiting task; the first signal counts.
    package func request(signal: Int32) {
        let handler = state.withLock { state in
            state.signal = state.signal ?? signal
            return state.handler
        }
        handler?()
    }

    /// Runs what ends early, by cancellation, when a stop is requested.
    package func interruptible<Value: Sendable>(
        _ body: @escaping @Sendable () async -> Value
    ) async -> Value {
        let task = Task { await body() }
        let alreadyAsked = state.withLock { state in
            state.handler = { task.cancel() }
            return state.signal != nil
        }
        if alreadyAsked { task.cancel() }
        let value = await task.value
        state.withLock { $0.handler = nil }
        return value
    }
}
