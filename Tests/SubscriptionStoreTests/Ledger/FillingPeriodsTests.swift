import SubscriptionStore
import Subscriptions
import Testing

/// Filling in empty columns of stored periods, and taking that back.
@Suite struct `Filling periods` {
    private func period(_ id: String) -> TransactionKey {
        TransactionKey(bundleID: app.bundleID, environment: "Production", transactionID: id)
    }

    /// What Apple states of an empty price and an empty text of the currency.
    private func fill(_ id: String, of row: String, signed: Int64 = 5000) -> RowOutcome {
        var result = outcome(row, .match)
        let evidence = payload("period\(id)")
        result.evidence = [evidence]
        result.corrections = [
            PlannedCorrection(
                target: .updatePeriod(period(id), of: key(row)),
                changes: .period([
                    .price: FieldChange(before: .null, after: .integer(990)),
                    .currency: FieldChange(before: .text(""), after: .text("EUR")),
                ]),
                kinds: [], evidence: evidence.digest, evidenceRenewal: nil,
                appleSignedDate: Timestamp(unixMilliseconds: signed), reason: "Fills in.")
        ]
        return result
    }

    /// A subscription with two stored periods without a price.
    private func held(_ database: TemporaryDatabase) throws -> SQLiteStore {
        let store = try database.open()
        try store.load([subscription("1")])
        try database.execute(
            """
            INSERT INTO transactions (
                transaction_id, original_transaction_id, environment, bundle_id, product_id,
                currency, signed_date)
            VALUES ('11', '1', 'Production', 'com.example.app', 'pro', '', 4000),
                ('12', '1', 'Production', 'com.example.app', 'pro', '', 4000)
            """)
        return store
    }

    private func periods(_ database: TemporaryDatabase) throws -> [[String]] {
        try database.rows("SELECT *, typeof(price), typeof(currency) FROM transactions")
    }

    private func filled(
        _ store: SQLiteStore, _ outcome: RowOutcome, run: String = "run-1",
        _ meanwhile: () throws -> Void = {}
    ) async throws -> SQLiteRunRecord {
        let night = try await Night.begin(store, Night.header(run))
        try await night.stage(outcome, revisions: ["1": "r1"])
        try meanwhile()
        try await night.apply()
        return try await night.conclude()
    }

    private func undo(
        _ runID: String, _ store: SQLiteStore, as run: String
    ) async throws -> (counts: UndoCounts, record: SQLiteRunRecord) {
        let night = try await Night.begin(store, Night.header(run, job: "undo \(runID)"))
        let counts = try await store.stageUndo(ofRun: runID, in: night.pass, run: night.run)
        try await night.apply()
        return (counts, try await night.conclude())
    }

