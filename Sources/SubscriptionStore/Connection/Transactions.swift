import Foundation
import GRDB
import Reconciliation
package import Subscriptions
import Synchronization

/// Runs transactions off Swift's cooperative threads, retries them while another process holds the
/// lock, and finishes them although the calling task is cancelled.
///
/// A cancelled run must still be able to write its conclusion, so the work is done in a task of its
/// own: GRDB gives up on behalf of a cancelled one.
extension SQLiteStore {
    func write<Value: Sendable>(
        _ doing: String, _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StoreError) -> Value {
        try requireWriting(doing)
        try? await Task.sleep(for: writeBackoff.pause)
        return try await retried(doing) { [self] in
            ended(try await connection.write { db in try begun(db, body) })
        }
    }

    /// Refuses to write where the database was opened to read.
    func requireWriting(_ doing: String) throws(StoreError) {
        guard access == .readWrite else {
            throw .inconsistent(
                "A command that only reads tried to write while \(doing); nothing was written. "
                    + "This is a fault of trueup, please report it.")
        }
    }

    /// Does the work of one transaction, entitlements included; where the books are on a server, it
    /// commits there as well.
    ///
    /// - Returns: The result, and when the transaction began.
    private func begun<Value>(
        _ db: Database, listsNew: Bool = true, _ body: (Database) throws -> Value
    ) throws -> (value: Value, start: ContinuousClock.Instant) {
        let start = try writeBackoff.begin(db)
        try mirror?.begin()
        let book = EntitlementBook(db: db, catalogue: catalogue, listsNew: listsNew)
        let value = try book.settling(body)
        try mirror?.commit(db)
        return (value, start)
    }

    /// Notes that the transaction was committed.
    private func ended<Value>(_ done: (value: Value, start: ContinuousClock.Instant)) -> Value {
        writeBackoff.wrote(from: done.start)
        mirror?.settle()
        return done.value
    }

    /// Works through something large, a chunk in each transaction; `step` is told where to begin
    /// and returns where the next chunk begins, or `nil` after the last.
    func inChunks<Position: Sendable>(
        _ doing: String, from first: Position,
        _ step: @escaping @Sendable (Position, Database) throws -> Position?
    ) async throws(StoreError) {
        var position: Position? = first
        while let start = position {
            position = try await write(doing) { db in try step(start, db) }
        }
    }

    /// Works in chunks of as many rows as keep the lock for a short time on this machine.
    ///
    /// - Parameters:
    ///   - doing: What is done, for errors.
    ///   - first: Where the first chunk begins.
    ///   - step: Does a chunk of so many rows.
    ///   - note: Takes how many rows a chunk had at most.
    /// - Throws: An error of the database, or of a step.
    func inShortChunks<Position: Sendable>(
        _ doing: String, from first: Position,
        _ step: @escaping @Sendable (Position, _ rows: Int, Database) throws -> Position?,
        noting note: (Int) -> Void
    ) async throws(StoreError) {
        var position: Position? = first
        var size = BatchSize(most: StoreLimits.rowsPerChunk)
        while let start = position {
            let rows = size.rows
            let (next, took) = try await write(doing) { db in
                let began = ContinuousClock.now
                return (try step(start, rows, db), began.duration(to: .now))
            }
            size.note(took)
            position = next
            note(rows)
        }
    }

    func read<Value: Sendable>(
        _ doing: String, _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StoreError) -> Value {
        guard access == .readWrite else {
            return try await retried(doing) { [connection] in try await connection.read(body) }
        }
        return try await retried(doing) { [connection] in
            try await connection.unsafeRead { db in try db.inOneView { try body(db) } }
        }
    }

    /// A statement that no transaction may hold.
    func withoutTransaction<Value: Sendable>(
        _ doing: String, _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StoreError) -> Value {
        try await retried(doing) { [connection] in
            try await connection.writeWithoutTransaction(body)
        }
    }

