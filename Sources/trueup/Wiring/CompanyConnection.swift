import Logging
import MySQLDatabase
import PostgresDatabase
import ProgramDatabase
import Reconciliation
import ReconciliationRun
import ReportAudit
import ServerConnections
import SubscriptionStore
import Subscriptions

/// Opens the company's own table, where the settings name one.
extension CompanySettings {
    /// - Parameters:
    ///   - path: The books, which must be there: entries in another database carry their identity.
    ///   - writes: Whether rows will be written, which a store program is told when it is started.
    /// - Returns: `nil` where the rows are in our own table.
    /// - Throws: `StoreError` where this build has no such database.
    func link(
        booksAt path: String, writes: Bool = false
    ) throws(StoreError) -> CompanyLink? {
        guard let table else { return nil }
        if case .program(let command) = table.source {
            let program = try ProgramCompany(command, writes: writes)
            return CompanyLink(program, mapping: program.mapping)
        }
        return CompanyLink(
            try table.source.database(table.mapping, booksAt: path), mapping: table.mapping,
            brake: brake)
    }

    /// The company's database, where services read entitlements in a table there; `nil` where they
    /// read trueup's own.
    func databaseOfEntitlements() throws(StoreError) -> (any CompanyDatabase)? {
        guard let (source, mapping) = table, mapping.entitlements != nil else { return nil }
        let database = try source.database(mapping)
        try database.check(mayWrite: false)
        return database
    }
}

extension CompanySource {
    /// The adapter for the kind of database that `store.url` names; without books it only reads.
    func database(
        _ mapping: TableMapping, booksAt path: String? = nil
    ) throws(StoreError) -> any CompanyDatabase {
        let identity = { () throws(StoreError) -> String in
            guard let path else { return "" }
            return try SQLiteStore.identity(ofDatabaseAt: path)
        }
        return switch self {
        case .sqlite(let file):
            try SQLiteCompanyDatabase(
                path: file, mapping: mapping,
                books: try path.map { path throws(StoreError) in
                    LedgerOwner(identity: try identity(), path: path)
                })
        case .postgresql(let address):
            PostgresCompany(try .libpq(address), mapping: mapping, books: try identity())
        case .mysql(let address):
            MySQLCompany(try .libmariadb(address), mapping: mapping, books: try identity())
        case .program(let command): try ProgramCompany(command)
        }
    }

    /// The tables of such a database, before there is a mapping.
    func schema() throws(StoreError) -> any CompanySchema {
        switch self {
        case .sqlite(let path): try SQLiteCompanySchema(path: path)
        case .postgresql(let address):
            SharedSession(try .libpq(address), pauses: Reconnection.pausesOfRun)
        case .mysql(let address):
            SharedSession(try .libmariadb(address), pauses: Reconnection.pausesOfRun)
        case .program(let command): try ProgramCompany(command)
        }
    }
}

extension SQLiteStore {
    static func identity(ofDatabaseAt path: String) throws(StoreError) -> String {
        try open(at: path, access: .readOnly).databaseIdentity()
    }
}

extension Policy {
    /// Judges by what the company's own table keeps.
    mutating func keep(as mapping: TableMapping?) {
        if let mapping { kept = KeptColumns(mapping) }
    }
}

extension CompanySettings {
    /// How old the copy in the books is; `nil` where the rows are in our own table.
    ///
    /// - Parameter store: The books.
    /// - Returns: Without a time before the first reading.
    /// - Throws: `StoreError` when the books cannot be read.
    func copy(in store: SQLiteStore) throws(StoreError) -> CopyState? {
        try store.copyState()
            ?? mapping.map {
                CopyState(table: $0.table.description, refreshedAt: nil, rows: nil)
            }
    }

