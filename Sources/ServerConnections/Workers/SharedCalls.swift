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
        var link: any ServerLink
        /// The place of the last reservation of each account: in which bucket of the caller's
        /// clock, and in which of the server's.
        var last: [QuotaAccount: Booked] = [:]
    }

    private struct Booked: Sendable {
        var bucket: Int64
        var serverBucket: Int64
    }

    /// - Parameter link: Where the tables are; bookings need a session of their own.
    package init(_ link: some ServerLink) { state = Mutex(State(link: link)) }

    /// Makes the tables, where they are not there.
    ///
    /// - Throws: `StoreError` where they cannot be made.
    package func prepare() throws(StoreError) {
        try state.withLock { state throws(StoreError) in try state.link.makeOurTables() }
    }

    /// Whether the tables are there and may be written at present: for a run that only looks, which
    /// makes nothing in a company's database.
    ///
    /// - Returns: `false` before the first job that writes, and for a user who may only read.
    /// - Throws: `StoreError` when it cannot be learned.
    package func mayBeUsed() throws(StoreError) -> Bool {
        try state.withLock { state throws(StoreError) in
            try state.link.mayBookCalls()
        }
    }

    /// The calls of all workers in the hour that ends now.
    ///
    /// - Parameter account: Whose.
    /// - Returns: What was booked and counts.
    /// - Throws: `StoreError` when it cannot be learned.
    package func booked(of account: QuotaAccount) throws(StoreError) -> Int {
        try state.withLock { state throws(StoreError) in
            try Self.used(of: account, in: &state.link)
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
            let (grant, clock) = try Self.enter(
                wanted, of: account, limit: limit, givingBack: unused, in: &state.link)
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
                bucket: own.bucket, serverBucket: Self.bucket(ofGrantAt: clock))
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
            try Self.keep(refusal, of: account, forMilliseconds: wait, in: &state.link)
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
            try Self.giveBack(unused, of: account, in: &state.link)
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

extension SharedCalls {
    private static func used<Link: ServerLink>(
        of account: QuotaAccount, in link: inout Link
    ) throws(StoreError) -> Int {
        try link.read("reading booked calls to Apple") { session throws(Link.Failure) in
            try Link.calls(of: account, in: session).used()
        }
    }

    private static func enter<Link: ServerLink>(
        _ wanted: Int, of account: QuotaAccount, limit: Int,
        givingBack unused: QuotaWindow.Bucket?, in link: inout Link
    ) throws(StoreError) -> (QuotaGrant, Timestamp) {
        // A transaction that is begun again may have been committed: nothing is given back twice.
        var isGivenBack = false
        return try link.write("booking calls to Apple") { session throws(Link.Failure) in
            let books = Link.calls(of: account, in: session)
            let clock = try books.hold()
            if let unused, !isGivenBack {
                isGivenBack = true
                try books.takeBack(unused)
            }
            if let refusal = try books.refusal(), refusal.holds(at: clock) {
                return (QuotaGrant(during: refusal, limit: limit, at: clock), clock)
            }
            let grant = try window(of: books, at: clock).grant(wanted, limit: limit, at: clock)
            if grant.calls > 0 { try books.enter(grant.calls, at: bucket(ofGrantAt: clock)) }
            return (grant, clock)
        }
    }

    private static func keep<Link: ServerLink>(
        _ refusal: QuotaRefusal, of account: QuotaAccount, forMilliseconds wait: Int64,
        in link: inout Link
    ) throws(StoreError) {
        try link.write("storing a refusal for the quota") { session throws(Link.Failure) in
            let books = Link.calls(of: account, in: session)
            let clock = try books.hold()
            try books.keep(refusal, until: clock.adding(milliseconds: wait))
        }
    }

    private static func giveBack<Link: ServerLink>(
        _ unused: QuotaWindow.Bucket, of account: QuotaAccount, in link: inout Link
    ) throws(StoreError) {
        var isGivenBack = false
        try link.write("returning booked calls") { session throws(Link.Failure) in
            guard !isGivenBack else { return }
            isGivenBack = true
            let books = Link.calls(of: account, in: session)
            _ = try books.hold()
            try books.takeBack(unused)
        }
    }

    /// The bucket in which a grant is entered: that in which its last call may be made.
    ///
    /// A grant is used within a bucket of the caller's clock, so for up to a bucket's length from
    /// now.
    private static func bucket(ofGrantAt clock: Timestamp) -> Int64 {
        QuotaWindow.bucket(of: clock.adding(milliseconds: QuotaWindow.bucketSeconds * 1000))
    }

    /// Forgets what no longer counts, and reads the rest.
    ///
    /// What lies further than an hour in the future was booked before the server's clock was set
    /// back: it counts from now on.
    private static func window<Books: CallBooks>(
        of books: Books, at clock: Timestamp
    ) throws(Books.Failure) -> QuotaWindow {
        let last = QuotaWindow.lastExpected(at: clock)
        let misplaced = try books.forget(before: QuotaWindow.firstCounted(at: clock), after: last)
            .filter { $0.start > last }
            .reduce(0) { $0.addingReportingOverflow($1.calls).partialValue }
        if misplaced > 0 { try books.enter(misplaced, at: QuotaWindow.bucket(of: clock)) }
        return QuotaWindow(try books.buckets(), at: clock)
    }
}

/// The booked calls of one account, within a transaction.
package protocol CallBooks {
    associatedtype Failure: ServerFault

    /// Keeps every other worker from reserving calls for this account until the transaction ends.
    ///
    /// - Returns: The server's clock then.
    /// - Throws: What the server said.
    func hold() throws(Failure) -> Timestamp

    /// The last 429, whichever worker was answered it.
    func refusal() throws(Failure) -> QuotaRefusal?

    /// Keeps a 429 in place of an earlier one.
    ///
    /// - Parameters:
    ///   - refusal: What Apple answered.
    ///   - end: Until when it holds, by the server's clock.
    /// - Throws: What the server said.
    func keep(_ refusal: QuotaRefusal, until end: Timestamp) throws(Failure)

    /// Counts the calls of the last hour without waiting, forgetting or moving any of them.
    func used() throws(Failure) -> Int

    /// Deletes buckets outside of a span of time.
    ///
    /// - Parameters:
    ///   - first: The first second that counts.
    ///   - last: The last one that is expected.
    /// - Returns: The deleted ones.
    /// - Throws: What the server said.
    func forget(before first: Int64, after last: Int64) throws(Failure) -> [QuotaWindow.Bucket]

    func buckets() throws(Failure) -> [QuotaWindow.Bucket]

    func enter(_ calls: Int, at second: Int64) throws(Failure)

    /// Takes calls out of a bucket, which may have been forgotten or moved: never below zero.
    func takeBack(_ unused: QuotaWindow.Bucket) throws(Failure)
}

extension CallBooks {
    /// How far back a bucket counts, seen from any moment.
    package static var countedSeconds: Int64 {
        -QuotaWindow.firstCounted(at: Timestamp(unixMilliseconds: 0))
    }

    /// Buckets as rows of text: second and calls.
    package static func buckets(_ rows: [[String?]]) -> [QuotaWindow.Bucket] {
        rows.compactMap { row in
            guard row.count == 2, let start = row[0].flatMap({ Int64($0) }),
                let calls = row[1].flatMap({ Int64($0) })
            else { return nil }
            return QuotaWindow.Bucket(
                start: start, calls: Int(clamping: min(max(0, calls), 1_000_000_000)))
        }
    }
}
