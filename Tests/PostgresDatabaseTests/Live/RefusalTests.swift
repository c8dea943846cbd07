#if PostgreSQL
    import PostgresDatabase
    import ServerConnections
    import Subscriptions
    import TestSupport
    import Testing

    /// What triggers, rules and policies of a company's table do with a change.
    @Suite(.enabled(if: TestServer.isInstalled, "needs a PostgreSQL server (apt: postgresql)"))
    struct `A company's table that refuses a change in PostgreSQL` {
        /// A trigger that does this with the row of one id.
        private static func trigger(_ body: String, when: String = "BEFORE UPDATE") -> String {
            """
            CREATE FUNCTION rule_of_ours() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF NEW.original_transaction_id = '\(LiveCompany.key(2).originalTransactionID)' THEN
                    \(body)
                END IF;
                RETURN NEW;
            END $$;
            CREATE \(when.hasPrefix("CONSTRAINT") ? "CONSTRAINT " : "")TRIGGER ours
                \(when.replacing("CONSTRAINT ", with: "")) ON subs
                \(when.hasPrefix("CONSTRAINT") ? "DEFERRABLE INITIALLY DEFERRED" : "")
                FOR EACH ROW EXECUTE FUNCTION rule_of_ours()
            """
        }

        /// Writes three rows, of which the table refuses the second.
        private func expectRefusal(_ live: LiveCompany, saying text: String) throws {
            try live.company.check(mayWrite: true)
            let rows = try (1...3).map {
                try #require(try live.company.row(LiveCompany.key($0)))
            }
            try live.company.begin()
            #expect(try live.company.write(LiveCompany.expire(rows[0])) == .applied(version: 2))
            guard case .refused(let words) = try live.company.write(LiveCompany.expire(rows[1]))
            else {
                Issue.record("not refused")
                return
            }
            #expect(words.contains(text), "\(words)")
            #expect(try live.company.write(LiveCompany.expire(rows[2])) == .applied(version: 2))
            try live.company.append(LiveCompany.entry(1))
            #expect(try live.company.commit() == .committed)
            #expect(
                try live.text(
                    """
                    SELECT string_agg(right(original_transaction_id, 2), ',' ORDER BY 1) FROM subs
                    WHERE status = 'expired'
                    """) == "01,03")
            #expect(try live.company.row(LiveCompany.key(2)) == rows[1])
        }

        @Test(arguments: [
            "55000", "0A000", "XX000", "38000", "HV000", "TU001", "25006", "57P03", "08001",
            "72000",
        ])
        func `names the state of a trigger, whatever it is`(state: String) throws {
            let live = try LiveCompany(
                preparing: Self.trigger("RAISE EXCEPTION 'no way' USING ERRCODE = '\(state)';"))
            try expectRefusal(live, saying: "\(state): no way")
        }

        @Test func `names what a broken trigger lacks`() throws {
            let live = try LiveCompany(
                preparing: Self.trigger("INSERT INTO gone VALUES (1);", when: "AFTER UPDATE"))
            try expectRefusal(live, saying: "42P01")
        }

        @Test(arguments: [
            ("BEFORE UPDATE", "RETURN OLD;", "status"),
            ("BEFORE UPDATE", "NEW.status := 'past_due';", "status"),
            (
                "AFTER UPDATE",
                "IF NEW.status = 'expired' THEN UPDATE subs SET status = 'trialing', "
                    + "lock_version = 1 WHERE user_id = NEW.user_id; END IF;", "status"
            ),
            ("BEFORE UPDATE", "RETURN NULL;", "skips"),
            ("AFTER UPDATE", "DELETE FROM subs WHERE user_id = NEW.user_id;", "no row"),
        ])
        func `is believed only where the row stands as it was written`(
            when: String, body: String, reason: String
        ) throws {
            try expectRefusal(
                try LiveCompany(preparing: Self.trigger(body, when: when)), saying: reason)
        }

        @Test func `names a rule that does nothing instead`() throws {
            let live = try LiveCompany(
                preparing: """
                    CREATE RULE nothing AS ON UPDATE TO subs
                        WHERE OLD.original_transaction_id = '2000000000000002' DO INSTEAD NOTHING
                    """)
            try expectRefusal(live, saying: "skips")
        }

        @Test func `is told at COMMIT, whatever the state of a deferred trigger`() throws {
            let live = try LiveCompany(
                preparing: Self.trigger(
                    "RAISE EXCEPTION 'no way' USING ERRCODE = '55000';",
                    when: "CONSTRAINT AFTER UPDATE"))
            try live.company.check(mayWrite: true)
            let row = try #require(try live.company.row(LiveCompany.key(2)))
            try live.company.begin()
            #expect(try live.company.write(LiveCompany.expire(row)) == .applied(version: 2))
            guard case .refused(let words) = try live.company.commit() else {
                Issue.record("not refused")
                return
            }
            #expect(words.contains("55000"))
            #expect(try live.text("SELECT count(*) FROM subs WHERE status = 'expired'") == "0")
        }

        @Test func `keeps the latest row where Apple's transaction would not be it`() throws {
            let live = try LiveCompany(Self.perTransaction)
            try live.company.check(mayWrite: true)
            let row = try #require(try live.company.row(LiveCompany.key(1)))
            func write(_ transaction: String, _ end: String) throws -> CompanyWriteFate {
                try live.company.write(
                    CompanyChange(
                        action: .update, key: row.key, before: row.values,
                        after: [
                            .latestTransactionID: .text(transaction),
                            .expiresDate: .time(try #require(Timestamp(rfc3339: end))),
                        ]))
            }
            try live.company.begin()
            for (transaction, end) in [
                ("77", "2026-11-01T00:00:00Z"), ("3000000000000011", "2027-01-01T00:00:00Z"),
            ] {
                guard case .refused = try write(transaction, end) else {
                    Issue.record("inserted")
                    return
                }
            }
            #expect(try write("77", "2027-01-01T00:00:00Z") == .applied(version: nil))
            #expect(try live.company.commit() == .committed)
            #expect(
                try live.text(
                    #"SELECT count(*) FROM billing."Purchases" WHERE "originalId" LIKE '%01'"#)
                    == "4")
        }

        /// The latest row is the one that ends last, as in docs/mappings/row-per-transaction.yaml.
        private static var perTransaction: SeedTable {
            var table = SeedTable.perTransaction
            table.mapping.latestBy = "expiresAt"
            table.mapping.inserts = ["purchasedAt": .text("2026-12-01 00:00:00")]
            return table
        }
    }
#endif
