import AppStoreServerAPI
import MySQLDatabase
import PostgresDatabase
import ReconciliationRun
import Reports
import ServerConnections
import SubscriptionStore
import Subscriptions

/// A session with a company's database that several workers share.
struct SharedDatabase {
    let runs: any RunTable
    let leases: (_ holder: LeaseHolder) -> any LeaseTable

    /// Opens nothing where workers share nothing.
    ///
    /// - Parameter company: What the settings say of it.
    /// - Throws: `StoreError` where this build has no such database.
    init?(of company: CompanySettings) throws(StoreError) {
        switch company.table?.source {
        case .postgresql(let address):
            let session: SharedSession<SessionKeeper> = SharedSession(try .libpq(address))
            runs = SharedRuns(session)
            leases = { AppLeases(session, $0) }
        case .mysql(let address):
            let session: SharedSession<MySQLLink> = SharedSession(try .libmariadb(address))
            runs = MySQLRuns(session)
            leases = { MySQLLeases(session, $0) }
        case .sqlite, .program, nil: return nil
        }
    }

    /// The calls to Apple, in a session of their own.
    ///
    /// - Parameter company: What the settings say of the database.
    /// - Returns: The calls and the tables that they need, for messages; `nil` where workers share
    ///   nothing.
    /// - Throws: `StoreError` where this build has no such database.
    static func calls(
        of company: CompanySettings
    ) throws(StoreError) -> (calls: SharedCalls, tables: String)? {
        switch company.table?.source {
        case .postgresql(let address):
            return (
                SharedCalls(try .libpq(address)),
                "\(address) has no tables trueup.calls and trueup.refusals"
            )
        case .mysql(let address):
            return (
                SharedCalls(try .libmariadb(address)),
                "\(address) has no tables trueup_calls and trueup_refusals"
            )
        case .sqlite, .program, nil: return nil
        }
    }
}

/// The leases of a run that writes to a database which several workers share, with its heartbeat.
struct WorkerLeases: Sendable {
    private let leases: any LeaseTable
    private let fences: [LeaseFence]

    /// Takes one lease for each app of the run; every transaction that writes then checks them.
    ///
    /// - Parameters:
    ///   - run: A run that only looks takes none.
    ///   - link: The company's database.
    ///   - session: With that database; `nil` where workers do not share it.
    ///   - holder: Who works, for a caller that is refused.
    /// - Returns: `nil` where there is nothing to share.
    /// - Throws: `StoreError.busy` where another worker is at one of the apps.
    static func take(
        for run: PreparedRun, over link: CompanyLink?, _ session: SharedDatabase?, holder: String
    ) throws(StoreError) -> WorkerLeases? {
        guard run.job.mode == .apply, let company = link?.database as? any LeasedCompany,
            let session
        else { return nil }
        let leases = session.leases(
            LeaseHolder(
                books: try SQLiteStore.identity(ofDatabaseAt: run.settings.databasePath),
                name: holder,
                place: RunningUser.host + ":"
                    + FileSystemFacts.realPath(run.settings.databasePath)))
        let fences = try leases.take(run.apps, job: run.header.job)
        company.hold(fences)
        return WorkerLeases(leases: leases, fences: fences)
    }

    /// Says every third of a lease's life that this worker is there, until the task is cancelled.
    ///
    /// What cannot be said is tried again; a lease that was lost meanwhile keeps the run from writing,
    /// whoever notices it first.
    func renewUntilCancelled() async {
        await LeaseFence.renewUntilCancelled { _ = try leases.renew(fences) }
    }

    /// Gives the leases back; where that fails they end by themselves.
    func end() { try? leases.giveBack(fences) }
}

extension LeaseFence {
    /// Renews every third of a lease's life, until the task is cancelled; what fails is tried again.
    static func renewUntilCancelled(_ renew: @escaping @Sendable () throws -> Void) async {
        let pause = Duration.milliseconds(lifetimeMilliseconds / 3)
        while (try? await Task.sleep(for: pause)) != nil {
            try? await onBackgroundThread(renew)
        }
    }
}

/// The books of an app's quota where several workers share a database: their calls count together.
///
/// Calls are booked there first, and in the worker's own books as well, which know the calls of
/// commands that may not write there.
struct WorkerQuota: QuotaBook {
    let own: SharedQuota
    let shared: SharedCalls
    /// Where the busiest hour of all workers is noted.
    let peaks: QuotaPeaks

    func book(
        _ wanted: Int, of endpoint: Endpoint, givingBack unused: QuotaGrant?
    ) async throws(QuotaBookFailure) -> QuotaGrant {
        let all = try await bookShared(wanted, of: endpoint, givingBack: unused)
        guard all.calls > 0 else {
            if let unused { await own.giveBack(unused, of: endpoint) }
            return all
        }
        let grant: QuotaGrant
        do throws(QuotaBookFailure) {
            grant = try await own.book(all.calls, of: endpoint, givingBack: unused)
        } catch {
            await giveBackShared(all, of: endpoint)
            throw error
        }
        var granted = all
        granted.calls = min(all.calls, grant.calls)
        if granted.calls < all.calls {
            var rest = all
            rest.calls = all.calls - granted.calls
            await giveBackShared(rest, of: endpoint)
        }
        guard granted.calls > 0 else { return grant }
        peaks.note(granted, of: endpoint, about: own.app)
        return granted
    }

