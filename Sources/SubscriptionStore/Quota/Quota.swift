import Foundation
import GRDB
package import Subscriptions

/// The calls of an hour, which every process on this database enters before it makes them.
extension SQLiteStore {
    /// Books calls, and returns those of an earlier grant that are not going to be made.
    ///
    /// - Parameters:
    ///   - wanted: How many calls are wanted, at least one.
    ///   - account: Whose.
    ///   - limit: The calls that any hour may have.
    ///   - unused: The rest of an earlier grant.
    ///   - now: Read inside the transaction, because the wait for the lock may have been long.
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
        try await write("returning booked calls") { db in
            try QuotaBooks(db: db, account: account).takeBack(unused)
        }
    }

    /// The calls of the hour that ends now, by every process on this database.
    ///
    /// - Parameters:
    ///   - account: Whose.
    ///   - now: The present.
    /// - Returns: Booked calls; notes of commands that leave the database as it is are not among
    ///   them.
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

    /// The calls and refusals that count at this moment; reads only.
    ///
    /// - Parameters:
    ///   - account: Whose.
    ///   - held: The notes next to the database, where there are any.
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

/// The last 429 of each endpoint: while it holds no process books a call.
extension SQLiteStore {
    /// Keeps a 429 in place of an earlier one.
    ///
    /// - Parameters:
    ///   - refusal: Until when Apple wants no calls, and the rate afterwards.
    ///   - account: Whose calls.
    /// - Throws: When the database cannot be written.
    package func keepRefusal(
        _ refusal: QuotaRefusal, of account: QuotaAccount
    ) async throws(StoreError) {
        try await write("storing a refusal for the quota") { db in
            try db.execute(
                sql: "INSERT OR REPLACE INTO trueup_quota_refusals VALUES (?, ?, ?, ?, ?)",
                arguments: account.arguments + [
                    refusal.resumesAt.unixMilliseconds, refusal.rateShare,
                ])
        }
    }

