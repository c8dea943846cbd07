import Foundation
import GRDB
import Subscriptions

/// What this user may do with the database and with the files that SQLite keeps beside it.
extension DatabaseFile {
    /// Where the file itself lies: SQLite follows links before it looks for its log.
    private var realPath: String { URL(fileURLWithPath: path).resolvingSymlinksInPath().path }

    private var folder: String { URL(fileURLWithPath: realPath).deletingLastPathComponent().path }

    /// What to say where the folder of the database is not there; `nil` where it is.
    var missingFolder: String? {
        guard !FileManager.default.fileExists(atPath: folder) else { return nil }
        return "The folder \(folder) of the database is not there. Nothing was changed. Correct "
            + "`store` in the settings, mount the folder, or run `trueup init`, which makes it with an empty database."
    }

    /// Refuses to read where that would leave files behind which the job's user cannot write.
    ///
    /// In WAL mode SQLite makes `-wal` and `-shm` even to read, for the user who reads. One who may
    /// not write the database leaves them there, and the next run of its owner ends at them. The
    /// process must have no other connection to it: closing a descriptor drops its locks.
    ///
    /// - Throws: `.notWritten`.
    func refuseLeavingFiles() throws(StoreError) {
        let path = realPath
        guard !isWritable, unsafe access(folder, W_OK | X_OK) == 0 else { return }
        let files = FileManager.default
        guard !files.fileExists(atPath: path + "-wal") || !files.fileExists(atPath: path + "-shm"),
            isInWALMode
        else { return }
        throw .notWritten(
            "The database \(path) may not be written by this user, and reading it would leave the "
                + "files \(path)-wal and \(path)-shm, which the user of the job could not write. "
                + "Nothing was made or changed. Use this command as the user of the job. If that is "
                + "this user: "
                + FileObstacle.fix(ofUnwritable: path, holdsRows: true) + ".")
    }

    /// By its header (https://sqlite.org/fileformat.html): `false` where that cannot be read.
    private var isInWALMode: Bool {
        let file = unsafe open(realPath, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return false }
        defer { close(file) }
        var version: UInt8 = 0
        return unsafe pread(file, &version, 1, 19) == 1 && version == 2
    }

    /// The schema's version by the header of a database of ours, read without a connection; `nil` where
    /// that takes one: what a log holds is younger than the header, or older.
    ///
    /// Where this process has a connection there is a log, too: closing a descriptor drops no locks.
    var versionInHeader: Int? {
        let path = realPath
        let files = FileManager.default
        guard !["-wal", "-journal"].contains(where: { files.fileExists(atPath: path + $0) })
        else { return nil }
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var header = [UInt8](repeating: 0, count: 72)
        let read = unsafe header.withUnsafeMutableBytes {
            unsafe pread(file, $0.baseAddress, $0.count, 0)
        }
        func number(at offset: Int) -> Int {
            header[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
        }
        guard read == header.count, header.starts(with: "SQLite format 3\0".utf8),
            number(at: 68) == Migration.applicationID
        else { return nil }
        return number(at: 60)
    }

    /// Why a database that is there could not be opened.
    func openingFailure(_ error: any Error, doing: String) -> StoreError {
        let refusals: [ResultCode] = [.SQLITE_CANTOPEN, .SQLITE_READONLY, .SQLITE_PERM]
        guard let database = error as? DatabaseError, refusals.contains(database.resultCode),
            exists, isWritable
        else { return StoreError(error, doing: doing) }
        // The file is there and may be written: it is what SQLite keeps beside it.
        if let obstacle = FileObstacle.amongParts(ofDatabaseAt: realPath) {
            return .notWritten(
                "The database \(path) cannot be opened: \(obstacle.text). Nothing was changed. What "
                    + "to do: \(obstacle.fix).")
        }
        guard database.resultCode == .SQLITE_CANTOPEN else {
            return StoreError(error, doing: doing)
        }
        return .notWritten(
            "The files that belong to the database \(path) (-wal, -shm) cannot be made: "
                + causeOfMissingFiles)
    }

    private var causeOfMissingFiles: String {
        guard unsafe access(folder, W_OK | X_OK) == 0 else {
            let reason = unsafe String(cString: strerror(errno))
            return "nothing can be written to \(folder): \(reason). Nothing was changed. Give the "
                + "user of the job the right to write there, then run again."
        }
        var facts = statvfs()
        if unsafe statvfs(folder, &facts) == 0, facts.f_bavail == 0 || facts.f_favail == 0 {
            return "the disk of \(folder) is full. Nothing was changed. Make room, then run again."
        }
        return "the disk is full, or nobody may write to its folder. Nothing was changed. Make "
            + "room or check the rights, then run again."
    }
}
