import Crypto
import SubscriptionStore
import Subscriptions
import Testing

@Suite struct `Applying corrections` {
    /// A night on rows `1`…`count`, all with planned drift.
    private func planned(
        _ database: TemporaryDatabase, _ ids: [String] = ["1", "2", "3"]
    ) async throws -> Night {
        let store = try database.open()
        try store.load(ids.map { subscription($0) })
        let night = try await Night.begin(store, Night.header("run-1"))
        for id in ids { try await night.stage(drift(id)) }
        return night
    }

    private func statuses(_ database: TemporaryDatabase) throws -> [String] {
        try database.rows("SELECT status FROM subscriptions ORDER BY original_transaction_id")
            .map { $0[0] }
    }

    @Test func `changes rows and chains one ledger entry to each`() async throws {
        let database = try TemporaryDatabase()
        let night = try await planned(database)
        #expect(try await night.apply(limit: 2) == 3)
        #expect(try statuses(database) == ["2", "2", "2"])
        let entries = try await night.conclude().entries()
        #expect(entries.map(\.number) == [1, 2, 3])
        var previous = LedgerEntry.firstPreviousHash
        for entry in entries {
            #expect(entry.previousHash == previous)
            let text = entry.previousHash + entry.canonicalWithoutHash.rendered
            let hash = SHA256.hash(data: Array(text.utf8)).map { byte in
                (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }.joined()
            #expect(entry.hash == hash)
            previous = entry.hash
        }
        #expect(entries[0].changes.ofSubscription[.status]?.before == .integer(1))
        #expect(
            entries[0].changes.ofSubscription[.signedDate]?.after
                == .time(Timestamp(unixMilliseconds: 5000)))
        #expect(entries[0].actor == "ops@host")
        #expect(try database.value("SELECT max(row_version) FROM subscriptions") == "2")
    }

    @Test func `leaves a row that a service moved, and calls it undecided`() async throws {
        let database = try TemporaryDatabase()
        let night = try await planned(database)
        try database.execute(
            "UPDATE subscriptions SET customer_id = 'c' WHERE original_transaction_id = '2'")
        try database.execute("DELETE FROM subscriptions WHERE original_transaction_id = '3'")
        try await night.apply()
        #expect(try statuses(database) == ["2", "1"])
        let record = try await night.conclude()
        #expect(try record.fates() == [.applied, .stale, .stale])
        #expect(
            try record.undecided() == ["2": .changedDuringRun, "3": .changedDuringRun])
        #expect(try record.findings().map(\.finding.action) == [.corrected, .refused, .refused])
        #expect(try record.summary().totals.discrepant == 1)
        #expect(try record.entries().count == 1)
    }

    @Test func `older evidence never overwrites newer, even at the same version`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1", signed: 6000)])
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("1", signed: 5000))
        try await night.apply()
        #expect(try statuses(database) == ["1"])
    }

    @Test(arguments: ["ABORT", "FAIL", "ROLLBACK"])
    func `a trigger's refusal takes no other row down`(how: String) async throws {
        let database = try TemporaryDatabase()
        let night = try await planned(database)
        try database.execute(
            """
            CREATE TRIGGER guard BEFORE UPDATE ON subscriptions
            WHEN NEW.original_transaction_id = '2' BEGIN SELECT RAISE(\(how), 'no'); END
            """)
        #expect(try await night.apply() >= 2)
        #expect(try statuses(database) == ["2", "1", "2"])
        let record = try await night.conclude()
        #expect(try record.fates() == [.applied, .rejected, .applied])
        #expect(try record.entries().map(\.number) == [1, 2])
        #expect(try record.findings()[1].finding.action == .refused)
        #expect(try record.undecided().isEmpty)
    }

    @Test func `a trigger that swallows the write is a refusal`() async throws {
        let database = try TemporaryDatabase()
        let night = try await planned(database, ["1"])
        try database.execute(
            """
            CREATE TRIGGER guard BEFORE UPDATE ON subscriptions
            BEGIN SELECT RAISE(IGNORE); END
            """)
        try await night.apply()
        let record = try await night.conclude()
        #expect(try record.fates() == [.rejected])
        #expect(try record.entries().isEmpty)
    }

    @Test func `no row changes when the ledger cannot be written`() async throws {
        let database = try TemporaryDatabase()
        let night = try await planned(database)
        try database.execute(
            """
            CREATE TRIGGER fault BEFORE INSERT ON trueup_ledger WHEN NEW.entry = 2
            BEGIN SELECT RAISE(ABORT, 'fault'); END
            """)
        await #expect(throws: StoreError.self) { try await night.apply() }
        #expect(try statuses(database) == ["1", "1", "1"])
        #expect(try database.value("SELECT count(*) FROM trueup_ledger") == "0")
        try database.execute("DROP TRIGGER fault")
        #expect(try await night.apply() == 3)
        #expect(try statuses(database) == ["2", "2", "2"])
    }

    @Test func `inserts what is still absent, and not what appeared`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(missing("7"), missing("8"))
        try store.load([subscription("8", status: 5)])
        try await night.apply()
        #expect(try statuses(database) == ["1", "5"])
        let record = try await night.conclude()
        #expect(try record.findings().map(\.finding.action) == [.inserted, .refused])
        #expect(try record.summary().totals.inScope == 0)
    }

    @Test func `inserts periods`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let night = try await Night.begin(store, Night.header("run-1"))
        var result = outcome("1", .discrepancy)
        let evidence = payload("period")
        result.evidence = [evidence]
        for id in ["11", "12"] {
            var finding = Finding(
                kind: .transactionMissing, severity: .medium, row: subscription("1"))
            finding.transactionID = id
            result.findings.append(finding)
            result.corrections.append(
                PlannedCorrection(
                    target: .insertPeriod(
                        TransactionKey(
                            bundleID: app.bundleID, environment: "Production", transactionID: id),
                        of: key("1")),
                    changes: .period([.price: FieldChange(before: .null, after: .integer(990))]),
                    kinds: [.transactionMissing], evidence: evidence.digest, evidenceRenewal: nil,
                    appleSignedDate: Timestamp(unixMilliseconds: 5), reason: "missing"))
        }
        try await night.stage(result)
        try await night.apply()
        let rows = try await store.rows(holding: ["1"])
        #expect(rows.first?.periods.map(\.key.transactionID) == ["11", "12"])
        #expect(rows.first?.periods.first?.price == 990)
        let record = try await night.conclude()
        #expect(try record.findings().map(\.finding.action) == [.inserted, .inserted])
        #expect(try record.entries().map(\.transactionID) == ["11", "12"])
    }

    @Test func `a check may not apply`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let night = try await Night.begin(store, Night.header("run-1", mode: .check))
        try await night.stage(drift("1"))
        await #expect(throws: StoreError.self) { try await night.apply() }
        let record = try await night.conclude(status: .findings)
        #expect(try record.findings().map(\.finding.action) == [.planned])
        #expect(try record.fates() == [.planned])
        #expect(try statuses(database) == ["1"])
    }

    @Test(arguments: ["status = 5 --", "price", "ledger_head"])
    func `a column that the table does not have never becomes SQL`(name: String) async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("1"))
        try database.execute(
            "UPDATE trueup_pass_corrections SET changes = 't\(name.utf8.count):\(name)ni5;'")
        let error = await #expect(throws: StoreError.self) { try await night.apply() }
        #expect(try #require(error).description.contains(name))
        #expect(try statuses(database) == ["1"])
    }
}
