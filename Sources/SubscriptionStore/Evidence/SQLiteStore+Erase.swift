import GRDB
package import Subscriptions

/// What is kept of one customer's signed payloads.
package struct CustomerEvidence: Hashable, Sendable {
    package var subscriptions: [SubscriptionKey]
    /// Payloads that can still be read.
    package var kept: Int
    /// Payloads of which only the tombstone is left.
    package var erased: Int
    /// Runs whose report folders hold some of them, oldest first.
    package var reportedBy: [String]
}

extension SQLiteStore {
    /// What is kept of a customer's payloads; reads only.
    package func evidence(
        ofCustomer customerID: String
    ) async throws(StoreError) -> CustomerEvidence {
        try await read("looking for a customer's evidence") { db in
            let keys = try EvidenceErasure.subscriptions(ofCustomer: customerID, db)
            var found = CustomerEvidence(subscriptions: keys, kept: 0, erased: 0, reportedBy: [])
            var runs: Set<String> = []
            for key in keys {
                for digest in try EvidenceErasure.digests(about: key, db) {
                    let erased = try Bool.fetchOne(
                        db,
                        sql: "SELECT erased_at IS NOT NULL FROM trueup_evidence WHERE digest = ?",
                        arguments: [digest])
                    if erased == false { found.kept += 1 }
                    if erased == true { found.erased += 1 }
                }
                runs.formUnion(try Self.runs(reporting: key, db))
            }
            found.reportedBy = runs.sorted()
            return found
        }
    }

    /// Erases a customer's payloads; the rows, findings and ledger entries stay.
    ///
    /// What was written is overwritten on the disk too (`secure_delete`), the write-ahead log is
    /// emptied.
    ///
    /// - Returns: How many payloads were erased.
    package func eraseEvidence(
        ofCustomer customerID: String, at now: Timestamp
    ) async throws(StoreError) -> Int {
        let doing = "erasing a customer's evidence"
        try await withoutTransaction(doing) { try $0.execute(sql: "PRAGMA secure_delete = ON") }
        let count = try await write(doing) { db in
            let erasure = EvidenceErasure(db: db, now: now)
            var erased = 0
            for key in try EvidenceErasure.subscriptions(ofCustomer: customerID, db) {
                for digest in try EvidenceErasure.digests(about: key, db)
                where try erasure.erase(digest, because: .customer) {
                    erased += 1
                }
            }
            return erased
        }
        try await withoutTransaction(doing) { db in
            try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        }
        return count
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

    private static func runs(reporting key: SubscriptionKey, _ db: Database) throws -> Set<String> {
        try String.fetchSet(
            db,
            sql: """
                SELECT r.run_id FROM trueup_run_findings AS f
                JOIN trueup_pass_findings AS p ON p.finding_seq = f.finding_seq
                JOIN trueup_runs AS r ON r.run_seq = f.run_seq
                WHERE p.key_bundle_id = ?1 AND p.key_environment = ?2
                    AND p.original_transaction_id = ?3
                UNION SELECT l.run_id FROM trueup_ledger AS l
                WHERE l.bundle_id = ?1 AND l.environment = ?2 AND l.original_transaction_id = ?3
                """,
            arguments: key.arguments)
    }
}
