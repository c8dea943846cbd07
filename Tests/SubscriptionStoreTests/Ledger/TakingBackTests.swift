import SubscriptionStore
import Subscriptions
import TestSupport
import Testing

/// Taking the corrections of a run back.
@Suite struct `Taking back` {
    static let columns = SubscriptionField.stored.map(\.rawValue).joined(separator: ", ")

    private func rows(_ database: TemporaryDatabase) throws -> [[String]] {
        try database.rows("SELECT \(Self.columns) FROM subscriptions")
            + database.rows("SELECT * FROM transactions")
    }

    private func corrected(
        _ store: SQLiteStore, _ outcomes: [RowOutcome], run: String = "run-1"
    ) async throws {
        let night = try await Night.begin(store, Night.header(run))
        for outcome in outcomes { try await night.stage(outcome) }
        try await night.apply()
        try await night.conclude()
    }

    @discardableResult
    private func undo(
        _ runID: String, _ store: SQLiteStore, as run: String
    ) async throws -> (counts: UndoCounts, record: SQLiteRunRecord) {
        let night = try await Night.begin(store, Night.header(run, job: "undo \(runID)"))
        let counts = try await store.stageUndo(ofRun: runID, in: night.pass, run: night.run)
        try await night.apply()
        return (counts, try await night.conclude())
    }

    private func period(_ id: String, of row: String) -> RowOutcome {
        var result = outcome(row, .discrepancy)
        let evidence = payload("period\(id)")
        result.evidence = [evidence]
        result.corrections = [
            PlannedCorrection(
                target: .insertPeriod(
                    TransactionKey(
                        bundleID: app.bundleID, environment: "Production", transactionID: id),
                    of: key(row)),
                changes: .period([
                    .price: FieldChange(before: .null, after: .integer(990)),
                    .transactionID: FieldChange(before: .null, after: .text(id)),
                ]),
                kinds: [.transactionMissing], evidence: evidence.digest, evidenceRenewal: nil,
                appleSignedDate: Timestamp(unixMilliseconds: 5), reason: "missing")
        ]
        return result
    }

    /// Drift of a row that `drift` has been corrected in already.
    private func driftAgain(_ id: String) -> RowOutcome {
        var result = drift(id, version: 2, to: 5, signed: 6000)
        result.corrections[0].rewrite {
            $0[.status]?.before = .integer(2)
            $0[.signedDate]?.before = .time(Timestamp(unixMilliseconds: 5000))
        }
        return result
    }

