import PostgresDatabase
import ReconciliationRun
import Reports
import SubscriptionStore
import Subscriptions

/// Notes a run where all workers on a company's database see it.
///
/// That note is no proof and fails no run that has begun: its report is.
struct WorkerRuns: Sendable {
    private let runs: SharedRuns
    private let books: String

    /// - Parameters:
    ///   - run: One that only looks makes nothing in a company's database, and notes itself only
    ///     where the table is there.
    ///   - session: With that database; `nil` where workers do not share it.
    /// - Returns: `nil` where nobody shares anything.
    /// - Throws: `StoreError` where the table cannot be made or the server not reached.
    static func open(
        for run: PreparedRun, over session: SharedSession?
    ) throws(StoreError) -> WorkerRuns? {
        guard let runs = session.map(SharedRuns.init) else { return nil }
        if run.job.mode == .apply {
            try runs.prepare()
        } else if try !runs.mayBeUsed() {
            return nil
        }
        return WorkerRuns(
            runs: runs,
            books: try CompanyConnection.identity(ofBooksAt: run.settings.databasePath))
    }

    /// Only PostgreSQL is shared by workers.
    static func session(with company: CompanySettings) throws(StoreError) -> SharedSession? {
        guard company.table != nil, case .postgresql(let address) = company.source else {
            return nil
        }
        return SharedSession(try .libpq(address))
    }

    /// Notes that a run has begun; without an end it counts as running, or killed.
    func begins(_ header: RunHeader) throws(StoreError) {
        try runs.keep(
            WorkerRun(
                books: books, worker: header.worker, apps: header.apps.map(\.name),
                listing: RunListing(
                    runID: header.runID, job: header.job, mode: header.mode,
                    started: header.started, ended: nil, exitStatus: nil, totals: RunTotals())))
    }

    /// Notes what it came to, and forgets its worker's runs that are past the retention.
    func ended(_ report: FinishedReport, forgettingBefore time: Timestamp) throws(StoreError) {
        let summary = report.summary
        let header = summary.header
        try runs.keep(
            WorkerRun(
                books: books, worker: header.worker, apps: header.apps.map(\.name),
                listing: RunListing(
                    runID: header.runID, job: header.job, mode: header.mode,
                    started: header.started, ended: summary.conclusion.ended,
                    exitStatus: summary.conclusion.exitStatus, totals: summary.totals),
                headline: summary.headline, report: FileSystemFacts.realPath(report.path),
                figures: summary.sums))
        try runs.forget(of: books, before: time)
    }
}

extension RunHeader {
    /// `user@host` of `actor`, without what it says in brackets about the run.
    var worker: String {
        actor.firstRange(of: " (").map { String(actor[..<$0.lowerBound]) } ?? actor
    }
}

/// What the other workers on a company's database have done, for commands that only read.
struct OtherWorkers: Sendable {
    /// Newest or oldest first, as asked; empty where nobody shares the database.
    var runs: [WorkerRun] = []
    /// Why they are not known, as a sentence.
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
        _ body: @escaping @Sendable (SharedRuns) throws(StoreError) -> [WorkerRun]
    ) async -> OtherWorkers {
        let company = settings.company
        do {
            let runs = try await offTheCooperativeThreads { () -> [WorkerRun] in
                guard let session = try WorkerRuns.session(with: company) else { return [] }
                return try body(SharedRuns(session))
            }
            return OtherWorkers(runs: runs.filter { $0.books != books })
        } catch {
            return OtherWorkers(
                gap: "The runs of other workers could not be read: \(ErrorReport(error).message)")
        }
    }
}