    /// Returns the remarks of a run on imported rows: what is not checked, and what was met when
    /// they were read.
    ///
    /// - Parameters:
    ///   - read: What was met in each table.
    ///   - mapping: How the tables were read.
    /// - Returns: Sentences for a person.
    static func remarks(after read: [CopyRefresh], by mapping: TableMapping?) -> [String] {
        read.flatMap { refresh -> [String] in
            guard let mapping = mapping?.mapping(of: refresh.table) else { return [] }
            let left = mapping.notKept.map(\.name)
            let notJudged =
                left.isEmpty
                ? []
                : [
                    "Not checked, because \(mapping.table) does not store it: "
                        + left.joined(separator: ", ") + "."
                ]
            return notJudged + refresh.remarks
        }
    }
}

extension ServerCompany: CompanySchema, CompanyDatabase {}

extension SharedSession: CompanySchema {}

extension ProgramCompany: CompanyDatabase {
    /// The program may leave a row of a unit out, and every later entry is chained to the one before.
    package var correctionsPerTransaction: Int? { 1 }
}

/// The beginning of a run whose rows are in a table of the company's own.
struct CompanyStart {
    /// `nil` where the rows are in our own table, or theirs could not be opened.
    private(set) var link: CompanyLink?
    /// `nil` where there is nothing to share.
    private(set) var workers: WorkerLeases?
    /// The calls that all workers on the company's database share, `nil` where no other process shares
    /// the quota through one; and the remark of the report where that is so although there is one.
    private(set) var calls: (shared: SharedCalls?, remark: String?) = (nil, nil)
    /// Where all workers see the run; `nil` where no other process would look.
    private(set) var register: WorkerRuns?
    /// The reason why the run cannot begin: it is reported as one that ends with this.
    private(set) var obstacle: StoreError?

    /// - Parameters:
    ///   - run: Whose books are there.
    ///   - holder: Who works, for a caller that is refused.
    /// - Throws: `StoreError.busy` where another worker is at one of the apps: as with the lock, that
    ///   is its run then.
    init(for run: PreparedRun, holder: String) throws(StoreError) {
        let session: SharedDatabase?
        do throws(StoreError) {
            session = try SharedDatabase(of: run.settings.company)
            link = try run.settings.company.link(
                booksAt: run.settings.databasePath, writes: run.job.mode == .apply)
            workers = try WorkerLeases.take(for: run, over: link, session, holder: holder)
        } catch {
            if link != nil, case .busy = error { throw error }
            obstacle = error
            return
        }
        do throws(StoreError) {
            calls = try Self.calls(for: run)
            register = try WorkerRuns.open(for: run, over: session)
        } catch {
            obstacle = error
        }
    }

    /// - Throws: `StoreError` where the table cannot be made or the server not reached.
    private static func calls(
        for run: PreparedRun
    ) throws(StoreError) -> (shared: SharedCalls?, remark: String?) {
        guard !run.askedApps.isEmpty,
            let (calls, lacking) = try SharedDatabase.calls(of: run.settings.company)
        else { return (nil, nil) }
        if run.job.mode == .apply {
            try calls.prepare()
        } else if try !calls.mayBeUsed() {
            // A run that only looks makes nothing in a company's database.
            return (
                nil,
                "The calls of this check are counted in its own database alone: \(lacking) that it may "
                    + "write. The first job that writes makes them."
            )
        }
        return (calls, nil)
    }
}

extension CompanyStart {
    /// The program behind `store.url`; `nil` where that names a database.
    private var program: ProgramCompany? { link?.database as? ProgramCompany }

    /// Logs what the program writes to standard error.
    func logMessages(to logger: Logger, ofRun runID: String) {
        program?.hear { line in
            logger.info(
                "store.program", metadata: ["output": "\(line)", "run_id": "\(runID)"])
        }
    }