    /// A write transaction that a trigger of the company's may roll back.
    func writeOrUndo<Value: Sendable>(
        _ doing: String, _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StoreError) -> Result<Value, PlanApplication.Undone> {
        try? await Task.sleep(for: writeBackoff.pause)
        return try await retried(doing) { [self] in
            company?.committed = nil
            do {
                return .success(ended(try await connection.write { db in try begun(db, body) }))
            } catch let undone as PlanApplication.Undone {
                return .failure(undone)
            } catch let error as DatabaseError {
                // Books on a server have them, if it is only their copy that failed.
                guard let entries = company?.committed, mirror?.isAhead != true else {
                    throw error
                }
                throw StoreError(error, behind: entries)
            } catch let error as StoreError {
                guard let entries = company?.committed else { throw error }
                throw error.behind(entries)
            }
        }
    }

    private func retried<Value: Sendable>(
        _ doing: String, _ work: @escaping @Sendable () async throws -> Value
    ) async throws(StoreError) -> Value {
        for attempt in 1... {
            let result = await Task { try await work() }.result
            switch result {
            case .success(let value): return value
            case .failure(let failure):
                let error = translated(failure, doing: doing)
                guard error.isBusy, attempt < StoreLimits.busyAttempts else { throw error }
            }
        }
        throw .keptLocked(doing)
    }

    private func translated(_ error: any Error, doing: String) -> StoreError {
        guard let mirror, mirror.isAhead, let error = error as? DatabaseError else {
            return StoreError(error, doing: doing)
        }
        let failure = StoreError(error, ofCopyAt: file.path, doing: doing)
        mirror.fail(with: failure)
        return failure
    }

    /// A transaction for callers that block, with errors of `body` and violated constraints passed
    /// through unchanged.
    ///
    /// It loads rows: what customers have by them is not listed as gained by reports.
    func blockingWrite<Value>(
        _ doing: String, on connection: DatabaseQueue, _ body: (Database) throws -> Value
    ) throws -> Value {
        usleep(UInt32(clamping: writeBackoff.pause.components.attoseconds / 1_000_000_000_000))
        for attempt in 1... {
            do {
                return ended(
                    try connection.write { db in try begun(db, listsNew: false, body) })
            } catch let error as DatabaseError {
                // A caller that loads looks for the row that is refused.
                if error.resultCode == .SQLITE_CONSTRAINT, mirror?.isAhead != true { throw error }
                let translated = translated(error, doing: doing)
                guard translated.isBusy, attempt < StoreLimits.busyAttempts else {
                    throw translated
                }
            }
        }
        throw StoreError.keptLocked(doing)
    }

    /// One consistent view of the database on a connection of its own, for streaming.
    ///
    /// The connection is kept for the next reading only next to one that writes: where nothing of
    /// the file may change, how it is connected to depends on what lies next to it now.
    func stream<Value>(_ doing: String, _ body: (Database) throws -> Value) throws -> Value {
        try StoreError.naming(doing) {
            let reader = try takeIdleReader() ?? file.connectToRead()
            let value = try reader.read(body)
            if access == .readWrite { giveBack(reader) }
            return value
        }
    }

    /// The idle reading connection, for the caller alone; `nil` when there is none.
    func takeIdleReader() -> DatabaseQueue? { idleReader.withLock { $0.take() } }

    /// Keeps a reading connection that no reading uses any more; a second one closes.
    func giveBack(_ reader: DatabaseQueue) { idleReader.withLock { $0 = $0 ?? reader } }

    /// A stream whose body throws nothing but errors of the database and of the store.
    func view<Value>(
        _ doing: String, _ body: (Database) throws -> Value
    ) throws(StoreError) -> Value {
        try StoreError.translating(doing) { try stream(doing, body) }
    }
}

extension Database {
    /// Makes one correction inside a transaction, wholly or not at all.
    ///
    /// As `inSavepoint`, whose statements are prepared again each time, which takes longer than to
    /// run them.
    func inCorrection<Value>(_ body: () throws -> Value) throws -> Value {
        try cachedStatement(sql: "SAVEPOINT trueup_correction").execute()
        do {
            let value = try body()
            try cachedStatement(sql: "RELEASE SAVEPOINT trueup_correction").execute()
            return value
        } catch {
            // A trigger may have rolled back the whole transaction.
            if isInsideTransaction {
                try cachedStatement(sql: "ROLLBACK TRANSACTION TO SAVEPOINT trueup_correction")
                    .execute()
                try cachedStatement(sql: "RELEASE SAVEPOINT trueup_correction").execute()
            }
            throw error
        }
    }

