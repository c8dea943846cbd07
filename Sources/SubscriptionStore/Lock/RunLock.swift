import Foundation
package import Subscriptions

/// The right to be the only job on a database.
///
/// It is a lock of the kernel (flock(2)) on a file next to the database: it ends with the process,
/// however that ends, so nothing stale is ever left. The file itself stays, because removing it
/// would let two processes lock two different files of that name. It is not the database file: that
/// one carries SQLite's own locks, which the closing of any descriptor of the process would drop.
package struct RunLock: ~Copyable {
    /// The purpose; each has a lock of its own.
    package enum Purpose: Sendable {
        /// Judging and writing rows.
        case job
        /// Telling others of what was written, while a job may continue.
        case telling
    }

    private let file: LockFile

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
        guard let file = LockFile(lockPath, creating: true) else {
            let reason = LockFile.reasonOfFailure()
            if let missing = DatabaseFile(path: path).missingFolder { throw .noFolder(missing) }
            throw .cannotLock(
                "The lock file \(lockPath) cannot be opened: \(reason). Nothing was changed. "
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

    /// Next to the database that the path leads to, so that a symbolic link makes no second lock.
    static func lockFile(ofDatabaseAt path: String, purpose: Purpose = .job) -> String {
        URL(fileURLWithPath: path).resolvingSymlinksInPath().path
            + (purpose == .job ? "-lock" : "-tell-lock")
    }
}

/// The reason why a job could not have the database for itself.
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
    /// The holder of the run lock; `nil` when no job runs on the database.
    ///
    /// It only looks: neither the database nor the lock file is made or changed.
    package static func lockHolder(
        ofDatabaseAt path: String
    ) -> (holder: String, since: Timestamp?)? {
        guard let file = LockFile(RunLock.lockFile(ofDatabaseAt: path), creating: false),
            case .heldByAnother = file.attempt(exclusive: false)
        else { return nil }
        return file.readNote()
    }
}

/// An open lock file: the kernel's lock on it, and a note about who holds the lock.
///
/// The note is a line with the holder's name and a line with the time.
struct LockFile: ~Copyable {
    enum Attempt {
        case locked, heldByAnother
        case failed(String)
    }

    private static let maximumNoteBytes = 4096

    private let descriptor: Int32

    /// Only for the job's user: a user who can open a lock file can hold the lock.
    private static let mode: mode_t = 0o600

    /// Opens the file; it is closed, and the lock freed, with this value.
    ///
    /// `nil` where that fails, for `reasonOfFailure`.
    ///
    /// A file that an earlier version left readable is restricted. That may fail for a file that
    /// belongs to another user, who then decides its mode.
    init?(_ path: String, creating: Bool) {
        let flags = creating ? O_RDWR | O_CREAT | O_CLOEXEC : O_RDONLY | O_CLOEXEC
        let descriptor = unsafe Glibc.open(path, flags, Self.mode)
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
        var status = stat()
        if creating, unsafe fstat(descriptor, &status) == 0, status.st_mode & 0o777 != Self.mode {
            _ = fchmod(descriptor, Self.mode)
        }
    }

    deinit {
        close(descriptor)
    }

    /// Tries to lock once, for this holder alone or shared with others who only look.
    func attempt(exclusive: Bool) -> Attempt {
        guard flock(descriptor, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0 else {
            return .locked
        }
        return errno == EWOULDBLOCK || errno == EINTR
            ? .heldByAnother : .failed(Self.reasonOfFailure())
    }

    /// Writes the note; errors are ignored, because the lock holds without it.
    func write(holder: String, since: Timestamp) {
        let name = holder.split(whereSeparator: \.isNewline).joined(separator: " ")
        let bytes = Array("\(name)\n\(since.rfc3339)\n".utf8.prefix(Self.maximumNoteBytes))
        guard ftruncate(descriptor, 0) == 0 else { return }
        _ = unsafe bytes.withUnsafeBytes { buffer in
            unsafe pwrite(descriptor, buffer.baseAddress, buffer.count, 0)
        }
    }

    func readNote() -> (holder: String, since: Timestamp?) {
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Self.maximumNoteBytes) {
            buffer, count in
            count = unsafe max(0, pread(descriptor, buffer.baseAddress, buffer.count, 0))
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        let holder = lines.first.map(String.init) ?? "a run that has not recorded its name yet"
        return (holder, lines.dropFirst().first.flatMap { Timestamp(rfc3339: $0) })
    }

    /// The reason why the last call of the system failed.
    static func reasonOfFailure() -> String { unsafe String(cString: strerror(errno)) }
}

/// A lock of another program on the database, as the kernel tells of it.
///
/// Only asked for (`F_GETLK`), never taken: neither the file nor what SQLite keeps next to it is
/// touched. Closing a descriptor drops the locks that this process has on the same file, so it may
/// only be looked for while this process has the database closed.
package struct ForeignLock: Hashable, Sendable {
    /// `nil` where the kernel does not tell, as across the border of a container.
    package var process: Int32?
    /// The name of the program; `nil` where that cannot be learned.
    package var program: String?
    /// Whether the database cannot even be read meanwhile.
    package var excludesReaders: Bool
    /// How long a run would wait for it before it ends (exit 75).
    package var patience: Duration

    // SQLite's own bytes: os_unix.c and https://sqlite.org/walformat.html#locks.
    private static let fileLocks: (start: Int, length: Int) = (0x4000_0000, 512)
    /// Those of them that keep readers out; the one between them only announces a writer.
    private static let readLocks: [(start: Int, length: Int)] = [
        (0x4000_0000, 1), (0x4000_0002, 510),
    ]
    private static let logWriteLock: (start: Int, length: Int) = (120, 1)
    /// 2 where the file is in WAL mode: https://sqlite.org/fileformat.html.
    private static let writeVersionByte = 18

    /// Looks once.
    ///
    /// - Parameter path: The database.
    /// - Returns: `nil` where a run could write at this moment, and where nothing can be learned.
    static func current(onDatabaseAt path: String) -> ForeignLock? {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        for bytes in readLocks {
            let lock = ForeignLock(
                on: bytes, against: F_RDLCK, in: file, excludesReaders: true,
                patience: StoreLimits.patienceOfReaders)
            if let lock { return lock }
        }
        var version: UInt8 = 0
        let isRead = unsafe pread(file, &version, 1, off_t(writeVersionByte)) == 1
        guard isRead, version == 2 else {
            // A run turns WAL mode on first, and no other process may read meanwhile.
            return ForeignLock(
                on: fileLocks, against: F_WRLCK, in: file, patience: StoreLimits.patienceOfReaders)
        }
        let log = unsafe open(path + "-shm", O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard log >= 0 else { return nil }
        defer { close(log) }
        return ForeignLock(
            on: logWriteLock, against: F_WRLCK, in: log, patience: StoreLimits.patienceOfWriters)
    }

    /// The lock of a process which would keep trueup's away; `nil` for none.
    private init?(
        on bytes: (start: Int, length: Int), against kind: Int32, in descriptor: Int32,
        excludesReaders: Bool = false, patience: Duration
    ) {
        var lock = Glibc.flock()
        lock.l_type = Int16(kind)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = off_t(bytes.start)
        lock.l_len = off_t(bytes.length)
        guard unsafe fcntl(descriptor, F_GETLK, &lock) == 0, lock.l_type != Int16(F_UNLCK) else {
            return nil
        }
        self.excludesReaders = excludesReaders
        self.patience = patience
        guard lock.l_pid > 0 else { return }
        process = lock.l_pid
        guard let name = FileManager.default.contents(atPath: "/proc/\(lock.l_pid)/comm") else {
            return
        }
        program = String(decoding: name.prefix { $0 != 0x0A }, as: UTF8.self)
    }
}

extension SQLiteStore {
    /// A lock that another program does not give back in all the time that a run waits for it.
    ///
    /// Services write for milliseconds; a process with a transaction open for minutes keeps a run
    /// from its first write (exit 75). The database must not be open in this process.
    ///
    /// - Parameter path: The database.
    /// - Returns: The lock as it was seen last; `nil` once no process has one.
    package static func foreignLock(onDatabaseAt path: String) async -> ForeignLock? {
        let path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        let begun = ContinuousClock.now
        while let lock = ForeignLock.current(onDatabaseAt: path) {
            guard ContinuousClock.now < begun + lock.patience else { return lock }
            do {
                try await Task.sleep(for: .milliseconds(50))
            } catch {
                return lock
            }
        }
        return nil
    }
}
