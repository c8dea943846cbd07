import Logging
import Reconciliation
import Subscriptions

/// What every step of one run works with.
struct RunContext: Sendable {
    var job: ReconciliationJob
    let header: RunHeader
    let pass: OpenPass
    let appStores: [AppIdentity: any AppStore]
    let ports: RunPorts
    let clock: RunClock
    let stop: StopRequest
    let tally: AnswerTally
    let refusals: AppRefusals
    let logger: Logger
    let progress: @Sendable (RunProgress) -> Void

    var inquirer: Inquirer {
        Inquirer(
            stores: appStores, rows: rows, policy: job.policy, clock: clock, tally: tally,
            refusals: refusals)
    }

    var rows: RowReader { RowReader(table: ports.table, book: ports.notes) }

    /// Whether a row may be settled by the statement in a notification: not where every row is to be
    /// asked about.
    var settlesByNotification: Bool {
        if case .delta = job.coverage { true } else { !job.steps.contains(.walk) }
    }

    /// Why asking must end before the next page; `nil` while it may go on.
    var reasonToEnd: RunEnd? { reasonToStop ?? (clock.isPastDeadline ? .deadline : nil) }

    /// The same without the deadline, which only ends an asking of which something is left.
    var reasonToStop: RunEnd? {
        if let signal = stop.signal { return .signal(signal) }
        return tally.verdict ?? outage
    }

    /// Set when no app can be asked any more; as long as one can, a night makes progress.
    var outage: RunEnd? {
        let asked = appStores.values.filter { !refusals.isRefused($0.app) }
        let outages = asked.compactMap { $0.outage() }
        guard let why = outages.first, outages.count == asked.count else { return nil }
        return .unavailable(why)
    }

    /// The same, knowing which bundles of the table no app is configured for.
    func knowingStrayBundles() async throws(RunInterruption) -> RunContext {
        let table = try await storing { () async throws(StoreError) in
            try await ports.table.rowsByApp()
        }
        var context = self
        context.job.policy.strayBundles = strayBundles(among: table, apps: job.policy.apps)
        return context
    }

    /// Stores what was judged; a failure ends the run.
    func stage(_ batch: StagedBatch) async throws(RunInterruption) {
        try await storing { () async throws(StoreError) in
            try await ports.pass.stage(batch, in: pass, run: header)
        }
    }

    func storing<Value>(
        _ work: () async throws(StoreError) -> Value
    ) async throws(RunInterruption) -> Value {
        do throws(StoreError) {
            return try await work()
        } catch {
            throw RunInterruption(end: .store(error))
        }
    }
}

/// Thrown by a step that must end the asking.
struct RunInterruption: Error {
    let end: RunEnd
}

/// How far a run is, for people who watch it.
package struct RunProgress: Hashable, Sendable {
    package enum Stage: String, Hashable, Sendable {
        /// Of books on a server, where this machine has no copy of them.
        case books
        /// Of the company's own table, before everything else.
        case read
        case recover, walk, again, plan, apply, causes
        /// The bookkeeping of the run's end.
        case conclude
        case report
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

/// Everything that a run stores and reads, each part behind the port of who asks for it.
package struct RunPorts: Sendable {
    package let table: any CompanyTable
    package let notes: any RowNotesBook
    package let runs: any RunBook
    package let pass: any PassBook
    package let agenda: any AgendaBook
    package let recovery: any RecoveryBook
    package let plans: any StoredPlans
    package let ledger: any PlanLedger
    package let canary: any CanaryBook
    package let causes: any CauseBook

    /// The rows and all books in one place.
    package init(
        _ store: some CompanyTable & RowNotesBook & RunBook & PassBook & AgendaBook & RecoveryBook
            & StoredPlans
            & PlanLedger & CanaryBook & CauseBook
    ) {
        table = store
        notes = store
        runs = store
        pass = store
        agenda = store
        recovery = store
        plans = store
        ledger = store
        canary = store
        causes = store
    }
}
