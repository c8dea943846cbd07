import Foundation
package import Subscriptions

/// The right to be the only job on a database.
///
/// It is a lock of the kernel (flock(2)) on a file beside the database: it ends with the process,
/// however that ends, so nothing stale is ever left. The file itself stays, because removing it
/// would let two processes lock two different files of that name. It is not the database file: that
/// one carries SQLite's own locks, which the closing of any descriptor of the process would drop.
package struct RunLock: ~Copyable {
    /// What for; each purpose has a lock of its own.
    package enum Purpose: Sendable {
        /// Judging and writing rows.
        case job
        /// Telling others of what was written, while a job may go on.
        case telling
    }

    private let file: LockFile

    private init(file: consuming LockFile) {
        self.file = file
    }

    /// Takes the lock, or says who has it.
    ///
    /// - Parameters:
    ///   - path: The database.
    ///   - purpose: What for.
    ///   - holder: Who takes it, for others to read: `user@host, process 17`.
    ///   - now: Since when, for others to read.
    ///   - waitMilliseconds: How long to wait for it.
    /// - Returns: The lock; it is held as long as this value lives.
    /// - Throws: `RunLockError`.
    package static func acquire(
        forDatabaseAt path: String, purpose: Purpose = .job, holder: String, now: Timestamp,
        waitMilliseconds: Int
    ) throws(RunLockError) -> RunLock {
        let lockPath = lockFile(ofDatabaseAt: path, purpose: purpose)
        let file: LockFile
        switch LockFile.open(lockPath, creating: true) {
        case .success(let descriptor): file = LockFile(owning: descriptor)
        case .failure(let failure):
            if let missing = DatabaseFile(path: path).missingFolder { throw .noFolder(missing) }
            throw .cannotLock(
                "The lock file \(lockPath) cannot be opened: \(failure.text). Nothing was changed. "
                    + "Check the rights on its folder and the free space.")
        }
        var patience = max(waitMilliseconds, StoreLimits.lockPatienceMilliseconds)
        while true {
            switch file.attempt(exclusive: true) {
            case .locked:
                file.write(holder: holder, since: now)
                return RunLock(file: file)
            case .failed(let reason):
                throw .cannotLock(
                    "The lock file \(lockPath) cannot be locked: \(reason). Nothing was changed.")
            case .heldByAnother where patience > 0:
                let pause = min(patience, StoreLimits.lockPollMilliseconds)
                usleep(UInt32(pause) * 1000)
                patience -= pause
            case .heldByAnother:
                let (holder, since) = file.readNote()
                throw .held(by: holder, since: since)
            }
        }
    }

    /// Beside the database that the path leads to, so that a symbolic link makes no second lock.
    static func lockFile(ofDatabaseAt path: String, purpose: Purpose = .job) -> String {
        URL(fileURLWithPath: path).resolvingSymlinksInPath().path
            + (purpose == .job ? "-lock" : "-tell-lock")
    }
}

/// Why a job could not have the database for itself.
package enum RunLockError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Another job has it (exit 75).
    case held(by: String, since: Timestamp?)
    /// The lock file cannot be used; the text says why.
    case cannotLock(String)
    /// There is no folder to lock in; the text names it.
    case noFolder(String)

    package var description: String {
        switch self {
        case .held(let holder, let since):
            "Another run holds the lock: \(holder)"
                + (since.map { ", since \($0.rfc3339)" } ?? "")
                + ". Nothing was changed. Wait for it to end, or stop it."
        case .cannotLock(let reason), .noFolder(let reason): reason
        }
    }
}

extension SQLiteStore {
    /// Who runs a job on the database right now; `nil` when nobody does.
    ///
    /// It only looks: neither the database nor the lock file is made or changed.
    package static func lockHolder(
        ofDatabaseAt path: String
    ) -> (holder: String, since: Timestamp?)? {
        let opened = LockFile.open(RunLock.lockFile(ofDatabaseAt: path), creating: false)
        guard case .success(let descriptor) = opened else { return nil }
        let file = LockFile(owning: descriptor)
        guard case .heldByAnother = file.attempt(exclusive: false) else { return nil }
        return file.readNote()
    }
}
