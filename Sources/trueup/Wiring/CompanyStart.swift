import PostgresDatabase
import ReconciliationRun
import SubscriptionStore
import Subscriptions

/// What a run begins with where the rows stand in a table of the company's own.
struct CompanyStart {
    /// `nil` where the rows stand in our own table, or theirs could not be opened.
    private(set) var link: CompanyLink?
    /// `nil` where there is nothing to share.
    private(set) var workers: WorkerLeases?
    private(set) var calls = WorkerCalls()
    /// Where all workers see the run; `nil` where nobody else would look.
    private(set) var register: WorkerRuns?
    /// Why the run cannot begin: it is reported as one that ends with this.
    private(set) var obstacle: StoreError?

    /// - Parameters:
    ///   - run: Whose books are there.
    ///   - holder: Who works, for whoever is refused.
    /// - Throws: `StoreError.busy` where another worker is at one of the apps: as with the lock, that
    ///   is its run then.
    init(for run: PreparedRun, holder: String) throws(StoreError) {
        let session: SharedSession?
        do throws(StoreError) {
            session = try WorkerRuns.session(with: run.settings.company)
            link = try CompanyConnection.link(
                run.settings.company, booksAt: run.settings.databasePath)
            workers = try WorkerLeases.take(for: run, over: link, session, holder: holder)
        } catch {
            if link != nil, case .busy = error { throw error }
            obstacle = error
            return
        }
        do throws(StoreError) {
            calls = try WorkerCalls(for: run)
            register = try WorkerRuns.open(for: run, over: session)
        } catch {
            obstacle = error
        }
    }
}

/// What became of reading the company's own table as a run began.
struct CompanyReading {
    /// `nil` without such a table, and where it could not be read.
    var refresh: CopyRefresh?
    /// What the database said where it could not be read.
    var fault: StoreError?
    /// Why the run ends without having judged anything.
    var obstacle: RunEnd?
    /// What was found of corrections that the books did not have.
    var notice: String?
}

extension RunSession {
    /// Makes the copy in the books as the company's table is now.
    ///
    /// A copy that is not whole is never judged by: rows that were not reached would look missing.
    ///
    /// - Parameters:
    ///   - start: How the run began.
    ///   - store: The books.
    ///   - now: When.
    ///   - stop: What a signal asks for.
    ///   - terminal: Who is told how far it is.
    /// - Returns: What was read, or why nothing was: the run is begun and reported all the same.
    /// - Throws: What the books themselves have against it.
    func readCompanyTable(
        _ start: CompanyStart, into store: SQLiteStore, at now: Timestamp,
        until stop: StopRequest, telling terminal: ProgressLine
    ) async throws -> CompanyReading {
        var reading = await copy(start, into: store, at: now, until: stop, telling: terminal)
        guard run.settings.company.table != nil else { return reading }
        // Also where the reading failed later: what was taken over must not be reported twice.
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
        let reports = ShownEntries(directory: run.settings.reportDirectory)
        do throws(StoreError) {
            let refresh = try await store.refreshCopy(
                for: run.job.mode, at: now, of: run.job.narrowing.apps,
                filling: reports.line,
                whileAllowed: { rows, expected in
                    terminal.show(
                        RunProgress(
                            stage: .read, done: Int(clamping: rows),
                            total: expected.flatMap { $0 < rows ? nil : Int(clamping: $0) }))
                    return stop.signal == nil && ContinuousClock.now < deadline
                })
            let isWhole = refresh?.isWhole ?? true
            return CompanyReading(
                refresh: refresh,
                obstacle: isWhole ? nil : stop.signal.map(RunEnd.signal) ?? .deadline)
        } catch {
            return CompanyReading(fault: error, obstacle: .store(error))
        }
    }
}
