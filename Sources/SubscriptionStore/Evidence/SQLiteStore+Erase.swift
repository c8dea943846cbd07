import GRDB
package import Subscriptions

/// What is kept of one customer's signed payloads.
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
                found.events += try EvidenceErasure.messages(about: key, db)
                runs.formUnion(try Self.runs(reporting: key, db))
            }
            found.reportedBy = runs.sorted()
            return found
        }
    }

    /// Erases a customer's payloads; the rows, findings and ledger entries stay.
    ///
    /// What was written is overwritten on the disk too (`secure_delete`), the write-ahead log is
    /// emptied. Messages that wait to be told hold the customer's row: they go as well, told or not.
    ///
    /// - Returns: How many payloads were erased.
    /// - Throws: `.busy` when everything was erased, but somebody reads what stood there before, so
    ///   that the old pages stay on the disk until they have ended; to be called again then.
    package func eraseEvidence(
        ofCustomer customerID: String, at now: Timestamp
    ) async throws(StoreError) -> Int {
        let doing = "erasing a customer's evidence"
        try await withoutTransaction(doing) { try $0.execute(sql: "PRAGMA secure_delete = ON") }
        let count = try await write(doing) { db in
            let erasure = EvidenceErasure(db: db, now: now)
            var erased = 0
            for key in try EvidenceErasure.subscriptions(ofCustomer: customerID, db) {
                for digest in try EvidenceErasure.digests(about: key, db) {
                    erased += try erasure.erase(digest, because: .customer)
                }
                try erasure.eraseMessages(about: key)
            }
            return erased
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

    private static func runs(reporting key: SubscriptionKey, _ db: Database) throws -> Set<String> {
        try String.fetchSet(
            db,
            sql: """
                SELECT r.run_id FROM trueup_run_findings AS f
                JOIN trueup_pass_findings AS p ON p.finding_seq = f.finding_seq
                JOIN trueup_runs AS r ON r.run_seq = f.run_seq
                WHERE p.key_bundle_id = ?1 AND p.key_environment = ?2
                    AND p.original_transaction_id = ?3
                UNION SELECT e.run_id FROM trueup_ledger AS l
                JOIN trueup_reported_entries AS e ON e.entry = l.entry
                WHERE l.bundle_id = ?1 AND l.environment = ?2 AND l.original_transaction_id = ?3
                UNION SELECT r.run_id FROM trueup_pass_corrections AS c
                JOIN trueup_runs AS r ON r.pass_id = c.pass_id AND c.staged_by <= r.run_seq
                    AND ifnull(c.superseded_by > r.run_seq, 1)
                WHERE c.bundle_id = ?1 AND c.environment = ?2 AND c.original_transaction_id = ?3
                UNION SELECT r.run_id FROM trueup_pass_notifications AS n
                JOIN trueup_runs AS r ON r.pass_id = n.pass_id AND n.staged_by <= r.run_seq
                WHERE n.bundle_id = ?1 AND n.environment = ?2 AND n.original_transaction_id = ?3
                UNION SELECT r.run_id FROM trueup_run_undecided AS u
                JOIN trueup_runs AS r ON r.run_seq = u.run_seq
                WHERE u.bundle_id = ?1 AND u.environment = ?2 AND u.original_transaction_id = ?3
                UNION SELECT r.run_id FROM trueup_run_not_found AS u
                JOIN trueup_runs AS r ON r.run_seq = u.run_seq
                WHERE u.bundle_id = ?1 AND u.environment = ?2 AND u.original_transaction_id = ?3
                """,
            arguments: key.arguments)
    }
}
