import Foundation
import GRDB
import Subscriptions
import Synchronization

/// How transactions are run: off Swift's cooperative threads, tried again while somebody else holds
/// the lock, and immune to the cancellation of the task that asks.
///
/// A cancelled run must still be able to write its conclusion, so the work is done in a task of its
/// own: GRDB gives up on behalf of a cancelled one.
extension SQLiteStore {
    func write<Value: Sendable>(
        _ doing: String, _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StoreError) -> Value {
        guard access == .readWrite else {
            throw .inconsistent(
                "A command that only reads tried to write while \(doing); nothing was written.")
        }
        try? await Task.sleep(for: courtesy.pause)
        return try await retried(doing) { [connection, courtesy, mirror] in
            let (value, start) = try await connection.write { db in
                let start = ContinuousClock.now
                return (try mirror.committing(db, body), start)
            }
            courtesy.wrote(from: start, to: .now)
            mirror?.settle()
            return value
        }
    }

    /// Works through something large, a chunk in each transaction; `step` is told where to begin and
    /// returns where the next chunk begins, or `nil` after the last.
    func inChunks<Position: Sendable>(
        _ doing: String, from first: Position,
        _ step: @escaping @Sendable (Position, Database) throws -> Position?
    ) async throws(StoreError) {
        var position: Position? = first
        while let start = position {
            position = try await write(doing) { db in try step(start, db) }
        }
    }

    /// The same in chunks of as many rows as keep the lock for a short time on this machine.
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

    /// A write transaction that something of the company's may roll back under our hands.
    func writeOrUndo<Value: Sendable>(
        _ doing: String, _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StoreError) -> Result<Value, PlanApplication.Undone> {
        try? await Task.sleep(for: courtesy.pause)
        return try await retried(doing) { [connection, courtesy, company, mirror] in
            company?.committed.range = nil
            do {
                let (value, start) = try await connection.write { db in
                    let start = ContinuousClock.now
                    return (try mirror.committing(db, body), start)
                }
                courtesy.wrote(from: start, to: .now)
                mirror?.settle()
                return .success(value)
            } catch let undone as PlanApplication.Undone {
                return .failure(undone)
            } catch let error as DatabaseError {
                // Books on a server have them, if it is only their copy that failed.
                guard let entries = company?.committed.range, mirror?.isAhead != true else {
                    throw error
                }
                throw StoreError(error, behind: entries)
            } catch let error as StoreError {
                guard let entries = company?.committed.range else { throw error }
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
        throw .inconsistent("Gave up while \(doing).")
    }

    private func translated(_ error: any Error, doing: String) -> StoreError {
        guard let mirror, mirror.isAhead, let error = error as? DatabaseError else {
            return StoreError(error, doing: doing)
        }
        let failure = StoreError(error, ofCopyAt: file.path, doing: doing)
        mirror.fail(with: failure)
        return failure
    }

    /// The same for callers that block, with errors of `body` passed through unchanged.
    func blockingWrite<Value>(
        _ doing: String, on connection: DatabaseQueue, _ body: (Database) throws -> Value
    ) throws -> Value {
        usleep(UInt32(clamping: courtesy.pause.components.attoseconds / 1_000_000_000_000))
        for attempt in 1... {
            do {
                let (value, start) = try connection.write { db in
                    let start = ContinuousClock.now
                    return (try mirror.committing(db, body), start)
                }
                courtesy.wrote(from: start, to: .now)
                mirror?.settle()
                return value
            } catch let error as DatabaseError {
                let translated = translated(error, doing: doing)
                guard translated.isBusy, attempt < StoreLimits.busyAttempts else {
                    throw translated
                }
            }
        }
        throw StoreError.inconsistent("Gave up while \(doing).")
    }

    /// One consistent view of the database on a connection of its own, for streaming.
    ///
    /// The connection is kept for the next reading only beside one that writes: where nothing of the
    /// file may change, how it is connected to depends on what lies beside it now.
    func stream<Value>(_ doing: String, _ body: (Database) throws -> Value) throws -> Value {
        do {
            let reader = try idleReader.take() ?? file.connectToRead()
            let value = try reader.read(body)
            if access == .readWrite { idleReader.giveBack(reader) }
            return value
        } catch let error as DatabaseError {
            throw StoreError(error, doing: doing)
        }
    }
}

extension BooksMirror? {
    /// Does the work of one transaction; where the books stand on a server, it commits there, too.
    fileprivate func committing<Value>(
        _ db: Database, _ body: (Database) throws -> Value
    ) throws -> Value {
        try self?.begin()
        let value = try body(db)
        try self?.commit(db)
        return value
    }
}

extension Database {
    /// One consistent view of a connection that may write; what writes all the same is rolled back.
    ///
    /// Not GRDB's own reading: it turns writing off and on again, and each time SQLite prepares
    /// every statement of the connection anew.
    fileprivate func inOneView<Value>(_ body: () throws -> Value) throws -> Value {
        try beginTransaction(.deferred)
        do {
            let changes = totalChangesCount
            let value = try body()
            guard totalChangesCount == changes else {
                throw StoreError.inconsistent(
                    "Something was written where rows were only to be read. It was taken back, and "
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

/// Lets others have a turn between two writes.
///
/// SQLite has no queue: who waits for the lock looks again and again, up to 100 ms apart, and a job
/// that takes the lock at once after it freed it can be in the way at every look, however short its
/// transactions. So after each longer one the lock stays free for as long as it was held.
final class Courtesy: Sendable {
    private let last = Mutex<(ended: ContinuousClock.Instant, took: Duration)?>(nil)

    func wrote(from start: ContinuousClock.Instant, to end: ContinuousClock.Instant) {
        last.withLock { $0 = (end, start.duration(to: end)) }
    }

    /// How long to leave the lock alone still.
    var pause: Duration {
        guard let last = last.withLock(\.self),
            last.took >= .milliseconds(StoreLimits.courteousAfterMilliseconds)
        else { return .zero }
        let turn = min(last.took, .milliseconds(StoreLimits.courtesyMilliseconds))
        return max(.zero, turn - last.ended.duration(to: .now))
    }
}