    /// The last 429 of each endpoint of an app, however long ago.
    ///
    /// - Parameter app: Whose.
    /// - Returns: By the endpoint's name.
    /// - Throws: When the database cannot be read.
    package func refusals(of app: AppIdentity) async throws(StoreError) -> [String: QuotaRefusal] {
        try await read("reading refusals for the quota") { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT endpoint, resumes_at, rate_share FROM trueup_quota_refusals
                    WHERE bundle_id = ? AND environment = ?
                    """, arguments: [app.bundleID, app.environment.rawValue])
            return rows.reduce(into: [:]) { refusals, row in
                let endpoint: String = row["endpoint"]
                refusals[endpoint] = QuotaRefusal(
                    resumesAt: Timestamp(unixMilliseconds: row["resumes_at"]),
                    rateShare: row["rate_share"])
            }
        }
    }
}

/// The calls of commands that leave the database as it is, in a file next to it.
///
/// `doctor` opens the database to read, and still makes calls that count. It enters each of them
/// here before it makes it. A run that books calls in the database adds this file's calls of the
/// last hour. The kernel's lock on the file keeps the two from overlooking each other.
package struct CallNotes: Sendable {
    /// How long to wait for the lock, which is held for milliseconds; a stopped process must not
    /// keep a run waiting for ever.
    private static let patienceMilliseconds = 2000
    private static let pollMilliseconds = 5

    let path: String

    /// - Parameter database: The database's path; a symbolic link leads to the same notes.
    package init(besideDatabaseAt database: String) {
        path = URL(fileURLWithPath: database).resolvingSymlinksInPath().path + "-calls"
    }

    /// Makes the file, for its owner alone, where there is none.
    ///
    /// Where that is impossible, nothing is noted, and nothing may depend on it.
    package func prepare() {
        let descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
    }

    /// Opens the file and locks it for as long as the result lives.
    ///
    /// - Returns: `nil` where there is no such file, or it may not be used.
    func hold() async -> HeldCallNotes? {
        let descriptor = unsafe Glibc.open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        let held = HeldCallNotes(owning: descriptor)
        var patience = Self.patienceMilliseconds
        while !held.isLocked(), patience > 0 {
            try? await Task.sleep(for: .milliseconds(Self.pollMilliseconds))
            patience -= Self.pollMilliseconds
        }
        return held
    }
}

/// The opened notes; the lock is freed with the last reference.
final class HeldCallNotes: Sendable {
    /// More than this is not read: an hour of `doctor` every second is a third of it.
    private static let maximumBytes = 1 << 20

    private let descriptor: Int32

    init(owning descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// The noted calls of one account, in any order.
    func buckets(of account: QuotaAccount) -> [QuotaWindow.Bucket] {
        lines.compactMap { $0.account == account ? $0.bucket : nil }
    }

    /// Whether the lock is, or now becomes, trueup's.
    func isLocked() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

    /// Notes calls before they are made, and forgets what no longer counts.
    ///
    /// A kill on the way leaves lines twice, never too few.
    ///
    /// - Returns: Whether they are on the disk.
    func enter(_ grant: QuotaGrant, of account: QuotaAccount, at now: Timestamp) -> Bool {
        let first = QuotaWindow.firstCounted(at: now)
        let bucket = QuotaWindow.Bucket(start: grant.bucket, calls: grant.calls)
        var kept = lines.filter { $0.bucket.start >= first }
        // One line for the calls of an account that leave the hour together, however many.
        let place = kept.firstIndex { $0.account == account && $0.bucket.start == bucket.start }
        if let place {
            kept[place].bucket.calls += bucket.calls
        } else {
            kept.append((account, bucket))
        }
        let bytes = kept.flatMap { line in
            let fields = [
                "\(line.bucket.start)", "\(line.bucket.calls)", line.account.app.bundleID,
                line.account.app.environment.rawValue, line.account.endpoint,
            ]
            return Array((fields.joined(separator: " ") + "\n").utf8)
        }
        let written = unsafe bytes.withUnsafeBytes { buffer in
            unsafe pwrite(descriptor, buffer.baseAddress, buffer.count, 0)
        }
        return written == bytes.count && ftruncate(descriptor, off_t(bytes.count)) == 0
            && fdatasync(descriptor) == 0
    }

    private var lines: [(account: QuotaAccount, bucket: QuotaWindow.Bucket)] {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_size > 0 else { return [] }
        let size = min(Int(clamping: status.st_size), Self.maximumBytes)
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            count = unsafe max(0, pread(descriptor, buffer.baseAddress, size, 0))
        }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap(Self.line)
    }

    /// `nil` for a line that was cut off, or that another program wrote.
    private static func line(
        _ text: Substring
    ) -> (account: QuotaAccount, bucket: QuotaWindow.Bucket)? {
        let fields = text.split(separator: " ").map(String.init)
        guard fields.count == 5, let start = Int64(fields[0]), let calls = Int(fields[1]),
            let environment = AppStoreEnvironment(rawValue: fields[3])
        else { return nil }
        let app = AppIdentity(bundleID: fields[2], environment: environment)
        return (
            QuotaAccount(app: app, endpoint: fields[4]),
            QuotaWindow.Bucket(start: start, calls: max(0, calls))
        )
    }
}

extension SQLiteStore {
    /// Notes a call next to the database, which stays as it is.
    ///
    /// - Parameters:
    ///   - account: Whose call.
    ///   - limit: The calls that any hour may have.
    ///   - now: The present.
    ///   - isRequired: Whether a call that cannot be noted may not be made. Without it a few calls are
    ///     made all the same: to find such faults is what `doctor` is for.
    /// - Returns: One call, or none where processes have made those of an hour, or a 429 holds.
    /// - Throws: When the database cannot be read, or a required note cannot be written.
    package func noteCall(
        of account: QuotaAccount, limit: Int, at now: Timestamp, isRequired: Bool = false
    ) async throws(StoreError) -> QuotaGrant {
        let held = await CallNotes(besideDatabaseAt: file.path).hold()
        if let refusal = try await refusal(of: account, at: now) {
            return QuotaGrant(during: refusal, limit: limit, at: now)
        }
        let grant = try await quotaWindow(of: account, noted: held, at: now)
            .grant(1, limit: limit, at: now)
        guard grant.calls > 0 else { return grant }
        let isNoted = held?.enter(grant, of: account, at: now) ?? false
        guard isNoted || !isRequired else {
            throw .notWritten(
                "\(file.path)-calls cannot be written, so calls to Apple cannot be counted, and none was "
                    + "made. A run makes that file; check its rights and the space on its disk.")
        }
        return grant
    }
}

extension QuotaAccount {
    var arguments: StatementArguments { [app.bundleID, app.environment.rawValue, endpoint] }

    static let condition = "bundle_id = ? AND environment = ? AND endpoint = ?"
}
