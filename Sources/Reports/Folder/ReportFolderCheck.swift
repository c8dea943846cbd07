import Glibc
package import Subscriptions

/// Whether a run could write its report, as far as that shows without making or changing anything.
package enum ReportFolderCheck {
    /// Refuses a folder that a run would refuse, with the run's own words where it can.
    ///
    /// - Parameters:
    ///   - directory: The report folder; a run would make it where there is none.
    ///   - database: Whose run it would be; `nil` where it cannot be told.
    ///   - now: When it would begin: reports stand in a folder for each day.
    /// - Throws: What a run would end with: `.cannotCreate`, `.otherDatabase` or `.busy`.
    package static func refuse(
        _ directory: String, for database: ReportingDatabase?, at now: Timestamp
    ) throws(ReportError) {
        guard try isFolder(directory) else { return }
        let lock = directory + "/" + ReportFolderClaim.lockName
        try refuseLock(lock)
        if let database { try ReportFolderClaim.refuseOther(directory, than: database) }
        if let holder = holder(of: lock) {
            throw ReportFolderClaim.busy(directory, holder: holder)
        }
        _ = try isFolder(directory + "/" + now.utcDay)
        try ReportFolder.refuseObstacle(at: directory + "/" + ReportFolder.latest)
        do throws(ReportError) {
            _ = try RunIndex.read(in: directory)
        } catch {
            throw .cannotCreate(error.description)
        }
    }

    /// Whether the folder is there already; refuses one that could not be made or written to.
    private static func isFolder(_ path: String) throws(ReportError) -> Bool {
        var partial = path.hasPrefix("/") ? "/" : ""
        var above = path.hasPrefix("/") ? "/" : "."
        for component in path.split(separator: "/") {
            partial += component
            var status = stat()
            guard unsafe stat(partial, &status) == 0 else {
                let code = errno
                // A link that leads nowhere is in the way of the folder.
                guard code == ENOENT, FileSystem.entry(at: partial) == .nothing else {
                    let reason = code == ENOENT ? EEXIST : code
                    throw .cannotCreate(
                        FileSystem.sentence("cannot create the folder", partial, reason))
                }
                try refuseUnwritable(above)
                return false
            }
            guard status.st_mode & S_IFMT == S_IFDIR else {
                throw .cannotCreate(
                    FileSystem.sentence("cannot create the folder", partial, EEXIST))
            }
            above = partial
            partial += "/"
        }
        try refuseUnwritable(above)
        return true
    }

    private static func refuseUnwritable(_ folder: String) throws(ReportError) {
        guard unsafe access(folder, W_OK | X_OK) != 0 else { return }
        throw .cannotCreate(FileSystem.sentence("cannot write to the folder", folder, errno))
    }

    /// The run opens it to write, and follows no link.
    private static func refuseLock(_ path: String) throws(ReportError) {
        switch FileSystem.entry(at: path) {
        case .nothing: return
        case .folder: throw cannotOpen(path, EISDIR)
        case .link: throw cannotOpen(path, ELOOP)
        case .other:
            guard unsafe access(path, R_OK | W_OK) != 0 else { return }
            throw cannotOpen(path, errno)
        }
    }

    private static func cannotOpen(_ path: String, _ code: Int32) -> ReportError {
        .cannotCreate(FileSystem.sentence("cannot open the lock", path, code))
    }

    /// Who writes into the folder at this moment; a run that begins meanwhile looks again.
    private static func holder(of path: String) -> String? {
        let number = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard number >= 0 else { return nil }
        defer { close(number) }
        guard flock(number, LOCK_SH | LOCK_NB) != 0, errno == EWOULDBLOCK else { return nil }
        return ReportFolderClaim.note(in: number)
    }
}