    /// One consistent view of a connection that may write; what writes all the same is rolled back.
    ///
    /// Not GRDB's own reading: it turns writing off and on again, and each time SQLite prepares
    /// every statement of the connection again.
    fileprivate func inOneView<Value>(_ body: () throws -> Value) throws -> Value {
        try beginTransaction(.deferred)
        do {
            let changes = totalChangesCount
            let value = try body()
            guard totalChangesCount == changes else {
                throw StoreError.inconsistent(
                    "Something was written where rows were only to be read. It was rolled back, and "
                        + "nothing is changed; this is a fault of trueup, please report it.")
            }
            try commit()
            return value
        } catch {
            try? rollback()
            throw error
        }
    }
}

/// Lets others have a turn between writes.
///
/// SQLite has no queue: a program that waits for the lock tries again and again, 1 to 20 ms apart at
/// first, and a job that takes the lock at once after it freed it can be in the way at every try,
/// however short its transactions. So the lock stays free for the time between two tries whenever it
/// was held for `StoreLimits.longestHoldMilliseconds` in all, and after each longer transaction while
/// others really write.
final class WriteBackoff: Sendable {
    private struct State {
        /// The connection that wrote last, and the commits by other connections that it has seen.
        ///
        /// It counts those of our own other connections, too, so no two connections are compared.
        var connection: ObjectIdentifier?
        var version: Int64?
        var othersWrote: ContinuousClock.Instant?
        /// How long the lock was held since others last had a turn.
        var held = Duration.zero
        /// When the turn of the others ends.
        var turnEnds: ContinuousClock.Instant?

        /// Another connection has committed a short time ago.
        func othersWrite(at now: ContinuousClock.Instant) -> Bool {
            guard let othersWrote else { return false }
            return othersWrote.duration(to: now) < .seconds(StoreLimits.othersStaySeconds)
        }
    }

    private let state = Mutex(State())

    /// Notes the beginning of a transaction, inside of it, and whether others have written since
    /// the one before.
    ///
    /// - Returns: When it began.
    func begin(_ db: Database) throws -> ContinuousClock.Instant {
        let start = ContinuousClock.now
        let version = try db.integer(cached: "PRAGMA data_version")
        state.withLock { state in
            let connection = ObjectIdentifier(db)
            if state.connection == connection, state.version != version {
                state.othersWrote = start
            }
            (state.connection, state.version) = (connection, version)
        }
        return start
    }

    /// Notes that the transaction has ended.
    func wrote(from start: ContinuousClock.Instant) {
        let ended = ContinuousClock.now
        state.withLock { state in
            let took = start.duration(to: ended)
            state.held += took
            let turn = Self.turn(
                after: took, held: state.held, besidesOthers: state.othersWrite(at: ended))
            guard turn > .zero else { return }
            state.held = .zero
            state.turnEnds = ended + turn
        }
    }

    /// How long to leave the lock alone still.
    var pause: Duration {
        guard let turnEnds = state.withLock(\.turnEnds) else { return .zero }
        return max(.zero, ContinuousClock.now.duration(to: turnEnds))
    }

    /// How long the lock stays free after a transaction.
    ///
    /// - Parameters:
    ///   - took: How long the transaction held the lock.
    ///   - held: How long the lock was held since it last stayed free, this transaction included.
    ///   - besidesOthers: Whether another connection has committed a short time ago.
    /// - Returns: Zero, or as long as a program that waits is likely to pause between two tries.
    static func turn(after took: Duration, held: Duration, besidesOthers: Bool) -> Duration {
        if besidesOthers, took >= .milliseconds(StoreLimits.turnAfterMilliseconds) {
            return min(took, .milliseconds(StoreLimits.longestTurnMilliseconds / 2)) * 2
        }
        guard held >= .milliseconds(StoreLimits.longestHoldMilliseconds) else { return .zero }
        return .milliseconds(StoreLimits.turnMilliseconds)
    }
}