    @Test func `every column is as it was, versions only grow`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load(["1", "2", "3"].map { subscription($0, customer: "c\($0)") })
        let before = try rows(database)
        try await corrected(store, [drift("1"), drift("2"), missing("7"), period("31", of: "3")])
        #expect(try rows(database) != before)
        let (counts, record) = try await undo("run-1", store, as: "undo")
        #expect(counts.ready == 4)
        #expect(try rows(database) == before)
        #expect(
            try database.rows("SELECT row_version FROM subscriptions") == [["3"], ["3"], ["1"]])
        let entries = try record.entries()
        #expect(entries.map(\.undoOf).compactMap(\.self).sorted() == [1, 2, 3, 4])
        #expect(entries.map(\.action) == [.update, .update, .delete, .delete])
        let first = try #require(entries.first)
        #expect(first.reason == "undo of run run-1, ledger entry 1")
        #expect(first.evidence == payload("transaction1-2").digest)
        #expect(
            first.changes.ofSubscription[.status]
                == FieldChange(before: .integer(2), after: .integer(1)))
        #expect(try record.summary().undoOf == "run-1")
    }

    @Test func `what was corrected is an open finding again, and not a recurring one`() async throws
    {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1"), subscription("2"), subscription("3")])
        try await corrected(store, [drift("1"), drift("2"), missing("7")])
        #expect(try store.overview(runs: 1).openFindings.isEmpty)
        // Somebody wrote to it since, so it stays as it is.
        try database.execute(
            "UPDATE subscriptions SET customer_id = 'c' WHERE original_transaction_id = '2'")
        try await undo("run-1", store, as: "undo")
        let open = try store.overview(runs: 1).openFindings
        #expect(Set(open.map(\.kind)) == [.accessUnpaid, .missingLocally])
        #expect(open.map(\.findings) == [1, 1])
        #expect(open.map(\.state) == [.open, .open])
        let night = try await Night.begin(
            store, Night.header("run-2", mode: .check, at: Night.start + 86_400_000))
        try await night.stage(drift("1", version: 3))
        #expect(try await night.conclude().findings().map(\.state) == [.open])
    }

    @Test func `a second time changes nothing`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        try await corrected(store, [drift("1")])
        try await undo("run-1", store, as: "undo")
        let before = try database.rows("SELECT * FROM subscriptions")
        let (counts, record) = try await undo("run-1", store, as: "again")
        #expect(counts.ready == 0)
        #expect(counts.done == 1)
        #expect(counts.conflicts == 0)
        #expect(try record.entries().isEmpty)
        #expect(try database.rows("SELECT * FROM subscriptions") == before)
    }

    @Test func `an undo can be undone, rows that it deleted come back`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1"), subscription("3")])
        try await corrected(store, [drift("1"), missing("7"), period("31", of: "3")])
        let corrected = try rows(database)
        try await undo("run-1", store, as: "undo")
        let (counts, record) = try await undo("undo", store, as: "redo")
        #expect(counts.ready == 3)
        #expect(try rows(database) == corrected)
        #expect(try record.entries().map(\.action) == [.update, .insert, .insert])
        // And that can be taken back once more.
        #expect(try await undo("redo", store, as: "last").counts.ready == 3)
        #expect(try rows(database).count == 2)
        let versions = try database.rows("SELECT row_version FROM subscriptions")
        #expect(versions == [["5"], ["1"]])
    }

    @Test func `a correction that an undone undo brought back names the run to undo`() async throws
    {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1"), subscription("3")])
        try await corrected(store, [drift("1"), missing("7"), period("31", of: "3")])
        let before = try rows(database)
        try await undo("run-1", store, as: "undo")
        try await undo("undo", store, as: "redo")
        let (counts, _) = try await undo("run-1", store, as: "again")
        #expect((counts.ready, counts.done, counts.conflicts) == (0, 0, 3))
        #expect(counts.named.allSatisfy { $0.hasSuffix("by run redo: trueup undo redo") })
        #expect(try rows(database) == before)
        // Once that run is undone, the correction is reverted, and the first undo is in force.
        #expect(try await undo("redo", store, as: "last").counts.ready == 3)
        #expect(try await undo("run-1", store, as: "later").counts.done == 3)
        #expect(try await undo("undo", store, as: "latest").counts.conflicts == 3)
    }

    @Test func `a later correction that was brought back stands in the way as well`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        try await corrected(store, [drift("1")])
        try await corrected(store, [driftAgain("1")], run: "run-2")
        try await undo("run-2", store, as: "undo")
        try await undo("undo", store, as: "redo")
        let (counts, _) = try await undo("run-1", store, as: "early")
        #expect(counts.named.map { $0.contains("undo run redo first") } == [true])
    }

    /// The company decides whether a row is there, after a correction and after its undo.
    @Test func `an export of changes says of a row whether it is there`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1"), subscription("2")])
        try await corrected(store, [drift("1"), drift("2"), missing("7"), missing("8")])
        try await undo("run-1", store, as: "undo")
        try store.load([subscription("7")])
        try database.execute("DELETE FROM subscriptions WHERE original_transaction_id = '2'")
        var changes: [String: RowAction] = [:]
        _ = try store.forEachChangedSubscription(from: .run(1)) { row, change in
            changes[row.key.originalTransactionID] = change?.action
        }
        #expect(changes == ["1": .update, "2": .delete, "7": .update, "8": .delete])
    }

    @Test func `rows that anybody wrote to since are named and left`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load(["1", "2", "3", "4", "5"].map { subscription($0) })
        try await corrected(
            store,
            [
                drift("1"), drift("2"), drift("3"), drift("4"), missing("7"), missing("8"),
                period("31", of: "5"),
            ])
        try database.execute(
            """
            UPDATE subscriptions SET status = 1 WHERE original_transaction_id = '1';
            UPDATE subscriptions SET customer_id = 'c' WHERE original_transaction_id = '2';
            DELETE FROM subscriptions WHERE original_transaction_id = '3';
            UPDATE subscriptions SET customer_id = 'c' WHERE original_transaction_id = '7';
            UPDATE transactions SET currency = 'EUR';
            """)
        let before = try database.rows(
            "SELECT * FROM subscriptions WHERE original_transaction_id IN ('1', '2', '3', '7')")
        let (counts, record) = try await undo("run-1", store, as: "undo")
        #expect(counts.ready == 2)
        #expect(
            Set(counts.named) == [
                "1: no longer as written: status",
                "2: the row was written to since (version 3, was 2)",
                "3: the row is gone", "7: no longer as written: customer_id",
                "5: no longer as written: currency",
            ])
        #expect(
            try database.rows(
                "SELECT * FROM subscriptions WHERE original_transaction_id IN ('1', '2', '3', '7')")
                == before)
        #expect(try record.entries().map(\.undoOf) == [4, 7])
        #expect(try record.summary().corrections[.stale] == 5)
        #expect(
            Set(try record.undecided().keys) == ["1", "2", "3", "5", "7"])
    }

    @Test func `a later correction stands in the way until it is taken back`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        try await corrected(store, [drift("1")])
        try await corrected(store, [driftAgain("1")], run: "run-2")
        let early = try await undo("run-1", store, as: "early")
        #expect(early.counts.conflicts == 1)
        #expect(early.counts.named.first?.contains("undo run run-2 first") == true)
        #expect(try await undo("run-2", store, as: "u2").counts.ready == 1)
        #expect(try await undo("run-1", store, as: "u1").counts.ready == 1)
        #expect(try database.value("SELECT status FROM subscriptions") == "1")
    }

    @Test func `a row corrected twice in one report goes back all the way`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let before = try rows(database)
        // Killed before its report; the next night, too late to go on, reports both.
        let killed = try await Night.begin(store, Night.header("killed"))
        try await killed.stage(drift("1"))
        try await killed.apply()
        let late = Night.start + 2 * 86_400_000
        let next = try await Night.begin(store, Night.header("next", at: late))
        try await next.stage(driftAgain("1"))
        try await next.apply()
        #expect(try await next.conclude().entries().count == 2)
        let (counts, record) = try await undo("next", store, as: "undo")
        #expect(counts.ready == 2)
        #expect(try record.entries().map(\.undoOf) == [2, 1])
        #expect(try rows(database) == before)
    }

    @Test func `a killed run is found by its own name`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let killed = try await Night.begin(store, Night.header("killed"))
        try await killed.stage(drift("1"))
        try await killed.apply()
        #expect(try await undo("killed", store, as: "undo").counts.ready == 1)
        #expect(try database.value("SELECT status FROM subscriptions") == "1")
    }

    @Test func `a history is read from its beginning once a period is taken back`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("3")])
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(period("31", of: "3"), revisions: ["3": "r1"])
        try await night.apply()
        try await night.conclude()
        #expect(try await store.scopedRows(["3"]).first?.historyRevision == "r1")
        try await undo("run-1", store, as: "undo")
        #expect(try await store.scopedRows(["3"]).first?.historyRevision == nil)
    }

    @Test func `looking changes no byte`() async throws {
        let database = try TemporaryDatabase()
        do {
            let store = try database.open()
            try store.load([subscription("1")])
            try await corrected(store, [drift("1")])
            try store.close()
        }
        let before = try database.files()
        let store = try database.open(.readOnly)
        var items: [UndoItem] = []
        try store.forEachUndo(ofRun: "run-1") { items.append($0) }
        #expect(items.map(\.entry.number) == [1])
        #expect(throws: StoreError.self) { try store.forEachUndo(ofRun: "none") { _ in } }
        #expect(try database.files()["trueup.sqlite"] == before["trueup.sqlite"])
    }

    /// Whatever runs write and in whatever order they are taken back, newest run first, the
    /// company's columns end as they began; versions never fall.
    @Test(arguments: 1...12)
    func `undo after apply is the identity`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let database = try TemporaryDatabase()
        let store = try database.open()
        let ids = (1...6).map(String.init)
        try store.load(ids.map { subscription($0, status: 1, customer: $0) })
        let before = try rows(database)
        var applied: [String] = []
        for number in 1...3 {
            let run = "run-\(number)"
            let night = try await Night.begin(store, Night.header(run))
            for row in try store.subscriptions() where Bool.random(using: &random) {
                let id = row.key.originalTransactionID
                var change = drift(
                    id, version: row.rowVersion, to: Int64.random(in: 1...5, using: &random),
                    signed: 5000 + Int64(number))
                change.corrections[0].rewrite {
                    $0[.status]?.before = FieldValue(row.status)
                    $0[.signedDate]?.before = FieldValue(row.signedDate)
                }
                try await night.stage(change)
            }
            if Bool.random(using: &random) { try await night.stage(missing("9\(number)")) }
            if Bool.random(using: &random) {
                try await night.stage(period("3\(number)", of: "3"))
            }
            try await night.apply(limit: Int.random(in: 1...4, using: &random))
            try await night.conclude()
            applied.append(run)
        }
        var versions = 0
        for run in applied.reversed() {
            let (counts, _) = try await undo(run, store, as: "undo-\(run)")
            #expect(counts.conflicts == 0, "seed \(seed), \(run): \(counts.named)")
            let sum = try #require(
                Int(try database.value("SELECT sum(row_version) FROM subscriptions") ?? ""))
            versions = max(versions, sum)
        }
        #expect(try rows(database) == before, "seed \(seed)")
        #expect(versions >= ids.count)
    }
}