    func giveBack(_ unused: QuotaGrant, of endpoint: Endpoint) async {
        await giveBackShared(unused, of: endpoint)
        await own.giveBack(unused, of: endpoint)
    }

    /// A 429 holds for all workers at once, and in this worker's books for its next command.
    func keep(_ refusal: QuotaRefusal, of endpoint: Endpoint) async {
        try? await onBackgroundThread {
            try shared.keep(refusal, of: own.account(endpoint), at: own.now())
        }
        await own.keep(refusal, of: endpoint)
    }

    private func bookShared(
        _ wanted: Int, of endpoint: Endpoint, givingBack unused: QuotaGrant?
    ) async throws(QuotaBookFailure) -> QuotaGrant {
        let limit = own.rates.perHour(of: endpoint)
        do {
            return try await onBackgroundThread {
                try shared.book(
                    wanted, of: own.account(endpoint), limit: limit, givingBack: unused,
                    at: own.now())
            }
        } catch {
            guard let error = error as? StoreError else { throw QuotaBookFailure("\(error)") }
            throw QuotaBookFailure(endingWith: error)
        }
    }

    private func giveBackShared(_ unused: QuotaGrant, of endpoint: Endpoint) async {
        try? await onBackgroundThread {
            try shared.giveBack(unused, of: own.account(endpoint))
        }
    }
}

/// Notes a run where all workers on a company's database see it.
///
/// That note is not proof and fails no run that has begun: its report is.
struct WorkerRuns: Sendable {
    private let runs: any RunTable
    private let books: String

    /// - Parameters:
    ///   - run: One that only looks makes nothing in a company's database, and notes itself only
    ///     where the table is there.
    ///   - session: With that database; `nil` where workers do not share it.
    /// - Returns: `nil` where the workers share nothing.
    /// - Throws: `StoreError` where the table cannot be made or the server not reached.
    static func open(
        for run: PreparedRun, over session: SharedDatabase?
    ) throws(StoreError) -> WorkerRuns? {
        guard let runs = session?.runs else { return nil }
        if run.job.mode == .apply {
            try runs.prepare()
        } else if try !runs.mayBeUsed() {
            return nil
        }
        return WorkerRuns(
            runs: runs,
            books: try SQLiteStore.identity(ofDatabaseAt: run.settings.databasePath))
    }

    /// Notes that a run has begun; without an end it counts as running, or killed.
    func begins(_ header: RunHeader) throws(StoreError) {
        try runs.keep(note(of: header))
    }

    /// Notes what it came to, and forgets its worker's runs that are past the retention.
    func ended(_ report: FinishedReport, forgettingBefore time: Timestamp) throws(StoreError) {
        let summary = report.summary
        var note = note(of: summary.header)
        note.listing.ended = summary.conclusion.ended
        note.listing.exitStatus = summary.conclusion.exitStatus
        note.listing.totals = summary.totals
        note.headline = summary.headline
        note.report = FileSystemFacts.realPath(report.path)
        note.figures = summary.sums
        try runs.keep(note)
        try runs.forget(of: books, before: time)
    }

    private func note(of header: RunHeader) -> WorkerRun {
        WorkerRun(
            books: books, worker: header.worker, apps: header.apps.map(\.name),
            listing: RunListing(
                runID: header.runID, job: header.job, mode: header.mode, started: header.started,
                ended: nil, exitStatus: nil, totals: RunTotals()))
    }
}

extension RunHeader {
    /// `user@host` of `actor`, without what it says in brackets about the run.
    var worker: String {
        actor.firstRange(of: " (").map { String(actor[..<$0.lowerBound]) } ?? actor
    }
}

/// The runs of the other workers on a company's database, for commands that only read.
struct OtherWorkers: Sendable {
    /// Newest or oldest first, as asked; empty where no other worker shares the database.
    var runs: [WorkerRun] = []
    /// The reason why they are not known, as a sentence.
    var gap: String?

    /// The last runs of all other workers, newest first.
    static func lastRuns(
        of settings: Settings, besides books: String, limit: Int
    ) async -> OtherWorkers {
        await read(settings, besides: books) { runs throws(StoreError) in
            try runs.lastRuns(limit: limit)
        }
    }

    /// The runs of other workers that began in a span of time, oldest first.
    static func runs(
        of settings: Settings, besides books: String, from first: Timestamp, before end: Timestamp
    ) async -> OtherWorkers {
        await read(settings, besides: books) { runs throws(StoreError) in
            try runs.runs(from: first, before: end)
        }
    }

    private static func read(
        _ settings: Settings, besides books: String,
        _ body: @escaping @Sendable (any RunTable) throws(StoreError) -> [WorkerRun]
    ) async -> OtherWorkers {
        let company = settings.company
        do {
            let runs = try await onBackgroundThread { () -> [WorkerRun] in
                guard let session = try SharedDatabase(of: company) else { return [] }
                return try body(session.runs)
            }
            return OtherWorkers(runs: runs.filter { $0.books != books })
        } catch {
            return OtherWorkers(
                gap: "The runs of other workers could not be read: \(ErrorReport(error).message)")
        }
    }
}
