import Foundation

/// Why a run could not use one of the files beside the database, and what to do about it.
package struct FileObstacle: Hashable, Sendable {
    package let text: String
    /// As an imperative, without a full stop.
    package let fix: String

    /// The files that are part of the database: what was committed last stands in its log alone.
    private static let partsOfDatabase = ["-wal", "-shm", "-journal"]
    private static let locks = ["-lock", "-tell-lock"]

    /// What is in the way of a run among its own files and SQLite's; `nil` where nothing is.
    static func beside(_ path: String) -> FileObstacle? {
        (locks + partsOfDatabase).lazy.compactMap { at(path, $0) }.first
    }

    /// The same among what belongs to the database alone, without which it does not even open.
    static func amongParts(ofDatabaseAt path: String) -> FileObstacle? {
        partsOfDatabase.lazy.compactMap { at(path, $0) }.first
    }

    /// What to do about a file that this user may not write.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - holdsRows: Whether it is the database or a part of it: moving a log away loses every
    ///     row that was committed since it was begun.
    /// - Returns: An imperative.
    package static func fix(ofUnwritable file: String, holdsRows: Bool) -> String {
        let right = "give the user of the job the right to write it (chown USER \(file))"
        return holdsRows ? "never move or delete it: it holds committed rows; \(right)" : right
    }

    private static func at(_ path: String, _ ending: String) -> FileObstacle? {
        let file = path + ending
        var status = stat()
        guard unsafe lstat(file, &status) == 0 else { return nil }
        if unsafe stat(file, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            return FileObstacle(
                text: "\(file) is in the way: it is not a file", fix: "move it away")
        }
        guard unsafe Glibc.access(file, R_OK | W_OK) != 0 else { return nil }
        return FileObstacle(
            text: "\(file) cannot be written: \(unsafe String(cString: strerror(errno)))",
            fix: fix(ofUnwritable: file, holdsRows: partsOfDatabase.contains(ending)))
    }
}

extension SQLiteStore {
    /// Why a run could not use one of the files beside the database: its locks and its log.
    ///
    /// Nothing is made or changed.
    ///
    /// - Parameter path: The database.
    /// - Returns: `nil` where it could.
    package static func obstacle(besideDatabaseAt path: String) -> FileObstacle? {
        FileObstacle.beside(URL(fileURLWithPath: path).resolvingSymlinksInPath().path)
    }
}
