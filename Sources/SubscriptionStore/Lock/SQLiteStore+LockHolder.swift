package import Subscriptions

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