extension StoreError {
    /// Translates what SQLite says; nothing else of this module looks at result codes' meaning.
    ///
    /// - Parameters:
    ///   - error: What GRDB threw; a `StoreError` passes through.
    ///   - doing: What was being done, to follow "while".
    package init(_ error: any Error, doing: String) {
        guard let error = error as? DatabaseError else {
            self = (error as? StoreError) ?? .inconsistent("While \(doing): \(error).")
            return
        }
        let said = Self.quote(error)
        switch error.resultCode {
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            self = .busy(
                "Another program kept the database locked while \(doing); nothing of this step was "
                    + "written. Find the program that holds a transaction open and run again. \(said)"
            )
        case .SQLITE_FULL:
            self = .notWritten(
                "The disk is full while \(doing); nothing of this step was written. Make room and "
                    + "run again: the run continues where it stopped. \(said)")
        case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_AUTH:
            self = .notWritten(
                "The database may not be written while \(doing); nothing of this step was written. "
                    + "Check the rights on the file, on its folder and on the file system. \(said)")
        case .SQLITE_IOERR:
            self = .notWritten(
                "The disk failed or is full while \(doing); nothing of this step was written. Check "
                    + "the disk and its free space, then run again. \(said)")
        case .SQLITE_CANTOPEN:
            self = .unavailable(
                "The database cannot be opened while \(doing). Check the path and the rights on "
                    + "its folder. \(said)")
        case .SQLITE_NOTADB:
            self = .schema(
                "The file is not an SQLite database. Check `store` in the settings. If it was one, it is damaged "
                    + "and its ledger is lost: put a backup in its place, then declare that with "
                    + "`trueup restored --reason TEXT` (\(DocumentationPage.backup)). Delete the file if "
                    + "it is only the local cache of a database on a server. \(said)")
        case .SQLITE_CORRUPT:
            self = .unavailable(
                "The database is damaged; nothing was written. Its ledger is lost, except for what a "
                    + "backup has; the reports are not. Move the file away, put a backup in its place or "
                    + "rebuild it with `trueup init` and `trueup import`, then declare that with "
                    + "`trueup restored --reason TEXT` (\(DocumentationPage.backup)). Delete the file if "
                    + "it is only the local cache of a database on a server. \(said)")
        case .SQLITE_SCHEMA:
            self = .schema("The schema changed while \(doing). \(said)")
        case .SQLITE_ERROR where Self.namesMissingPart(error.message):
            self = .schema(
                "The database's tables are not as expected while \(doing); nothing of this step "
                    + "was written. Undo the change of the schema. \(said)")
        default:
            self = .inconsistent(
                "SQLite refused a statement while \(doing); nothing of this step was written. "
                    + said)
        }
    }

    /// Does something with the database; names it in what SQLite says, and lets other errors pass.
    static func naming<Value>(_ doing: String, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as DatabaseError {
            throw StoreError(error, doing: doing)
        }
    }

    /// Does something of which every error becomes one of the store.
    static func translating<Value>(
        _ doing: String, _ body: () throws -> Value
    ) throws(StoreError) -> Value {
        do {
            return try body()
        } catch {
            throw StoreError(error, doing: doing)
        }
    }

    /// The error where no try got the lock.
    fileprivate static func keptLocked(_ doing: String) -> StoreError {
        .inconsistent(
            "Another program kept the database locked while \(doing); nothing of this step was "
                + "written. Run again.")
    }

    /// The error where trueup's database could not commit what the company's database had committed
    /// just before.
    ///
    /// - Parameters:
    ///   - error: What SQLite said.
    ///   - entries: Of the ledger there.
    init(_ error: DatabaseError, behind entries: ClosedRange<Int64>) {
        self = .notWritten(
            "trueup's database could not be written after your database had committed corrections "
                + "(\(Self.words(entries)) of the ledger there). These are kept, and nothing else of "
                + "this step was written. Check whether the disk of trueup's database is full or has "
                + "failed, then run the job again: it first imports the entries that are missing. "
                + "\(Self.quote(error))")
    }

    /// The error where a local cache could not commit what the server of trueup's database has
    /// committed.
    init(_ error: DatabaseError, ofCopyAt path: String, doing: String) {
        self = .notWritten(
            "The local cache of trueup's database, \(path), could not be written while \(doing). The "
                + "server has the step, and nothing is lost. Check whether the disk is full or has "
                + "failed, then run the job again: trueup makes the cache again. \(Self.quote(error))"
        )
    }

