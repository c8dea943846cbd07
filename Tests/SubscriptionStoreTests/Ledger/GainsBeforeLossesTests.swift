import Foundation
import Reconciliation
import SubscriptionStore
import Subscriptions
import Testing

/// One customer, two subscriptions of a group: `1` has ended, `9` gives access from now on.
@Suite struct `Gains before losses` {
    private static let everything = EventNaming([.init(.correction)], delivered: [.correction])

    /// The end of `id`, which is written once one of the others gives access.
    private func loss(_ id: String, by others: [String] = ["9"]) -> RowOutcome {
        var result = drift(id)
        result.corrections[0].continuedBy = others
        return result
    }

    private func gain(_ id: String) -> RowOutcome {
        var result = drift(id, to: 1)
        result.corrections[0].rewrite {
            $0[.status] = FieldChange(before: .integer(2), after: .integer(1))
        }
        return result
    }

    private func store(
        _ database: TemporaryDatabase, _ rows: [LocalSubscription]
    ) throws -> SQLiteStore {
        let store = try SQLiteStore.open(
            at: database.path, access: .readWrite, naming: Self.everything)
        try store.load(rows)
        return store
    }

    private func statuses(_ database: TemporaryDatabase) throws -> [String: String] {
        Dictionary(
            uniqueKeysWithValues: try database.rows(
                "SELECT original_transaction_id, status FROM subscriptions"
            ).map { ($0[0], $0[1]) })
    }

