import Foundation

/// A lock of another program on the database, as the kernel tells of it.
///
/// Only asked for (`F_GETLK`), never taken: neither the file nor what SQLite keeps beside it is
/// touched. Closing a descriptor drops the locks that this process has on the same file, so it may
/// only be looked for while this process has the database closed.
package struct ForeignLock: Hashable, Sendable {
    /// `nil` where the kernel does not tell, as across the border of a container.
    package var process: Int32?
    /// What the program is called; `nil` where that cannot be learned.
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
            guard let lock = holder(of: bytes, against: F_RDLCK, in: file) else { continue }
            return ForeignLock(
                lock, excludesReaders: true, patience: StoreLimits.patienceOfReaders)
        }
        var version: UInt8 = 0
        let isRead = unsafe pread(file, &version, 1, off_t(writeVersionByte)) == 1
        guard isRead, version == 2 else {
            // A run turns WAL mode on first, for which nobody else may even read.
            return holder(of: fileLocks, against: F_WRLCK, in: file)
                .map {
                    ForeignLock(
                        $0, excludesReaders: false, patience: StoreLimits.patienceOfReaders)
                }
        }
        let log = unsafe open(path + "-shm", O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard log >= 0 else { return nil }
        defer { close(log) }
        return holder(of: logWriteLock, against: F_WRLCK, in: log)
            .map {
                ForeignLock($0, excludesReaders: false, patience: StoreLimits.patienceOfWriters)
            }
    }

    private init(_ process: Int32, excludesReaders: Bool, patience: Duration) {
        self.process = process > 0 ? process : nil
        self.excludesReaders = excludesReaders
        self.patience = patience
        guard process > 0, let name = FileManager.default.contents(atPath: "/proc/\(process)/comm")
        else { return }
        program = String(decoding: name.prefix { $0 != 0x0A }, as: UTF8.self)
    }

    /// The process that has a lock which would keep ours away; `nil` for none.
    private static func holder(
        of bytes: (start: Int, length: Int), against kind: Int32, in descriptor: Int32
    ) -> Int32? {
        var lock = Glibc.flock()
        lock.l_type = Int16(kind)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = off_t(bytes.start)
        lock.l_len = off_t(bytes.length)
        guard unsafe fcntl(descriptor, F_GETLK, &lock) == 0, lock.l_type != Int16(F_UNLCK) else {
            return nil
        }
        return lock.l_pid
    }
}

extension SQLiteStore {
    /// A lock that another program does not give back in all the time that a run waits for it.
    ///
    /// Services write for milliseconds; whoever has a transaction open for minutes keeps a run from
    /// its first write (exit 75). The database must not be open in this process.
    ///
    /// - Parameter path: The database.
    /// - Returns: The lock as it was seen last; `nil` once nobody has one.
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