    /// Returns the error where the server of trueup's database did not commit the entries; the same
    /// as for SQLite.
    func behind(_ entries: ClosedRange<Int64>) -> StoreError {
        let standing =
            "\(description) Your database had committed corrections just before "
            + "(\(Self.words(entries)) of the ledger there). These are kept, and the next run first "
            + "imports the entries that trueup's database lacks."
        return switch self {
        case .unavailable: .unavailable(standing)
        case .notWritten: .notWritten(standing)
        case .busy: .busy(standing)
        case .schema: .schema(standing)
        case .inconsistent: .inconsistent(standing)
        case .stopped: .stopped(standing)
        }
    }

    private static func words(_ entries: ClosedRange<Int64>) -> String {
        entries.count == 1
            ? "entry \(entries.lowerBound)"
            : "entries \(entries.lowerBound) to \(entries.upperBound)"
    }

    var isBusy: Bool {
        if case .busy = self { true } else { false }
    }

    /// SQLite's words and the statement, without its arguments: they are personal data.
    static func quote(_ error: DatabaseError) -> String {
        let code = error.extendedResultCode.rawValue
        let words = "(SQLite \(code): \(error.message ?? "no message"))"
        guard let sql = error.sql else { return words }
        return words + " SQL: " + sql.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    private static func namesMissingPart(_ message: String?) -> Bool {
        guard let message else { return false }
        return message.hasPrefix("no such") || message.contains("has no column")
    }
}

/// Every limit of the store, with its unit.
enum StoreLimits {
    /// How long SQLite waits for another process's lock before it gives up once.
    static let busyTimeoutSeconds = 10.0
    /// How long an erasure waits for those who read the old pages.
    static let checkpointPatienceMilliseconds = 2000
    /// How often a transaction is tried when the lock does not come free: 40 s in all.
    static let busyAttempts = 4
    /// How long a lock is waited for that keeps a run from opening the database.
    static let patienceOfReaders = Duration.seconds(busyTimeoutSeconds)
    /// How long a lock is waited for that keeps a run from writing.
    static let patienceOfWriters = Duration.seconds(busyTimeoutSeconds * Double(busyAttempts))
    /// Page cache of a connection; the memory of a job must not depend on the table.
    static let cacheKibibytes = 4 * 1024
    /// Page caches of a connection that loads a file: its index is written in random order.
    static let loadingCacheKibibytes = 16 * 1024
    /// Rows per transaction where a million may have to be written besides the company's services:
    /// no service may wait for 100 ms.
    static let rowsPerChunk = 1000
    /// Rows per transaction where each row takes several statements.
    static let correctionsPerChunk = 200
    /// Corrections of one transaction, each with its ledger entry and event.
    static let correctionsPerBatch = 100
    /// Rows per transaction where each row changes a table and its indexes at random places.
    static let scatteredRowsPerChunk = 500
    /// How long the lock is held in all before others get a turn, and how long that is: SQLite tries
    /// for a lock after 1, 3, 8, 18, 33 and 53 ms.
    static let longestHoldMilliseconds = 30
    static let turnMilliseconds = 20
    /// While others write, they get a turn after a transaction as long as this or longer, of twice
    /// its time and at most so long.
    static let turnAfterMilliseconds = 2
    static let longestTurnMilliseconds = 40
    /// Others that have written count as still writing for so long.
    static let othersStaySeconds = 10
    /// How long a lock is tried for at least: a `status` looks at it for an instant.
    static let lockPatienceMilliseconds = 250
    /// How long to pause between two tries for the lock.
    static let lockPollMilliseconds = 25
}

/// How many rows the next transaction takes, so that it keeps the lock for a short time on this
/// machine: another process waits for at most a transaction and the pause after it.
struct BatchSize: Hashable, Sendable {
    private(set) var rows: Int
    private let most: Int

    /// Rows of the first transaction, before it is known how long one takes.
    private static let first = 50
    private static let fewest = 10
    /// How long a transaction is to take.
    static let aim = Duration.milliseconds(20)

    /// - Parameter most: More rows than these are never taken.
    init(most: Int) {
        self.most = most
        rows = min(most, Self.first)
    }

    /// Notes how long a transaction of `rows` rows took.
    mutating func note(_ took: Duration) {
        let share = took / Self.aim
        // One that was slow by chance halves it at most, and one that was fast doubles it at most.
        let next = Double(rows) / min(2, max(0.5, share))
        rows = min(most, max(min(Self.fewest, most), Int(next)))
    }
}
