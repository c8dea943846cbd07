package import Subscriptions
import Synchronization

/// The calls to Apple of all workers on a database, in a table of trueup's, booked before they are
/// made.
///
/// They are counted by the server's clock, because those of workers differ. What is booked and
/// never made, as by a worker that was killed, counts for its hour. Its calls block.
package final class SharedCalls: Sendable {
    private let state: Mutex<State>

    private struct State: Sendable {
        var keeper: SessionKeeper
        /// The place of the last reservation of each account: in which bucket of the caller's
        /// clock, and in which of the server's.
        var last: [QuotaAccount: Booked] = [:]
    }

    private struct Booked: Sendable {
        var bucket: Int64
        var serverBucket: Int64
    }

    /// - Parameters:
    ///   - connector: Opens sessions; bookings need one of their own.
    ///   - limits: How long a statement may take and wait.
    package init(_ connector: PostgresConnector, limits: SessionLimits = SessionLimits()) {
        state = Mutex(State(keeper: SessionKeeper(connector, limits: limits)))
    }

    /// Makes the tables, where they are not there.
    ///
    /// - Throws: `StoreError` where they cannot be made.
    package func prepare() throws(StoreError) {
        try state.withLock { state throws(StoreError) in try state.keeper.bringUpToDate() }
    }

    /// Whether the tables are there and may be written at present: for a run that only looks, which
    /// makes nothing in a company's database.
    ///
    /// - Returns: `false` before the first job that writes, and for a user who may only read.
    /// - Throws: `StoreError` when it cannot be learned.
    package func mayBeUsed() throws(StoreError) -> Bool {
        try state.withLock { state throws(StoreError) in
            for table in ["calls", "refusals"] {
                let rights = ["SELECT", "INSERT", "UPDATE", "DELETE"]
                guard try state.keeper.mayUse(table, for: rights) else { return false }
            }
            return true
        }
    }

    /// The calls of all workers in the hour that ends now.
    ///
    /// - Parameter account: Whose.
    /// - Returns: What was booked and counts.
    /// - Throws: `StoreError` when it cannot be learned.
    package func booked(of account: QuotaAccount) throws(StoreError) -> Int {
        try state.withLock { state throws(StoreError) in
            try state.keeper.read("reading booked calls to Apple") {
                session throws(ServerFailure) in
                try CallBooks(session: session, account: account).used()
            }
        }
    }

    /// Books calls, and returns those of the last booking that are not going to be made.
    ///
    /// - Parameters:
    ///   - wanted: How many calls are wanted, at least one.
    ///   - account: Whose.
    ///   - limit: The calls of any hour.
    ///   - unused: What is left of the caller's last grant.
    ///   - now: The caller's clock, by which it uses the grant.
    /// - Returns: As many calls as fit, in the bucket of the caller's clock; none while a 429
    ///   holds.
    /// - Throws: `StoreError` when nothing is known to be booked; then no call may be made.
    package func book(
        _ wanted: Int, of account: QuotaAccount, limit: Int, givingBack unused: QuotaGrant?,
        at now: Timestamp
    ) throws(StoreError) -> QuotaGrant {
        try state.withLock { state throws(StoreError) in
            let unused = Self.returned(unused, to: state.last[account])
            // A transaction that is begun again may have been committed: nothing is given back
            // twice.
            var isGivenBack = false
            let (grant, clock) = try state.keeper.write("booking calls to Apple") {
                session throws(ServerFailure) in
                let books = CallBooks(session: session, account: account)
                let clock = try books.hold()
                if let unused, !isGivenBack {
                    isGivenBack = true
                    try books.takeBack(unused)
                }
                if let refusal = try books.refusal(at: clock) {
                    return (QuotaGrant(during: refusal, limit: limit, at: clock), clock)
                }
                let grant = try books.window(at: clock).grant(wanted, limit: limit, at: clock)
                try books.enter(grant.calls, at: CallBooks.bucket(ofGrantAt: clock))
                return (grant, clock)
            }
            var own = grant
            own.bucket = QuotaWindow.bucket(of: now)
            own.nextFree = grant.nextFree.map {
                now.adding(milliseconds: $0.milliseconds(since: clock))
            }
            if let refusal = grant.refusal {
                own.refusal?.resumesAt = now.adding(
                    milliseconds: refusal.resumesAt.milliseconds(since: clock))
            }
            state.last[account] = Booked(
                bucket: own.bucket, serverBucket: CallBooks.bucket(ofGrantAt: clock))
            return own
        }
    }

    /// Keeps a 429 of Apple's, which holds for all workers.
    ///
    /// - Parameters:
    ///   - refusal: By the caller's clock.
    ///   - account: Whose calls.
    ///   - now: The caller's clock.
    /// - Throws: `StoreError` when it cannot be kept; then others learn it from Apple.
    package func keep(
        _ refusal: QuotaRefusal, of account: QuotaAccount, at now: Timestamp
    ) throws(StoreError) {
        let wait = min(
            max(0, refusal.resumesAt.milliseconds(since: now)), QuotaRefusal.longestMilliseconds)
        try state.withLock { state throws(StoreError) in
            try state.keeper.write("storing a refusal for the quota") {
                session throws(ServerFailure) in
                let books = CallBooks(session: session, account: account)
                _ = try books.hold()
                try books.keep(refusal, forMilliseconds: wait)
            }
        }
    }

    /// Returns what is left of the last grant; what cannot be returned counts as made.
    ///
    /// - Parameters:
    ///   - unused: As granted.
    ///   - account: Whose.
    /// - Throws: `StoreError` when it cannot be said.
    package func giveBack(_ unused: QuotaGrant, of account: QuotaAccount) throws(StoreError) {
        try state.withLock { state throws(StoreError) in
            guard let unused = Self.returned(unused, to: state.last[account])
            else { return }
            var isGivenBack = false
            try state.keeper.write("returning booked calls") { session throws(ServerFailure) in
                guard !isGivenBack else { return }
                isGivenBack = true
                let books = CallBooks(session: session, account: account)
                _ = try books.hold()
                try books.takeBack(unused)
            }
        }
    }

    /// Returns unused calls as a bucket of the server; `nil` where they are not of the last
    /// booking.
    private static func returned(_ unused: QuotaGrant?, to last: Booked?) -> QuotaWindow.Bucket? {
        guard let unused, let last, unused.calls > 0, unused.bucket == last.bucket else {
            return nil
        }
        return QuotaWindow.Bucket(start: last.serverBucket, calls: unused.calls)
    }
}