    @Test func `writes the empty columns and one ledger entry, and counts the row as filled`()
        async throws
    {
        let database = try TemporaryDatabase()
        let store = try held(database)
        let record = try await filled(store, fill("11", of: "1"))
        let prices = try database.rows("SELECT price, currency FROM transactions")
        #expect(prices == [["990", "EUR"], ["NULL", ""]])
        let entry = try #require(try record.entries().first)
        #expect(try record.entries().count == 1)
        #expect(entry.table == "transactions")
        #expect(entry.action == .update)
        #expect(entry.transactionID == "11")
        #expect(entry.rowVersion == nil)
        #expect(entry.kinds.isEmpty)
        #expect(entry.changes.ofPeriod[.price] == FieldChange(before: .null, after: .integer(990)))
        #expect(
            entry.changes.ofPeriod[.currency] == FieldChange(before: .text(""), after: .text("EUR"))
        )
        let summary = try record.summary()
        #expect(summary.totals.filled == 1)
        #expect(summary.fills == [.applied: FillCounts(filled: 1)])
        #expect(summary.totals.matched == 1)
        #expect(summary.totals.discrepant == 0)
    }

    @Test func `counts a row once, and not where one of its columns is corrected`() async throws {
        let database = try TemporaryDatabase()
        let store = try held(database)
        var both = fill("11", of: "1")
        both.corrections += fill("12", of: "1").corrections
        both.evidence += fill("12", of: "1").evidence
        let first = try await filled(store, both)
        #expect(try first.entries().count == 2)
        #expect(try first.summary().totals.filled == 1)

        try database.execute("UPDATE transactions SET price = NULL, currency = ''")
        var mended = drift("1")
        mended.corrections += both.corrections
        mended.evidence += both.evidence
        let second = try await filled(store, mended, run: "run-2")
        #expect(try second.entries().count == 3)
        #expect(try second.summary().totals.filled == 0)
    }

    @Test(arguments: [
        "UPDATE transactions SET price = 1 WHERE transaction_id = '11'",
        "UPDATE transactions SET currency = 'USD' WHERE transaction_id = '11'",
        "UPDATE transactions SET price = 'ten' WHERE transaction_id = '11'",
        "UPDATE transactions SET price = x'' WHERE transaction_id = '11'",
        "UPDATE transactions SET signed_date = 6000 WHERE transaction_id = '11'",
        "UPDATE transactions SET original_transaction_id = '2' WHERE transaction_id = '11'",
        "DELETE FROM transactions WHERE transaction_id = '11'",
    ])
    func `leaves a period that somebody wrote to since it was read`(change: String) async throws {
        let database = try TemporaryDatabase()
        let store = try held(database)
        var changed: [[String]] = []
        let record = try await filled(store, fill("11", of: "1")) {
            try database.execute(change)
            changed = try periods(database)
        }
        #expect(try periods(database) == changed)
        #expect(try record.fates() == [.stale])
        #expect(try record.entries().isEmpty)
        #expect(try record.undecided() == ["1": .changedDuringRun])
        #expect(try record.summary().totals.filled == 0)
    }

    @Test func `what a trigger refuses is not written`() async throws {
        let database = try TemporaryDatabase()
        let store = try held(database)
        try database.execute(
            """
            CREATE TRIGGER guard BEFORE UPDATE ON transactions
            BEGIN SELECT RAISE(ABORT, 'no'); END
            """)
        let record = try await filled(store, fill("11", of: "1"))
        #expect(try record.fates() == [.rejected])
        #expect(try record.entries().isEmpty)
    }

    @Test func `nothing is written without what Apple signed`() async throws {
        let database = try TemporaryDatabase()
        let store = try held(database)
        var unproven = fill("11", of: "1")
        unproven.evidence = []
        let record = try await filled(store, unproven)
        #expect(try record.fates() == [.unproven])
        #expect(try database.value("SELECT price FROM transactions") == "NULL")
    }

    @Test func `undo empties it again to the letter, and the history is owed`() async throws {
        let database = try TemporaryDatabase()
        let store = try held(database)
        let before = try periods(database)
        _ = try await filled(store, fill("11", of: "1"))
        #expect(try await store.scopedRows(["1"]).first?.needsWholeHistory == false)
        let (counts, record) = try await undo("run-1", store, as: "undo")
        #expect(counts.ready == 1)
        #expect(try periods(database) == before)
        let entry = try #require(try record.entries().first)
        #expect(entry.undoOf == 1)
        #expect(entry.action == .update)
        #expect(
            entry.changes.ofPeriod[.currency] == FieldChange(before: .text("EUR"), after: .text(""))
        )
        #expect(try record.summary().totals.filled == 0)
        let row = try #require(try await store.scopedRows(["1"]).first)
        #expect(row.needsWholeHistory)
        #expect(row.historyRevision == nil)

        // Taken back itself, it fills in again; then the run of the redo is the one to undo.
        #expect(try await undo("undo", store, as: "redo").counts.ready == 1)
        #expect(try database.value("SELECT price FROM transactions") == "990")
        let again = try await undo("run-1", store, as: "again").counts
        #expect(
            again.named == [
                "1: reverted before, and brought back by run redo: trueup undo redo"
            ])
    }

    @Test func `undo leaves a period whose value is no longer what we wrote`() async throws {
        let database = try TemporaryDatabase()
        let store = try held(database)
        _ = try await filled(store, fill("11", of: "1"))
        try database.execute("UPDATE transactions SET price = 991 WHERE transaction_id = '11'")
        let changed = try periods(database)
        let (counts, record) = try await undo("run-1", store, as: "undo")
        #expect(counts.named == ["1: no longer as written: price"])
        #expect(try periods(database) == changed)
        #expect(try record.fates() == [.stale])
        #expect(try record.entries().isEmpty)
    }

    @Test func `undo goes past what others wrote in other columns`() async throws {
        let database = try TemporaryDatabase()
        let store = try held(database)
        _ = try await filled(store, fill("11", of: "1"))
        try database.execute(
            "UPDATE transactions SET product_id = 'max', signed_date = 9000")
        #expect(try await undo("run-1", store, as: "undo").counts.ready == 1)
        #expect(
            try database.rows("SELECT product_id, price FROM transactions")
                == [["max", "NULL"], ["max", "NULL"]])
    }

    @Test func `counts fills and new periods of a plan that nothing was written of`() async throws {
        let database = try TemporaryDatabase()
        let store = try held(database)
        var outcome = fill("11", of: "1")
        var inserted = fill("13", of: "1")
        inserted.corrections[0].target = .insertPeriod(period("13"), of: key("1"))
        inserted.corrections[0].changes = .period([
            .transactionID: FieldChange(before: .null, after: .text("13")),
            .productID: FieldChange(before: .null, after: .text("pro")),
        ])
        outcome.corrections += inserted.corrections
        outcome.evidence += inserted.evidence
        let night = try await Night.begin(store, Night.header("run-1", mode: .check))
        try await night.stage(outcome, revisions: ["1": "r1"])
        let summary = try await night.conclude().summary()
        #expect(summary.fills == [.planned: FillCounts(filled: 1, periods: 1)])
    }

    @Test func `a period that a night inserted and another filled goes back in that order`()
        async throws
    {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        var inserted = fill("11", of: "1")
        inserted.corrections[0].target = .insertPeriod(period("11"), of: key("1"))
        inserted.corrections[0].changes = .period([
            .transactionID: FieldChange(before: .null, after: .text("11")),
            .productID: FieldChange(before: .null, after: .text("pro")),
        ])
        _ = try await filled(store, inserted, run: "run-1")
        var fill = fill("11", of: "1")
        var changes = fill.corrections[0].changes.ofPeriod
        changes[.currency]?.before = .null
        fill.corrections[0].changes = .period(changes)
        _ = try await filled(store, fill, run: "run-2")
        #expect(try await undo("run-1", store, as: "early").counts.conflicts == 1)
        #expect(try await undo("run-2", store, as: "u2").counts.ready == 1)
        #expect(try await undo("run-1", store, as: "u1").counts.ready == 1)
        #expect(try database.rows("SELECT * FROM transactions").isEmpty)
    }

    @Test func `a plan of a check is applied by its name`() async throws {
        let database = try TemporaryDatabase()
        let store = try held(database)
        let check = try await Night.begin(store, Night.header("check", mode: .check))
        try await check.stage(fill("11", of: "1"))
        let seal = try await store.sealPlan(of: check.pass, run: check.run)
        let checked = try await check.conclude()
        #expect(try checked.summary().totals.filled == 1)
        #expect(try checked.fates() == [.planned])

        let night = try await Night.begin(store, Night.header("apply", job: "apply"))
        try await store.stagePlan(seal.sha256, in: night.pass, run: night.run)
        try await night.apply()
        let record = try await night.conclude()
        #expect(try record.entries().map(\.transactionID) == ["11"])
        #expect(try record.entries().first?.plan == seal.sha256)
        #expect(try record.summary().totals.filled == 1)
        #expect(try record.summary().totals.matched == 1)
    }
}
