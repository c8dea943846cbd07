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
        let doing = "looking for a customer's evidence"
        let keys = try await read(doing) { db in
            try EvidenceErasure.subscriptions(ofCustomer: customerID, db)
        }
        var found = CustomerEvidence(subscriptions: keys, kept: 0, erased: 0, reportedBy: [])
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
        for group in digests.sorted().groups {
            let part = try await read(doing) { db in
                try EvidenceErasure.tombstones(among: group, db)
            }
            found.kept += part.kept
            found.erased += part.erased
        }
        found.reportedBy = runs.sorted()
        return found
    }

    /// Erases a customer's payloads, some at a time, and what was imported of payments elsewhere; the
    /// rows, findings and ledger entries stay.
    ///
    /// Killed meanwhile, it has erased a part; given again, it erases the rest.
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
        let keys = try await read(doing) { db in
            try EvidenceErasure.subscriptions(ofCustomer: customerID, db)
        }
        var count = 0
        for group in keys.groups {
            let digests = try await read(doing) { db in
                try EvidenceErasure.digests(about: group, db)
            }
            for some in digests.sorted().groups {
                count += try await write(doing) { db in
                    let erasure = EvidenceErasure(db: db, now: now)
                    return try some.reduce(0) { try $0 + erasure.erase($1, because: .customer) }
                }
            }
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
        stride(from: 0, to: count, by: StoreLimits.correctionsPerChunk).map {
            Array(self[$0..<Swift.min($0 + StoreLimits.correctionsPerChunk, count)])
        }
    }
}
