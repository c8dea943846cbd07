/// Every limit of the store, with its unit.
enum StoreLimits {
    /// How long SQLite waits for somebody else's lock before it gives up once.
    static let busyTimeoutSeconds = 10.0
    /// How often a transaction is tried when the lock does not come free: 40 s in all.
    static let busyAttempts = 4
    /// Page cache of a connection; the memory of a job must not depend on the table.
    static let cacheKibibytes = 8 * 1024
    /// Page caches of a connection that loads a file: its index is written in random order.
    static let loadingCacheKibibytes = 16 * 1024
    /// Files of at least so many lines are merged without keeping indexes up to date line by line.
    static let linesWorthSorting = 10_000
    /// Rows per transaction where a million may have to be written besides the company's services.
    static let rowsPerChunk = 5000
    /// Open passes older than this are not continued: too much may have changed since.
    static let passLifetimeMilliseconds: Int64 = 24 * 60 * 60 * 1000
    /// How long a lock is tried for at least: a `status` looks at it for an instant.
    static let lockPatienceMilliseconds = 250
    /// How long to pause between two tries for the lock.
    static let lockPollMilliseconds = 25
}
