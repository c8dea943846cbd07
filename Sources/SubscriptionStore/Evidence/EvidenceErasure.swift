import Foundation
import GRDB
package import Subscriptions

/// Takes payloads out of the evidence and leaves tombstones: the digest stays, so that the ledger's
/// chain and everything that names the digest still hold.
struct EvidenceErasure {
    let db: Database
    let now: Timestamp

    /// The reason why a payload is gone.
    enum Reason: String {
        case customer, retention
        /// With the books: an earlier state of them was put back.
        case lost
    }

    /// The subscriptions and one-time purchases of a customer: those that we hold, and those of earlier
    /// findings.
    static func subscriptions(
        ofCustomer customerID: String, _ db: Database
    ) throws -> [SubscriptionKey] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT bundle_id, environment, original_transaction_id FROM subscriptions
                WHERE customer_id = ?1
                UNION SELECT bundle_id, environment, original_transaction_id FROM purchases
                WHERE customer_id = ?1
                UNION SELECT key_bundle_id, key_environment, original_transaction_id
                FROM trueup_pass_findings
                WHERE customer_id = ?1 AND original_transaction_id IS NOT NULL
                    AND key_bundle_id IS NOT NULL
                """,
            arguments: [customerID]
        ).map { SubscriptionKey($0, at: 0) }
    }

    /// How many of a customer's subscriptions are one-time purchases.
    static func purchases(ofCustomer customerID: String, _ db: Database) throws -> Int {
        try db.count(
            """
            SELECT count(*) FROM (
                SELECT bundle_id, environment, original_transaction_id FROM purchases
                WHERE customer_id = ?1
                EXCEPT SELECT bundle_id, environment, original_transaction_id FROM subscriptions
                WHERE customer_id = ?1)
            """, [customerID])
    }

    private static func arguments(_ keys: [SubscriptionKey]) -> StatementArguments {
        keys.reduce(into: StatementArguments()) { $0 += $1.arguments }
    }

    /// A query of several parts over a group of keys, named `k` with the columns `b`, `e` and `id`;
    /// to go with `arguments(_:)`.
    private static func overKeys(_ keys: [SubscriptionKey], _ query: String) -> String {
        let rows = keys.map { _ in "(?, ?, ?)" }.joined(separator: ", ")
        return "WITH k (b, e, id) AS (VALUES \(rows)) " + query
    }

    private static let isOfKeys =
        "(bundle_id, environment, original_transaction_id) IN (SELECT b, e, id FROM k)"

    /// Every payload that something of trueup's names in connection with subscriptions.
    static func digests(about keys: [SubscriptionKey], _ db: Database) throws -> Set<String> {
        try String.fetchSet(
            db,
            sql: overKeys(
                keys,
                """
                SELECT evidence FROM trueup_ledger WHERE \(isOfKeys)
                UNION SELECT evidence_renewal FROM trueup_ledger
                WHERE \(isOfKeys) AND evidence_renewal IS NOT NULL
                UNION SELECT evidence FROM trueup_pass_corrections WHERE \(isOfKeys)
                UNION SELECT evidence_renewal FROM trueup_pass_corrections
                WHERE \(isOfKeys) AND evidence_renewal IS NOT NULL
                UNION SELECT evidence FROM trueup_pass_findings
                WHERE (key_bundle_id, key_environment, original_transaction_id)
                    IN (SELECT b, e, id FROM k) AND evidence IS NOT NULL
                UNION SELECT evidence FROM trueup_notifications
                WHERE \(isOfKeys) AND original_transaction_id IS NOT NULL
                    AND evidence IS NOT NULL
                UNION SELECT evidence FROM trueup_pass_notifications
                WHERE \(isOfKeys) AND original_transaction_id IS NOT NULL
                """), arguments: arguments(keys))
    }

    /// Up to how many ids SQLite looks for in a payload before it is decoded.
    private static let mostSearchedIDs = 20
    /// How many numbers of payloads one reading transaction looks at.
    static let payloadsPerScan: Int64 = 10_000

    /// The kept payloads about subscriptions, by what they state themselves.
    ///
    /// Lists of earlier runs and old notifications are deleted, so a payload may be there that
    /// nothing names any more. Looks at `payloadsPerScan` numbers of payloads after the given one.
    static func digests(
        stating keys: Set<SubscriptionKey>, after last: Int64, _ db: Database
    ) throws -> Set<String> {
        let ids = Set(keys.map(\.originalTransactionID))
        var mayStateThem = "1"
        var arguments: StatementArguments = [last, last]
        if ids.count <= mostSearchedIDs {
            // A payload that holds others states their ids in base64, so it has to be decoded.
            let searches = ids.map { _ in "instr(p.rest, ?) > 0" }
            mayStateThem = (["ifnull(p.cuts, '-') <> ''"] + searches).joined(separator: " OR ")
            arguments += StatementArguments(ids.map { Data($0.utf8) })
        }
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT p.digest, a.bundle_id, a.environment FROM trueup_evidence AS p
                CROSS JOIN trueup_evidence_apps AS a ON a.app_id = p.app_id
                WHERE p.evidence_id > ? AND p.evidence_id <= ? + \(payloadsPerScan)
                    AND p.erased_at IS NULL AND (\(mayStateThem))
                """, arguments: arguments)
        let vault = EvidenceVault(db: db)
        let apps = Set(keys.map { [$0.bundleID, $0.environment] })
        var digests: Set<String> = []
        for row in rows {
            let digest = row.requiredText(at: 0)
            let (bundleID, environment) = (row.requiredText(at: 1), row.requiredText(at: 2))
            guard apps.contains([bundleID, environment]) else { continue }
            let payload: SignedPayload?
            do {
                payload = try vault.payload(EvidenceDigest(hexadecimal: digest))
            } catch StoreError.inconsistent {
                // One damaged payload must not prevent the erasure of others.
                continue
            }
            guard let payload, let decoded = CompactPayload.Decoded(Data(payload.jws.utf8))
            else { continue }
            let isStated = CompactPayload.originalIDs(in: decoded).contains { id in
                keys.contains(
                    SubscriptionKey(
                        bundleID: bundleID, environment: environment, originalTransactionID: id))
            }
            if isStated { digests.insert(digest) }
        }
        return digests
    }

    /// Of payloads, how many can still be read, and of how many only the tombstone is left.
    static func tombstones(
        among digests: [String], _ db: Database
    ) throws -> (kept: Int, erased: Int) {
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT sum(erased_at IS NULL), sum(erased_at IS NOT NULL) FROM trueup_evidence
                WHERE digest IN (\(digests.map { _ in "?" }.joined(separator: ", ")))
                """, arguments: StatementArguments(digests))
        return (row?.number(at: 0) ?? 0, row?.number(at: 1) ?? 0)
    }

    /// The runs whose reports show subscriptions or what was found of them.
    static func runs(reporting keys: [SubscriptionKey], _ db: Database) throws -> Set<String> {
        try String.fetchSet(
            db,
            sql: overKeys(
                keys,
                """
                SELECT r.run_id FROM trueup_pass_findings AS p
                JOIN trueup_runs AS r ON r.pass_id = p.pass_id
                JOIN trueup_run_findings AS f
                    ON f.run_seq = r.run_seq AND f.finding_seq = p.finding_seq
                WHERE (p.key_bundle_id, p.key_environment, p.original_transaction_id)
                    IN (SELECT b, e, id FROM k)
                UNION SELECT e.run_id FROM trueup_ledger AS l
                JOIN \(ReportedEntries.source) AS e ON e.entry = l.entry
                WHERE \(isOfKeys)
                UNION SELECT r.run_id FROM trueup_pass_corrections AS c
                JOIN trueup_runs AS r ON r.pass_id = c.pass_id AND c.staged_by <= r.run_seq
                    AND ifnull(c.superseded_by > r.run_seq, 1)
                WHERE \(isOfKeys)
                UNION SELECT r.run_id FROM trueup_pass_notifications AS n
                JOIN trueup_runs AS r ON r.pass_id = n.pass_id AND n.staged_by <= r.run_seq
                WHERE \(isOfKeys) AND original_transaction_id IS NOT NULL
                UNION SELECT r.run_id FROM trueup_run_undecided AS u
                JOIN trueup_runs AS r ON r.run_seq = u.run_seq WHERE \(isOfKeys)
                UNION SELECT r.run_id FROM trueup_run_not_found AS u
                JOIN trueup_runs AS r ON r.run_seq = u.run_seq WHERE \(isOfKeys)
                UNION SELECT r.run_id FROM trueup_unowned AS u
                JOIN trueup_runs AS r ON r.run_seq >= u.since_run
                    AND ifnull(r.run_seq < u.until_run, 1)
                    AND json_extract(r.measures, '$.unowned') IS NOT NULL
                WHERE \(isOfKeys)
                """), arguments: arguments(keys))
    }

    /// The events about subscriptions whose message is kept, by their ledger entries.
    static func messages(about keys: [SubscriptionKey], _ db: Database) throws -> [Int64] {
        try Int64.fetchAll(
            db,
            sql: overKeys(
                keys,
                "SELECT ledger_entry FROM trueup_outbox WHERE \(isOfKeys) AND body IS NOT NULL"),
            arguments: arguments(keys))
    }

    /// Takes out the message of an event; one that was not delivered yet is given up with that.
    func eraseMessage(ofEntry entry: Int64) throws {
        try db.executeCached(
            """
            UPDATE trueup_outbox SET body = NULL,
                given_up_at = CASE WHEN told_at IS NULL THEN ifnull(given_up_at, ?) END,
                last_error = CASE WHEN told_at IS NULL THEN 'erased before it was told' END
            WHERE ledger_entry = ?
            """, [now.unixMilliseconds, entry])
    }

    /// Erases one payload, and those that it carries inside; how many there were to erase.
    ///
    /// Of those inside, tombstones are left too where they were never alone: they would come back
    /// when they are read from somewhere else.
    func erase(_ digest: String, because reason: Reason) throws -> Int {
        var erased = 0
        let vault = EvidenceVault(db: db)
        if let payload = try vault.payload(EvidenceDigest(hexadecimal: digest)) {
            let decoded = CompactPayload.Decoded(Data(payload.jws.utf8))
            for inner in decoded.map(CompactPayload.digests) ?? [] {
                erased += try eraseAlone(inner, because: reason) ? 1 : 0
                try vault.insertTombstone(inner, at: now, because: reason.rawValue)
            }
        }
        return try eraseAlone(digest, because: reason) ? erased + 1 : erased
    }

    private func eraseAlone(_ digest: String, because reason: Reason) throws -> Bool {
        try db.executeCached(
            """
            UPDATE trueup_evidence
            SET rest = x'', cuts = '', erased_at = ?, erased_because = ?
            WHERE digest = ? AND erased_at IS NULL
            """, [now.unixMilliseconds, reason.rawValue, digest])
        return db.changesCount == 1
    }

    /// Erases up to a chunk of an app's payloads that were stored by the end of a run.
    ///
    /// - Returns: How many were erased; `nil` when none is left.
    func expire(
        _ app: AppIdentity, through lastEvidenceID: Int64
    ) throws -> Int? {
        guard
            let known = try Row.fetchOne(
                db,
                sql: """
                    SELECT app_id, expired_through FROM trueup_evidence_apps
                    WHERE bundle_id = ? AND environment = ?
                    """,
                arguments: [app.bundleID, app.environment.rawValue]),
            let appID = known.integer(at: 0), let start = known.integer(at: 1),
            start < lastEvidenceID
        else { return nil }
        let end = min(lastEvidenceID, start + Int64(StoreLimits.rowsPerChunk))
        try db.execute(
            sql: """
                UPDATE trueup_evidence
                SET rest = x'', cuts = '', erased_at = ?, erased_because = ?
                WHERE evidence_id > ? AND evidence_id <= ? AND app_id = ? AND erased_at IS NULL
                """,
            arguments: [now.unixMilliseconds, Reason.retention.rawValue, start, end, appID])
        let erased = db.changesCount
        try db.execute(
            sql: "UPDATE trueup_evidence_apps SET expired_through = ? WHERE app_id = ?",
            arguments: [end, appID])
        return erased
    }
}

/// The kept signed payloads of one customer.
package struct CustomerEvidence: Hashable, Sendable {
    package var subscriptions: [SubscriptionKey]
    /// Payloads that can still be read.
    package var kept: Int
    /// Payloads of which only the tombstone is left.
    package var erased: Int
    /// Events about the customer's corrections whose message is kept.
    package var events = 0
    /// Runs whose report folders show the customer's payloads or rows, oldest first.
    package var reportedBy: [String]
    /// Earlier runs whose lists are deleted, so that it is not known all that their report folders
    /// show, oldest first.
    package var unlistedRuns: [String] = []
    /// How many of `subscriptions` are one-time purchases.
    package var purchases = 0
}

extension SQLiteStore {
    /// The kept payloads of a customer; reads only.
    package func evidence(
        ofCustomer customerID: String
    ) async throws(StoreError) -> CustomerEvidence {
        let doing = "looking for a customer's evidence"
        let keys = try await read(doing) { db in
            try EvidenceErasure.subscriptions(ofCustomer: customerID, db)
        }
        var found = CustomerEvidence(subscriptions: keys, kept: 0, erased: 0, reportedBy: [])
        found.purchases = try await read(doing) { db in
            try EvidenceErasure.purchases(ofCustomer: customerID, db)
        }
        var digests: Set<String> = []
        var runs: Set<String> = []
        for group in keys.groups {
            let part = try await read(doing) { db in
                (
                    digests: try EvidenceErasure.digests(about: group, db),
                    messages: try EvidenceErasure.messages(about: group, db),
                    runs: try EvidenceErasure.runs(reporting: group, db)
                )
            }
            digests.formUnion(part.digests)
            found.events += part.messages.count
            runs.formUnion(part.runs)
        }
        digests.formUnion(try await self.digests(stating: keys, doing))
        for group in digests.sorted().groups {
            let part = try await read(doing) { db in
                try EvidenceErasure.tombstones(among: group, db)
            }
            found.kept += part.kept
            found.erased += part.erased
        }
        found.reportedBy = runs.sorted()
        found.unlistedRuns = try await read(doing) { db in
            try String.fetchAll(
                db,
                sql: """
                    SELECT run_id FROM trueup_runs WHERE lists_deleted_at IS NOT NULL
                    ORDER BY run_seq
                    """)
        }
        return found
    }

    /// Looks once through all kept payloads for those about a customer's subscriptions.
    private func digests(
        stating keys: [SubscriptionKey], _ doing: String
    ) async throws(StoreError) -> Set<String> {
        guard !keys.isEmpty else { return [] }
        let last = try await read(doing) { db in
            try Int64.fetchOne(db, sql: "SELECT max(evidence_id) FROM trueup_evidence") ?? 0
        }
        let wanted = Set(keys)
        var digests: Set<String> = []
        for start in stride(
            from: Int64(0), to: last, by: Int(EvidenceErasure.payloadsPerScan))
        {
            let some = try await read(doing) { db in
                try EvidenceErasure.digests(stating: wanted, after: start, db)
            }
            digests.formUnion(some)
        }
        return digests
    }

    /// Erases payloads, some at a time; how many there were to erase.
    private func erase(
        _ digests: Set<String>, at now: Timestamp, _ doing: String
    ) async throws(StoreError) -> Int {
        var count = 0
        for some in digests.sorted().groups {
            count += try await write(doing) { db in
                let erasure = EvidenceErasure(db: db, now: now)
                return try some.reduce(0) { try $0 + erasure.erase($1, because: .customer) }
            }
        }
        return count
    }

    /// Erases a customer's payloads, some at a time, and what was imported of payments elsewhere;
    /// the rows, findings and ledger entries stay.
    ///
    /// Killed meanwhile, it has erased a part; given again, it erases the rest.
    ///
    /// What was written is overwritten on the disk too (`secure_delete`), the write-ahead log is
    /// emptied. Messages that wait to be told hold the customer's row: they go as well, told or
    /// not.
    ///
    /// - Returns: How many payloads were erased.
    /// - Throws: `.busy` when everything was erased, but another process reads the database as it
    ///   was before, so that the old pages stay on the disk until they have ended; to be called
    ///   again then.
    package func eraseEvidence(
        ofCustomer customerID: String, at now: Timestamp
    ) async throws(StoreError) -> Int {
        let doing = "erasing a customer's evidence"
        try await withoutTransaction(doing) { try $0.execute(sql: "PRAGMA secure_delete = ON") }
        let keys = try await read(doing) { db in
            try EvidenceErasure.subscriptions(ofCustomer: customerID, db)
        }
        var count = 0
        for group in keys.groups {
            let digests = try await read(doing) { db in
                try EvidenceErasure.digests(about: group, db)
            }
            count += try await erase(digests, at: now, doing)
            let messages = try await read(doing) { db in
                try EvidenceErasure.messages(about: group, db)
            }
            for some in messages.groups {
                try await write(doing) { db in
                    let erasure = EvidenceErasure(db: db, now: now)
                    for entry in some { try erasure.eraseMessage(ofEntry: entry) }
                }
            }
            try await write(doing) { db in
                try OtherPayments.erase(of: group, db)
                try PaidNeighbours(db: db).forget(group)
            }
        }
        count += try await erase(try await digests(stating: keys, doing), at: now, doing)
        try await write(doing) { db in
            try RefundReads.forget(customerID, inAppsOf: keys, db)
            try EntitlementBook(db: db, catalogue: nil).forgetUnlessStored(customerID)
            try UnownedList.forget(customerID, db)
        }
        try await overwriteOldPages(doing)
        return count
    }

    /// Moves the log into the file and empties it: only then is nothing of the old pages left.
    private func overwriteOldPages(_ doing: String) async throws(StoreError) {
        let isDone = try await withoutTransaction(doing) { db in
            let wait = "PRAGMA busy_timeout = "
            try db.execute(sql: wait + "\(StoreLimits.checkpointPatienceMilliseconds)")
            let row = try Row.fetchOne(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
            try db.execute(sql: wait + "\(Int(StoreLimits.busyTimeoutSeconds * 1000))")
            return row?.integer(at: 0) == 0
        }
        guard isDone else {
            throw .busy(
                "The payloads are erased, but another program still reads the database as it was "
                    + "before, so their old pages are still on the disk (\(file.path)-wal). End "
                    + "the program that reads, then run the same command again: it overwrites them."
            )
        }
    }

    /// Erases an app's payloads that no run younger than the given time stored.
    ///
    /// - Returns: How many payloads were erased.
    package func expireEvidence(
        of app: AppIdentity, storedBefore limit: Timestamp, at now: Timestamp
    ) async throws(StoreError) -> Int {
        let doing = "erasing evidence past its retention"
        let last = try await read(doing) { db in
            try Int64.fetchOne(
                db,
                sql: """
                    SELECT max(e.last_evidence_id) FROM trueup_run_evidence AS e
                    JOIN trueup_runs AS r ON r.run_seq = e.run_seq WHERE r.ended < ?
                    """,
                arguments: [limit.unixMilliseconds])
        }
        guard let last else { return 0 }
        var total = 0
        while true {
            let erased = try await write(doing) { db in
                try EvidenceErasure(db: db, now: now).expire(app, through: last)
            }
            guard let erased else { return total }
            total += erased
        }
    }
}

extension Array where Element: Sendable {
    /// As many at once as one statement and one short transaction take.
    fileprivate var groups: [[Element]] {
        chunked(by: StoreLimits.correctionsPerChunk).map(Array.init)
    }
}
