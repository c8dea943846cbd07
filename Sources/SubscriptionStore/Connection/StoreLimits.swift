/// Every limit of the store, with its unit.
enum StoreLimits {
    /// How long SQLite waits for somebody else's lock before it gives up once.
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
    /// nobody may be kept waiting for 100 ms.
    static let rowsPerChunk = 1000
    /// The same where each row takes several statements.
    static let correctionsPerChunk = 200
    /// Corrections of one transaction, each with its ledger entry and event.
    static let correctionsPerBatch = 100
    /// The same where each row changes a table and its indexes at random places.
    static let scatteredRowsPerChunk = 500
    /// After a write as long as this or longer others get a turn before the next one.
    static let courteousAfterMilliseconds = 2
    /// The longest turn that others get between two writes.
    static let courtesyMilliseconds = 20
    /// How long a lock is tried for at least: a `status` looks at it for an instant.
    static let lockPatienceMilliseconds = 250
    /// How long to pause between two tries for the lock.
    static let lockPollMilliseconds = 25
}
