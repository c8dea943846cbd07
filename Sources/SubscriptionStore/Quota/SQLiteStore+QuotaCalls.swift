import GRDB
package import Subscriptions

/// The calls of an hour, which every process on this database enters before it makes them.
extension SQLiteStore {
    /// Books calls, and takes back those of an earlier grant that are not going to be made.
    ///
    /// - Parameters:
    ///   - wanted: How many calls are wanted, at least one.
    ///   - account: Whose.
    ///   - limit: The calls that any hour may have.
    ///   - unused: What is left of an earlier grant.
    ///   - now: Asked inside the transaction: whoever waited for the lock books in the present.
    /// - Returns: What was booked: as many calls as fit, up to `wanted`; none while a 429 holds.
    /// - Throws: When the database cannot be written; then nothing is booked.
    package func bookCalls(
        _ wanted: Int, of account: QuotaAccount, limit: Int, givingBack unused: QuotaGrant?,
        now: @escaping @Sendable () -> Timestamp
    ) async throws(StoreError) -> QuotaGrant {
        // Locked before the transaction, so that it never waits inside, and until it is committed.
        let held = await CallNotes(besideDatabaseAt: file.path).hold()
        let grant = try await write("booking calls to Apple") { db in
            let books = QuotaBooks(db: db, account: account)
            let now = now()
            if let unused { try books.takeBack(unused) }
            if let refusal = try books.refusal(at: now) {
                return QuotaGrant(during: refusal, limit: limit, at: now)
            }
            try books.forgetWhatDoesNotCount(at: now)
            let grant = try books.window(noted: held, at: now).grant(wanted, limit: limit, at: now)
            try books.enter(grant)
            return grant
        }
        return withExtendedLifetime(held) { grant }
    }

    /// Takes back calls that were booked and are not going to be made.
    ///
    /// - Parameters:
    ///   - unused: What is left of a grant.
    ///   - account: Whose.
    /// - Throws: When the database cannot be written; then they count as made.
    package func giveBackCalls(
        _ unused: QuotaGrant, of account: QuotaAccount
    ) async throws(StoreError) {
        try await write("giving back booked calls") { db in
            try QuotaBooks(db: db, account: account).takeBack(unused)
        }
    }

    /// The calls of the hour that ends now, by every process on this database.
    ///
    /// - Parameters:
    ///   - account: Whose.
    ///   - now: The present.
    /// - Returns: Booked calls; notes of commands that leave the database as it is are not among them.
    /// - Throws: When the database cannot be read.
    package func bookedCalls(
        of account: QuotaAccount, at now: Timestamp
    ) async throws(StoreError) -> Int {
        try await quotaWindow(of: account, noted: nil, at: now).used
    }

    /// The 429 that still holds; reads only.
    ///
    /// - Parameters:
    ///   - account: Whose calls.
    ///   - now: The present.
    /// - Returns: `nil` where calls may be made.
    /// - Throws: When the database cannot be read.
    func refusal(
        of account: QuotaAccount, at now: Timestamp
    ) async throws(StoreError) -> QuotaRefusal? {
        try await read("reading refusals for the quota") { db in
            try QuotaBooks(db: db, account: account).refusal(at: now)
        }
    }

    /// What was booked or noted and counts at this moment; reads only.
    ///
    /// - Parameters:
    ///   - account: Whose.
    ///   - held: The notes beside the database, where there are any.
    ///   - now: The present.
    /// - Returns: The window of the hour that ends now.
    /// - Throws: When the database cannot be read.
    func quotaWindow(
        of account: QuotaAccount, noted held: HeldCallNotes?, at now: Timestamp
    ) async throws(StoreError) -> QuotaWindow {
        try await read("reading the booked calls to Apple") { db in
            try QuotaBooks(db: db, account: account).window(noted: held, at: now)
        }
    }
}

/// The booked calls of one account, within a transaction.
private struct QuotaBooks {
    let db: Database
    let account: QuotaAccount

    func window(noted held: HeldCallNotes?, at now: Timestamp) throws -> QuotaWindow {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT second, calls FROM trueup_quota_calls
                WHERE \(QuotaAccount.condition) AND second BETWEEN ? AND ?
                """,
            arguments: account.arguments + [
                QuotaWindow.firstCounted(at: now), QuotaWindow.lastExpected(at: now),
            ])
        let booked = rows.map { row in
            let calls = Int64.fromDatabaseValue(row["calls"]) ?? 0
            return QuotaWindow.Bucket(start: row["second"], calls: Int(clamping: max(0, calls)))
        }
        return QuotaWindow(booked + (held?.buckets(of: account) ?? []), at: now)
    }

    /// The 429 that still holds, whichever process was answered it.
    func refusal(at now: Timestamp) throws -> QuotaRefusal? {
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT resumes_at, rate_share FROM trueup_quota_refusals
                WHERE \(QuotaAccount.condition)
                """, arguments: account.arguments)
        guard let row else { return nil }
        let refusal = QuotaRefusal(
            resumesAt: Timestamp(unixMilliseconds: row["resumes_at"]),
            rateShare: row["rate_share"])
        return refusal.holds(at: now) ? refusal : nil
    }

    func enter(_ grant: QuotaGrant) throws {
        guard grant.calls > 0 else { return }
        try add(grant.calls, at: grant.bucket)
    }

    /// Never below zero: the bucket may have been forgotten, or moved, since.
    func takeBack(_ unused: QuotaGrant) throws {
        try db.execute(
            sql: """
                UPDATE trueup_quota_calls SET calls = max(0, calls - ?)
                WHERE \(QuotaAccount.condition) AND second = ?
                """,
            arguments: [unused.calls] + account.arguments + [unused.bucket])
    }

    /// Deletes what is older than an hour.
    ///
    /// What lies further than an hour in the future was booked before the clock was set back: it
    /// counts from now on.
    func forgetWhatDoesNotCount(at now: Timestamp) throws {
        try db.execute(
            sql: "DELETE FROM trueup_quota_calls WHERE \(QuotaAccount.condition) AND second < ?",
            arguments: account.arguments + [QuotaWindow.firstCounted(at: now)])
        let later = account.arguments + [QuotaWindow.lastExpected(at: now)]
        let misplaced = try Int.fetchOne(
            db,
            sql: """
                SELECT min(sum(max(0, min(calls, 1000000000))), 1000000000) FROM trueup_quota_calls
                WHERE \(QuotaAccount.condition) AND second > ?
                """, arguments: later)
        guard let misplaced, misplaced > 0 else { return }
        try db.execute(
            sql: "DELETE FROM trueup_quota_calls WHERE \(QuotaAccount.condition) AND second > ?",
            arguments: later)
        try add(misplaced, at: QuotaWindow.bucket(of: now))
    }

    private func add(_ calls: Int, at second: Int64) throws {
        try db.execute(
            sql: """
                INSERT INTO trueup_quota_calls VALUES (?, ?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET calls = calls + excluded.calls
                """, arguments: account.arguments + [second, calls])
    }
}