    /// Pauses the run while the database is over a limit, and says so.
    ///
    /// - Parameters:
    ///   - run: The run.
    ///   - stop: What a signal asks for.
    ///   - terminal: Shows that the run pauses.
    ///   - logger: The run's log.
    func obeyLimits(
        of run: PreparedRun, until stop: StopRequest, telling terminal: ProgressLine,
        logger: Logger
    ) {
        let clock = run.clock
        let runID = run.header.runID
        link?.brake?.obey(
            whileAllowed: { stop.signal == nil && ContinuousClock.now < clock.deadline },
            tell: { excess in
                guard let excess else {
                    logger.notice("database.pause.ended", metadata: ["run_id": "\(runID)"])
                    return terminal.databaseIsReleased()
                }
                logger.warning(
                    "database.pause.begun",
                    metadata: ["reason": "\(excess)", "run_id": "\(runID)"])
                let now = clock.now()
                let left = ContinuousClock.now.duration(to: clock.deadline) / .milliseconds(1)
                terminal.holdForDatabase(
                    RunStanding.Wait(
                        reason: "your database, because \(excess)",
                        until: now.adding(milliseconds: Int64(max(0, min(1e15, left)))), since: now)
                )
            })
    }

    /// Lets the program end; nothing happens to a database.
    func end() { program?.end() }
}

/// The result of reading the company's own table at the beginning of a run.
struct CompanyReading {
    /// One for each table; none where it could not be read.
    var refresh: [CopyRefresh] = []
    /// The error of the database where it could not be read.
    var fault: StoreError?
    /// The reason why the run ends without having checked anything.
    var obstacle: RunEnd?
    /// The corrections that were found and trueup's database did not have.
    var notice: String?
}

extension RunSession {
    /// Makes the copy in the books as the company's table is now.
    ///
    /// A copy that is not whole is never checked by: rows that were not reached would look missing.
    ///
    /// - Parameters:
    ///   - start: How the run began.
    ///   - refusal: The reason why it may not go on: then nothing is read.
    ///   - store: The books.
    ///   - now: When.
    ///   - stop: What a signal asks for.
    ///   - terminal: Shows how far it is.
    /// - Returns: What was read, or why nothing was: the run is begun and reported all the same.
    /// - Throws: What the books themselves have against it.
    func readCompanyTable(
        _ start: CompanyStart, unless refusal: RunEnd?, into store: SQLiteStore, at now: Timestamp,
        until stop: StopRequest, telling terminal: ProgressLine
    ) async throws -> CompanyReading {
        if let refusal { return CompanyReading(obstacle: refusal) }
        var reading = await copy(start, into: store, at: now, until: stop, telling: terminal)
        guard run.settings.company.table != nil else { return reading }
        // Also where the reading failed later: what was adopted must not be reported twice.
        reading.notice = try await BooksBehind(settings: run.settings)
            .catchUp(store, at: run.header.started)
        return reading
    }

    private func copy(
        _ start: CompanyStart, into store: SQLiteStore, at now: Timestamp,
        until stop: StopRequest, telling terminal: ProgressLine
    ) async -> CompanyReading {
        if let fault = start.obstacle {
            return CompanyReading(fault: fault, obstacle: .store(fault))
        }
        let deadline = run.clock.deadline
        defer { terminal.clear() }
        let lines = ReportedLedger.lines(in: run.settings.reportDirectory)
        do throws(StoreError) {
            let refresh = try await store.refreshCopy(
                for: run.job.mode, at: now, of: run.job.filters.apps,
                filling: lines,
                whileAllowed: { rows, expected in
                    terminal.show(
                        RunProgress(
                            stage: .read, done: Int(clamping: rows),
                            total: expected.flatMap { $0 < rows ? nil : Int(clamping: $0) }))
                    return stop.signal == nil && ContinuousClock.now < deadline
                })
            let isWhole = refresh.allSatisfy(\.isWhole)
            return CompanyReading(
                refresh: refresh,
                obstacle: isWhole ? nil : stop.signal.map(RunEnd.signal) ?? .deadline)
        } catch {
            return CompanyReading(fault: error, obstacle: .store(error))
        }
    }
}
