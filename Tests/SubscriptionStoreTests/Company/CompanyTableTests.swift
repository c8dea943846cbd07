import SubscriptionStore
import Subscriptions
import TestSupport
import Testing

@Suite struct `A table of the company's own` {
    private let now = Timestamp(unixMilliseconds: Night.start)

    private func planned(
        _ store: SQLiteStore, _ ids: [String], run: String = "run-1"
    ) async throws -> Night {
        let night = try await Night.begin(store, Night.header(run))
        for id in ids { try await night.stage(drift(id).ofCopy) }
        return night
    }

    @Test func `is copied, and only changed rows rise in version`() async throws {
        let database = try TemporaryDatabase()
        let company = try CompanyFile(beside: database)
        let store = try company.open(database)
        let first = try #require(try await store.refreshCopy(for: .check, at: now).first)
        #expect(first.rows == 3 && first.inserted == 3)
        #expect(
            try store.subscriptions().map(\.status) == [1, 1, 1])
        #expect(try store.subscriptions().first?.customerID == "1")
        try company.execute("UPDATE subs SET state = 'ended' WHERE otid = '2'")
        try company.execute("UPDATE subs SET note = 'other' WHERE otid = '1'")
        try company.execute("DELETE FROM subs WHERE otid = '3'")
        let second = try #require(try await store.refreshCopy(for: .check, at: now).first)
        #expect(second.changed == 1 && second.deleted == 1 && second.inserted == 0)
        #expect(try store.subscriptions().map(\.rowVersion) == [1, 2])
        #expect(try store.copyState()?.rows == 2)
    }

    @Test func `is read in pages, whatever the order of its keys`() async throws {
        let database = try TemporaryDatabase()
        let ids = (1...2300).map { String($0) }
        let company = try CompanyFile(beside: database, ids: [])
        try company.execute(
            """
            INSERT INTO subs (user_id, otid, state)
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2300)
            SELECT i, i, 'active' FROM n
            """)
        let store = try company.open(database)
        let refresh = try #require(try await store.refreshCopy(for: .check, at: now).first)
        #expect(refresh.rows == Int64(ids.count))
        let again = try #require(try await store.refreshCopy(for: .check, at: now).first)
        #expect(again.changed == 0 && again.inserted == 0 && again.deleted == 0)
    }

    @Test func `a value that cannot be read is named and never taken for another`() async throws {
        let database = try TemporaryDatabase()
        let company = try CompanyFile(beside: database)
        try company.execute("UPDATE subs SET state = '5' WHERE otid = '1'")
        try company.execute("UPDATE subs SET expires_at = 'soon' WHERE otid = '2'")
        let store = try company.open(database)
        let refresh = try #require(try await store.refreshCopy(for: .check, at: now).first)
        #expect(refresh.unreadable == 2)
        #expect(refresh.remarks.first?.contains("status") == true)
        let rows = try store.subscriptions()
        #expect(rows[0].unreadable.keys.contains(.status))
        #expect(rows[0].status == nil)
        #expect(rows[1].unreadable.keys.contains(.expiresDate))
        let again = try #require(try await store.refreshCopy(for: .check, at: now).first)
        #expect(again.changed == 0)
    }

    @Test func `is corrected with an entry in both ledgers`() async throws {
        let database = try TemporaryDatabase()
        let company = try CompanyFile(beside: database)
        let store = try company.open(database)
        _ = try await store.refreshCopy(for: .apply, at: now)
        let night = try await planned(store, ["1", "2"])
        #expect(try await night.apply() == 2)
        #expect(try company.states() == ["ended", "ended", "active"])
        #expect(
            try company.rows("SELECT DISTINCT note, product, expires_at FROM subs")
                == [["untouched", "gold", "2026-09-21 14:13:20+00:00"]])
        let entries = try await night.conclude().entries()
        #expect(
            try company.rows("SELECT entry, digest FROM trueup_corrections ORDER BY entry")
                == entries.map { [String($0.number), $0.hash] })
        let refresh = try #require(try await store.refreshCopy(for: .apply, at: now).first)
        #expect(refresh.changed == 0)
        #expect(try store.subscriptions()[0].rowVersion == 2)
    }

    @Test func `a newer value of a service is never overwritten`() async throws {
        let database = try TemporaryDatabase()
        let company = try CompanyFile(beside: database)
        let store = try company.open(database)
        _ = try await store.refreshCopy(for: .apply, at: now)
        let night = try await planned(store, ["1", "2", "3"])
        try company.execute("UPDATE subs SET state = 'ended' WHERE otid = '1'")
        try company.execute("DELETE FROM subs WHERE otid = '2'")
        try company.execute("UPDATE subs SET note = 'theirs' WHERE otid = '3'")
        try await night.apply()
        let record = try await night.conclude()
        #expect(try record.fates() == [.stale, .stale, .applied])
        #expect(
            try company.rows("SELECT state, note FROM subs ORDER BY otid")
                == [["ended", "untouched"], ["ended", "theirs"]])
        #expect(try record.entries().count == 1)
        // The copy of what was not written is as it was read.
        #expect(try store.subscriptions().map(\.status) == [1, 1, 2])
    }

    @Test func `a version that moved is stale, whatever the values`() async throws {
        let database = try TemporaryDatabase()
        var company = try CompanyFile(beside: database)
        try company.execute("ALTER TABLE subs ADD COLUMN version INTEGER DEFAULT 1")
        company.mapping.versionColumn = "version"
        let store = try company.open(database)
        _ = try await store.refreshCopy(for: .apply, at: now)
        let night = try await planned(store, ["1", "2"])
        try company.execute("UPDATE subs SET version = 2 WHERE otid = '1'")
        try await night.apply()
        #expect(try company.states() == ["active", "ended", "active"])
        #expect(
            try company.rows("SELECT version FROM subs ORDER BY otid") == [["2"], ["2"], ["1"]])
    }

    @Test(arguments: ["ABORT", "FAIL", "ROLLBACK"])
    func `a trigger's refusal takes no other row down`(how: String) async throws {
        let database = try TemporaryDatabase()
        let company = try CompanyFile(beside: database)
        try company.execute(
            """
            CREATE TRIGGER guard BEFORE UPDATE ON subs WHEN NEW.otid = '2'
            BEGIN SELECT RAISE(\(how), 'no'); END
            """)
        let store = try company.open(database)
        _ = try await store.refreshCopy(for: .apply, at: now)
        let night = try await planned(store, ["1", "2", "3"])
        try await night.apply()
        #expect(try company.states() == ["ended", "active", "ended"])
        let record = try await night.conclude()
        #expect(try record.fates() == [.applied, .rejected, .applied])
        #expect(try company.rows("SELECT entry FROM trueup_corrections") == [["1"], ["2"]])
        #expect(store.companyRemarks.contains { $0.contains("no") })
    }

    @Test func `what is not ours in the books is never replaced by a copy`() async throws {
        let database = try TemporaryDatabase()
        try database.open().load([subscription("1")])
        let company = try CompanyFile(beside: database)
        let store = try company.open(database)
        await #expect(throws: StoreError.self) {
            try await store.refreshCopy(for: .check, at: now)
        }
        #expect(try store.subscriptions().count == 1)
    }

    @Test func `books of a copy are not used without it`() async throws {
        let database = try TemporaryDatabase()
        let company = try CompanyFile(beside: database)
        _ = try await company.open(database).refreshCopy(for: .check, at: now)
        let alone = try database.open()
        await #expect(throws: StoreError.self) {
            try await alone.refreshCopy(for: .check, at: now)
        }
    }

    /// Makes the table's rows of a kind break a constraint that is looked at last.
    private func refuseAtCommit(_ condition: String, of company: CompanyFile) throws {
        try company.execute(
            """
            CREATE TABLE kinds (name TEXT PRIMARY KEY);
            ALTER TABLE subs ADD COLUMN kind TEXT
                REFERENCES kinds (name) DEFERRABLE INITIALLY DEFERRED;
            CREATE TRIGGER names_no_kind AFTER UPDATE OF state ON subs WHEN new.\(condition) BEGIN
                UPDATE subs SET kind = 'none such' WHERE id = new.id;
            END
            """)
    }

    @Test(arguments: [["4"], ["1", "7"], ["3", "4", "9"], (1...9).map(String.init)])
    func `a deferred constraint refuses only the rows that break it`(
        refused: [String]
    ) async throws {
        let database = try TemporaryDatabase()
        let ids = (1...9).map(String.init)
        let company = try CompanyFile(beside: database, ids: ids)
        let listed = refused.map { "'\($0)'" }.joined(separator: ", ")
        try refuseAtCommit("otid IN (\(listed))", of: company)
        let store = try company.open(database)
        _ = try await store.refreshCopy(for: .apply, at: now)
        let night = try await planned(store, ids)
        try await night.apply()
        #expect(
            try company.states() == ids.map { refused.contains($0) ? "active" : "ended" })
        let record = try await night.conclude()
        #expect(
            try record.fates() == ids.map { refused.contains($0) ? .rejected : .applied })
        #expect(
            try company.rows("SELECT count(*) FROM trueup_corrections")
                == [[String(ids.count - refused.count)]])
        #expect(
            store.companyRemarks.contains { remark in
                refused.contains { remark.contains(" of \($0),") } && remark.contains("FOREIGN KEY")
            })
    }

    @Test func `what cannot be committed is taken back, and the next change can be made`() throws {
        let database = try TemporaryDatabase()
        defer { withExtendedLifetime(database) {} }
        let company = try CompanyFile(beside: database)
        try refuseAtCommit("otid = '1'", of: company)
        let table = try company.link().database
        func end(_ id: String) throws -> CompanyWriteFate {
            let key = SubscriptionKey(
                bundleID: "com.example.app", environment: "Production", originalTransactionID: id)
            return try table.write(
                CompanyChange(
                    action: .update, key: key, before: [.status: .integer(1)],
                    after: [.status: .integer(2)], version: nil, isUndo: false))
        }
        try table.begin()
        #expect(try end("1") == .applied(version: nil))
        guard case .refused = try table.commit(keeping: []) else {
            Issue.record("committed")
            return
        }
        #expect(try company.states() == ["active", "active", "active"])
        try table.begin()
        #expect(try end("2") == .applied(version: nil))
        #expect(try table.commit(keeping: []) == .committed)
        #expect(try company.states() == ["active", "ended", "active"])
    }
}