    private func messages(_ store: SQLiteStore) async throws -> [[String: Any]] {
        let events = try await store.dueEvents(
            at: Timestamp(unixMilliseconds: .max), limit: 100)
        return try events.sorted { $0.ledgerEntry < $1.ledgerEntry }.map {
            try #require(
                try JSONSerialization.jsonObject(with: Data($0.body.utf8)) as? [String: Any])
        }
    }

    @Test(arguments: [true, false])
    func `the gain comes first, in the same transaction, and the event names it`(
        isInserted: Bool
    ) async throws {
        let database = try TemporaryDatabase()
        let ended = (1...3).map { subscription("\($0)") }
        let store = try store(database, ended + (isInserted ? [] : [subscription("9", status: 2)]))
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("2"), loss("1"), isInserted ? missing("9") : gain("9"))
        // The batch has room for one: what belongs together is taken all the same.
        #expect(
            try await store.applyPlanned(
                limit: 1, in: night.pass, run: night.run, at: night.run.started) == 2)
        #expect(try statuses(database) == ["1": "2", "2": "1", "3": "1", "9": "1"])
        try await night.apply()
        let entries = try await night.conclude().entries()
        #expect(entries.map(\.subscription.originalTransactionID) == ["9", "1", "2"])
        #expect(entries.map(\.accessContinuesBy) == [nil, "9", nil])
        let told = try await messages(store)
        #expect(told.map { $0["access_continues"] as? Bool } == [nil, true, nil])
        #expect(told.map { $0["access_continues_by"] as? String } == [nil, "9", nil])
    }

    @Test func `the event of a reverted insert names what the row had`() async throws {
        let database = try TemporaryDatabase()
        let store = try SQLiteStore.open(
            at: database.path, access: .readWrite, naming: Self.everything,
            catalogue: ProductCatalogue(products: ["pro": CatalogueProduct(grants: ["gold"])]))
        try store.load([subscription("1")])
        let night = try await Night.begin(store, Night.header("run-1"))
        var found = missing("9")
        found.corrections[0].rewrite {
            $0[.customerID] = FieldChange(before: .null, after: .text("a"))
        }
        try await night.stage(found)
        try await night.apply()
        try await night.conclude()
        let undo = try await Night.begin(store, Night.header("undo", job: "undo run-1"))
        _ = try await store.stageUndo(ofRun: "run-1", in: undo.pass, run: undo.run)
        try await undo.apply()
        #expect(try statuses(database) == ["1": "1"])
        // Of one subscription only the older event is due.
        let bodies = try database.rows("SELECT body FROM trueup_outbox ORDER BY ledger_entry")
        #expect(bodies.count == 2)
        let body = try #require(bodies.last?.first)
        let told = try #require(
            try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any])
        #expect(told["undo_of"] as? Int == 1)
        #expect(told["customer_id"] as? String == "a")
        #expect(told["product_id"] as? String == "pro")
        #expect(told["entitlement_ids"] as? [String] == ["gold"])
        #expect(told["subscription"] is NSNull)
    }

    @Test func `nothing is half written when the ledger fails between them`() async throws {
        let database = try TemporaryDatabase()
        let store = try store(database, [subscription("1")])
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(loss("1"), missing("9"))
        try database.execute(
            """
            CREATE TRIGGER fault BEFORE INSERT ON trueup_ledger WHEN NEW.entry = 2
            BEGIN SELECT RAISE(ABORT, 'killed'); END
            """)
        await #expect(throws: StoreError.self) {
            try await store.applyPlanned(
                limit: 1, in: night.pass, run: night.run, at: night.run.started)
        }
        #expect(try statuses(database) == ["1": "1"])
        try database.execute("DROP TRIGGER fault")
        try store.close()
        let next = try await Night.begin(try database.open(), Night.header("run-2"))
        #expect(next.pass.resumedFrom == "run-1")
        try await next.apply()
        #expect(try statuses(database) == ["1": "2", "9": "1"])
    }

    @Test func `a loss is held back where its gain is not written, and says so`() async throws {
        let database = try TemporaryDatabase()
        let store = try store(database, [subscription("1"), subscription("9", status: 2)])
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(loss("1"), gain("9"))
        try database.execute(
            "UPDATE subscriptions SET customer_id = 'c' WHERE original_transaction_id = '9'")
        try await night.apply()
        #expect(try statuses(database) == ["1": "1", "9": "2"])
        let record = try await night.conclude()
        #expect(try record.fates() == [.heldBack, .stale])
        let finding = try #require(
            try record.findings().first { $0.finding.key == key("1") }?.finding)
        #expect(finding.action == .refused)
        #expect(finding.cause == "held back until 9 is in the table")
        #expect(
            try await store.unwritten(of: night.pass, now: Timestamp(unixMilliseconds: Night.start))
                .counts[.heldBack] == 1)

        // A later night finds the other one in the table and corrects the ended one like any other.
        try database.execute(
            "UPDATE subscriptions SET status = 1 WHERE original_transaction_id = '9'")
        let next = try await Night.begin(store, Night.header("run-2"))
        try await next.stage(loss("1"))
        try await next.apply()
        #expect(try statuses(database) == ["1": "2", "9": "1"])
    }

    /// Under another Apple Account, so that no answer shows both.
    @Test func `a gain of the same entitlement under another account comes first`() async throws {
        let database = try TemporaryDatabase()
        let catalogue = ProductCatalogue(products: [
            "month": CatalogueProduct(grants: ["pro", "hd"]),
            "bundle": CatalogueProduct(grants: ["pro"]),
            "coins": CatalogueProduct(grants: ["coins"]),
        ])
        func row(
            _ id: String, _ product: String, status: Int, _ customer: String = "a"
        ) -> LocalSubscription {
            var row = subscription(id, status: status, customer: customer)
            row.productID = product
            row.expiresDate = Timestamp(unixMilliseconds: 9_000_000_000_000)
            return row
        }
        let store = try SQLiteStore.open(
            at: database.path, access: .readWrite, naming: Self.everything, catalogue: catalogue)
        try store.load([
            row("1", "month", status: 1), row("2", "month", status: 1, "b"),
            row("5", "coins", status: 2), row("9", "bundle", status: 2),
        ])
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("1"), drift("2"), gain("5"), gain("9"))
        try await night.apply()
        let entries = try await night.conclude().entries()
        #expect(entries.map(\.subscription.originalTransactionID) == ["9", "1", "2", "5"])
        #expect(entries.map(\.accessContinuesBy) == [nil, "9", nil, nil])
        let told = try await messages(store)
        #expect(told.map { $0["access_gained"] as? [String] } == [[], [], [], ["coins"]])
        #expect(told.map { $0["access_lost"] as? [String] } == [[], ["hd"], ["hd", "pro"], []])
        #expect(told.first?["entitlement_ids"] as? [String] == ["pro"])
        // The other one grants a part of what ends, so access does not simply continue.
        #expect(told.allSatisfy { $0["access_continues"] == nil })
    }

    /// A name like `guest` is many people's: the gain of one is not the other's.
    @Test(arguments: [999, 1000])
    func `no loss of a placeholder waits for a gain`(others: Int) async throws {
        let database = try TemporaryDatabase()
        func row(_ id: String, status: Int = 1) -> LocalSubscription {
            var row = subscription(id, status: status, customer: "a")
            row.productID = "month"
            return row
        }
        let store = try store(
            database,
            [row("1"), row("9", status: 2)] + (1..<others).map { row("\(1_000 + $0)") })
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("1"), gain("9"))
        try await night.apply()
        let entries = try await night.conclude().entries()
        #expect(entries.map(\.accessContinuesBy) == (others < 1000 ? [nil, "9"] : [nil, nil]))
    }

    // MARK: Several apps

    private static let otherApp = "com.example.other"

    /// The same outcome in the other app.
    private func elsewhere(_ outcome: RowOutcome, _ product: String = "month") -> RowOutcome {
        let key = SubscriptionKey(
            bundleID: Self.otherApp, environment: outcome.key.environment,
            originalTransactionID: outcome.key.originalTransactionID)
        var result = outcome
        result.key = key
        for index in result.findings.indices {
            result.findings[index] = Finding(
                kind: .accessMissing, severity: .high, row: LocalSubscription(key: key))
        }
        result.corrections[0].target = .update(key, expectedRowVersion: 1)
        return result
    }

    /// `1` of this app has ended; `9` of the customer in the other app gives access from now on.
    private func twoApps(
        _ database: TemporaryDatabase, customer: String = "a"
    ) throws -> SQLiteStore {
        func row(_ id: String, status: Int, _ customer: String, in bundle: String?)
            -> LocalSubscription
        {
            var row = subscription(id, status: status, customer: customer)
            if let bundle {
                row.key = SubscriptionKey(
                    bundleID: bundle, environment: row.key.environment, originalTransactionID: id)
            }
            row.productID = "month"
            row.expiresDate = Timestamp(unixMilliseconds: 9_000_000_000_000)
            return row
        }
        return try store(
            database,
            [
                row("1", status: 1, "a", in: nil), row("2", status: 1, "b", in: nil),
                row("9", status: 2, customer, in: Self.otherApp),
            ])
    }

    @Test func `a gain of the same entitlement in another app comes first, and last in an undo`()
        async throws
    {
        let database = try TemporaryDatabase()
        let store = try twoApps(database)
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("2"), drift("1"), elsewhere(gain("9")))
        // The batch has room for one: what belongs together is taken all the same.
        #expect(
            try await store.applyPlanned(
                limit: 1, in: night.pass, run: night.run, at: night.run.started) == 2)
        #expect(try statuses(database) == ["1": "2", "2": "1", "9": "1"])
        try await night.apply()
        let entries = try await night.conclude().entries()
        #expect(entries.map(\.subscription.originalTransactionID) == ["9", "1", "2"])
        #expect(entries.map(\.accessContinuesBy) == [nil, Self.otherApp + "/9", nil])
        // In the app of the event, access ends.
        let told = try await messages(store)
        #expect(told.allSatisfy { $0["access_continues"] == nil })
        #expect(told.map { $0["access_lost"] as? [String] } == [[], ["month"], ["month"]])
        let undone = try await undo("run-1", store, as: "undo").entries()
        #expect(undone.map(\.subscription.originalTransactionID) == ["1", "9", "2"])
        #expect(undone.map(\.accessContinuesBy) == [nil, "com.example.app/1", nil])
        #expect(try statuses(database) == ["1": "1", "2": "1", "9": "2"])
    }

    @Test func `a loss waits where the gain in another app is refused`() async throws {
        let database = try TemporaryDatabase()
        let store = try twoApps(database)
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("1"), elsewhere(gain("9")))
        try await store.sealPlan(of: night.pass, run: night.run)
        try database.execute(
            "UPDATE subscriptions SET auto_renew_status = 0 WHERE original_transaction_id = '9'")
        try await night.apply()
        #expect(try statuses(database) == ["1": "1", "2": "1", "9": "2"])
        let record = try await night.conclude()
        #expect(try record.fates().sorted { "\($0)" < "\($1)" } == [.heldBack, .stale])
        let finding = try record.findings().first { $0.finding.key == key("1") }?.finding
        #expect(finding?.cause == "held back until com.example.other/9 is in the table")
    }

    @Test func `a gain of another customer in another app is no reason to wait`() async throws {
        let database = try TemporaryDatabase()
        let store = try twoApps(database, customer: "c")
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("1"), elsewhere(gain("9")))
        try await night.apply()
        #expect(try await night.conclude().entries().map(\.accessContinuesBy) == [nil, nil])
    }

    @Test func `a canary takes both, in whichever app`() async throws {
        let database = try TemporaryDatabase()
        let store = try twoApps(database)
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("1"), drift("2"), elsewhere(gain("9")))
        try await store.sealPlan(of: night.pass, run: night.run)
        #expect(try await store.extendCanary(by: 1, in: night.pass, run: night.run) == 1)
        while try await store.applyPlanned(
            isCanary: true, limit: 100, in: night.pass, run: night.run, at: night.run.started) > 0
        {}
        #expect(try statuses(database) == ["1": "2", "2": "1", "9": "1"])
    }

    @Test func `a stored plan keeps the order of two apps`() async throws {
        let database = try TemporaryDatabase()
        let store = try twoApps(database)
        let check = try await Night.begin(store, Night.header("run-1", mode: .check))
        try await check.stage(drift("1"), elsewhere(gain("9")))
        let plan = try await store.sealPlan(of: check.pass, run: check.run).sha256
        try await check.conclude()
        let night = try await Night.begin(store, Night.header("run-2", job: "apply nightly"))
        try await store.stagePlan(plan, in: night.pass, run: night.run)
        try await night.apply(limit: 1)
        #expect(try statuses(database) == ["1": "2", "2": "1", "9": "1"])
        #expect(
            try await night.conclude().entries().last?.accessContinuesBy == Self.otherApp + "/9")
    }

    @Test func `a loss waits where the gain under another account is refused`() async throws {
        let database = try TemporaryDatabase()
        func row(_ id: String, status: Int) -> LocalSubscription {
            var row = subscription(id, status: status, customer: "a")
            row.productID = "month"
            return row
        }
        let store = try store(database, [row("1", status: 1), row("9", status: 2)])
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("1"), gain("9"))
        try await store.sealPlan(of: night.pass, run: night.run)
        try database.execute(
            "UPDATE subscriptions SET auto_renew_status = 0 WHERE original_transaction_id = '9'")
        try await night.apply()
        #expect(try statuses(database) == ["1": "1", "9": "2"])
        #expect(try await night.conclude().fates() == [.heldBack, .stale])
    }

    @Test func `another customer's row gives no access`() async throws {
        let database = try TemporaryDatabase()
        let store = try store(
            database, [subscription("1", customer: "a"), subscription("9", customer: "b")])
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(loss("1"))
        try await night.apply()
        #expect(try statuses(database) == ["1": "1", "9": "1"])
    }

    @Test func `any of several others will do`() async throws {
        let database = try TemporaryDatabase()
        let store = try store(database, [subscription("1"), subscription("8")])
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(loss("1", by: ["9", "8"]))
        try await night.apply()
        #expect(try await night.conclude().entries().map(\.accessContinuesBy) == ["8"])
    }

    @Test func `a canary takes both`() async throws {
        let database = try TemporaryDatabase()
        let store = try store(database, [subscription("1"), subscription("2")])
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(loss("1"), drift("2"), missing("9"))
        #expect(try await store.extendCanary(by: 1, in: night.pass, run: night.run) == 1)
        while try await store.applyPlanned(
            isCanary: true, limit: 100, in: night.pass, run: night.run, at: night.run.started) > 0
        {}
        let written = try await store.writtenCanary(of: night.pass)
        #expect(written.map(\.key) == [key("1"), key("9")])
        #expect(try statuses(database) == ["1": "2", "2": "1", "9": "1"])
    }

    @Test func `a plan that is taken up keeps the order`() async throws {
        let database = try TemporaryDatabase()
        let store = try store(database, [subscription("1")])
        let check = try await Night.begin(store, Night.header("run-1", mode: .check))
        try await check.stage(loss("1"), missing("9"))
        let plan = try await store.sealPlan(of: check.pass, run: check.run).sha256
        try await check.conclude()
        let night = try await Night.begin(store, Night.header("run-2", job: "apply nightly"))
        try await store.stagePlan(plan, in: night.pass, run: night.run)
        try await night.apply(limit: 1)
        #expect(try statuses(database) == ["1": "2", "9": "1"])
        #expect(try await night.conclude().entries().last?.accessContinuesBy == "9")
    }

    private func undo(
        _ runID: String, _ store: SQLiteStore, as run: String
    ) async throws -> SQLiteRunRecord {
        let night = try await Night.begin(store, Night.header(run, job: "undo \(runID)"))
        _ = try await store.stageUndo(ofRun: runID, in: night.pass, run: night.run)
        try await night.apply(limit: 1)
        return try await night.conclude()
    }

    @Test func `taking back gives the old access again before it ends the new one`() async throws {
        let database = try TemporaryDatabase()
        let store = try store(database, [subscription("1")])
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(loss("1"), missing("9"))
        try await night.apply()
        try await night.conclude()
        let record = try await undo("run-1", store, as: "undo")
        #expect(try statuses(database) == ["1": "1"])
        let entries = try record.entries()
        #expect(entries.map(\.subscription.originalTransactionID) == ["1", "9"])
        #expect(entries.map(\.accessContinuesBy) == [nil, "1"])
        // And that again.
        let again = try await undo("undo", store, as: "redo")
        #expect(try statuses(database) == ["1": "2", "9": "1"])
        #expect(try again.entries().map(\.accessContinuesBy) == [nil, "9"])
    }

    @Test func `what access rests on is not taken back alone`() async throws {
        let database = try TemporaryDatabase()
        let store = try store(database, [subscription("1")])
        let first = try await Night.begin(store, Night.header("run-1"))
        try await first.stage(missing("9"))
        try await first.apply()
        try await first.conclude()
        let second = try await Night.begin(store, Night.header("run-2"))
        try await second.stage(loss("1"))
        try await second.apply()
        try await second.conclude()
        #expect(try await undo("run-1", store, as: "undo").fates() == [.heldBack])
        #expect(try statuses(database) == ["1": "2", "9": "1"])
        // Nor where the end of the other access was reverted, and that as well.
        try #require(try await undo("run-2", store, as: "undo-2").fates() == [.applied])
        try #require(try await undo("undo-2", store, as: "redo").fates() == [.applied])
        #expect(try await undo("run-1", store, as: "last").fates() == [.heldBack])
        #expect(try statuses(database) == ["1": "2", "9": "1"])
    }
}
