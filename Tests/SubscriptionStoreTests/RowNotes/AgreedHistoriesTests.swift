import SubscriptionStore
import Subscriptions
import Testing

/// How far a history was read, and with which stored periods.
@Suite struct `Agreed histories` {
    private func period(_ id: String, price: Int64 = 990) -> LocalTransaction {
        var period = LocalTransaction(
            key: TransactionKey(
                bundleID: app.bundleID, environment: "Production", transactionID: id),
            originalTransactionID: "1")
        period.price = price
        return period
    }

    private func insert(_ id: String) -> PlannedCorrection {
        PlannedCorrection(
            target: .insertPeriod(period(id).key, of: key("1")),
            changes: .period([.price: FieldChange(before: .null, after: .integer(990))]),
            kinds: [.transactionMissing], evidence: payload("period").digest,
            evidenceRenewal: nil, appleSignedDate: Timestamp(unixMilliseconds: 5),
            reason: "missing")
    }

    /// A subscription with two stored periods whose history was read and agreed with.
    private func agreed(
        _ database: TemporaryDatabase, inserting ids: [String] = []
    ) async throws -> SQLiteStore {
        let store = try database.open()
        try store.load([subscription("1")])
        try database.execute(
            """
            INSERT INTO transactions (
                transaction_id, original_transaction_id, environment, bundle_id, price)
            VALUES ('11', '1', 'Production', 'com.example.app', 990),
                ('12', '1', 'Production', 'com.example.app', 990)
            """)
        let night = try await Night.begin(store, Night.header("run-1"))
        var result = outcome("1", .match)
        result.evidence = [payload("period")]
        result.corrections = ids.map(insert)
        try await night.stage(result, revisions: ["1": "r1"])
        try await night.apply()
        try await night.conclude()
        return store
    }

    private func row(_ store: SQLiteStore) async throws -> ScopedRow {
        try #require(try await store.scopedRows(["1"]).first)
    }

    @Test(arguments: [[], ["13"]])
    func `is read on while the stored periods stay, our own inserts included`(
        inserted: [String]
    ) async throws {
        let database = try TemporaryDatabase()
        let row = try await row(try await agreed(database, inserting: inserted))
        #expect(row.historyRevision == "r1")
        #expect(!row.needsWholeHistory)
        #expect(row.keptPeriods)
    }

    private func fill(_ id: String) -> PlannedCorrection {
        var correction = insert(id)
        correction.target = .updatePeriod(period(id).key, of: key("1"))
        correction.changes = .period([
            .currency: FieldChange(before: .null, after: .text("EUR")),
            .expiresDate: FieldChange(
                before: .null, after: .time(Timestamp(unixMilliseconds: 7))),
        ])
        correction.kinds = []
        return correction
    }

    @Test(arguments: [false, true])
    func `is read on after what was filled in, unless somebody else wrote beside it`(
        isChanged: Bool
    ) async throws {
        let database = try TemporaryDatabase()
        let store = try await agreed(database)
        let night = try await Night.begin(store, Night.header("run-2"))
        var result = outcome("1", .match)
        result.evidence = [payload("period")]
        result.corrections = [fill("11")]
        try await night.stage(result, revisions: ["1": "r2"])
        if isChanged {
            try database.execute("UPDATE transactions SET price = 1 WHERE transaction_id = '12'")
        }
        try await night.apply()
        try await night.conclude()
        let row = try await row(store)
        #expect(row.periods.first?.currency == "EUR")
        #expect(row.needsWholeHistory == isChanged)
        #expect(row.historyRevision == (isChanged ? nil : "r2"))
    }

    @Test(arguments: [
        "DELETE FROM transactions WHERE transaction_id = '12'", "DELETE FROM transactions",
        "UPDATE transactions SET price = 1 WHERE transaction_id = '11'",
        "UPDATE transactions SET product_id = 'pro' WHERE transaction_id = '11'",
        "UPDATE transactions SET transaction_id = '14' WHERE transaction_id = '11'",
        """
        INSERT INTO transactions (transaction_id, original_transaction_id, environment, bundle_id)
        VALUES ('14', '1', 'Production', 'com.example.app')
        """,
    ])
    func `is read from its beginning once they differ`(change: String) async throws {
        let database = try TemporaryDatabase()
        let store = try await agreed(database, inserting: ["13"])
        try database.execute(change)
        let row = try await row(store)
        #expect(row.historyRevision == nil)
        #expect(row.needsWholeHistory)
        #expect(row.keptPeriods)
    }

    @Test func `is read from its beginning while a finding about a period is open`() async throws {
        let database = try TemporaryDatabase()
        let store = try await agreed(database)
        let night = try await Night.begin(store, Night.header("run-2"))
        var result = outcome("1", .discrepancy)
        var finding = Finding(kind: .transactionUnknown, severity: .high, row: subscription("1"))
        finding.field = "11"
        result.findings = [finding]
        result.examined = .periods
        try await night.stage(result, revisions: ["1": "r2"])
        try await night.conclude()
        #expect(try await row(store).needsWholeHistory)
        #expect(try await row(store).historyRevision == nil)

        // Not having looked resolves nothing; having looked does.
        for (number, look) in [ExaminationDepth.standing, .statement, .periods].enumerated() {
            #expect(try store.overview(runs: 9).openFindings.map(\.findings) == [1])
            let next = try await Night.begin(store, Night.header("run-3\(number)"))
            var seen = outcome("1", .match)
            seen.examined = look
            try await next.stage(seen)
            try await next.conclude()
        }
        #expect(try store.overview(runs: 9).openFindings.isEmpty)
        #expect(try await row(store).historyRevision == "r2")
    }
}
