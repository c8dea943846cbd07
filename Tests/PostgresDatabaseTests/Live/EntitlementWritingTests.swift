#if PostgreSQL
    import PostgresDatabase
    import ServerConnections
    import Subscriptions
    import TestSupport
    import Testing

    @Suite(.enabled(if: TestServer.isInstalled, "needs a PostgreSQL server (apt: postgresql)"))
    struct `A company's table of entitlements in PostgreSQL` {
        private static let table = EntitlementStatements(
            CompanyTableName(name: "rights"), for: .postgresql
        ).definition

        private static var seed: SeedTable {
            var table = SeedTable.plain
            table.mapping.entitlements = CompanyTableName(name: "rights")
            return table
        }

        private func live(
            _ preparation: String = "", user: String = "trueup"
        ) throws -> LiveCompany {
            try LiveCompany(
                Self.seed, user: user, preparing: Self.table + "; " + preparation)
        }

        private func entitlement(
            _ customer: String, until: Int64? = 9_000_000_000_000, renews: Bool? = true
        ) -> StoredEntitlement {
            StoredEntitlement(
                key: StoredEntitlement.Key(
                    bundleID: "com.example.app", environment: "Production", customerID: customer,
                    entitlement: "pro"),
                expiresDate: until.map(Timestamp.init(unixMilliseconds:)),
                gracePeriodExpiresDate: nil, originalTransactionID: "1", productID: "gold",
                willRenew: renews, signedDate: Timestamp(unixMilliseconds: 5),
                ownership: "PURCHASED")
        }

        private func correct(
            _ company: PostgresCompany, keeping changes: [CompanyEntitlementChange]
        ) throws -> CommitOutcome {
            let row = try #require(try company.row(LiveCompany.key(1)))
            try company.begin()
            #expect(try company.write(LiveCompany.expire(row)) == .applied(version: 2))
            try company.append(LiveCompany.entry(1))
            return try company.commit(keeping: changes)
        }

        private let listed = """
            SELECT string_agg(customer_id || ' ' || coalesce(expires_date::text, 'life') || ' '
                || coalesce(will_renew::text, '?'), ', ' ORDER BY customer_id) FROM rights
            """
        private let expired = "SELECT count(*) FROM subs WHERE status = 'expired'"

        @Test func `is written in the transaction of the row`() throws {
            let live = try live()
            try live.company.check(mayWrite: true)
            let all = [entitlement("a"), entitlement("b", until: nil, renews: nil)]
            let outcome = try correct(live.company, keeping: all.map { .kept($0) })
            #expect(outcome == .committed)
            #expect(try live.text(listed) == "a 9000000000000 1, b life ?")
            #expect(try live.text(expired) == "1")
            let read = try live.company.entitlements { $0.page(after: nil, limit: 10, of: nil) }
            #expect(read == all.map(CompanyEntitlement.init))
            #expect(try live.company.entitlements { $0.rows(of: [all[1].key]) } == [read[1]])
            let behind = try live.company.entitlements {
                $0.page(after: all[0].key, limit: 9, of: nil)
            }
            #expect(behind == [read[1]])
            let ofNoApp = try live.company.entitlements { $0.page(after: nil, limit: 9, of: []) }
            #expect(ofNoApp.isEmpty)
            try live.company.begin()
            let again = try live.company.commit(keeping: [
                .kept(entitlement("a", until: 7, renews: false)), .deleted(all[1].key),
            ])
            #expect(again == .committed)
            #expect(try live.text(listed) == "a 7 0")
        }

        @Test(arguments: [BreakablePostgresSessions.Fault.answerLost, .terminated])
        func `is there once, however often the connection is lost`(
            fault: BreakablePostgresSessions.Fault
        ) throws {
            let live = try live()
            let sessions = BreakablePostgresSessions()
            let company = try live.company(over: sessions)
            try company.check(mayWrite: true)
            sessions.set(fault)
            #expect(try correct(company, keeping: [.kept(entitlement("a"))]) == .committed)
            #expect(try live.text(listed) == "a 9000000000000 1")
            #expect(try live.text(expired) == "1")
        }

        @Test(arguments: [
            ("RAISE EXCEPTION 'not this one' USING ERRCODE = '55000'", "not this one"),
            ("RETURN NULL", "not as it was written"),
            ("NEW.expires_date = 1", "not as it was written"),
        ])
        func `that refuses a row leaves the correction unwritten`(
            body: String, words: String
        ) throws {
            let live = try live(
                """
                CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN \(body); RETURN NEW; END $$;
                CREATE TRIGGER no BEFORE INSERT ON rights FOR EACH ROW EXECUTE FUNCTION no()
                """)
            try live.company.check(mayWrite: true)
            let outcome = try correct(live.company, keeping: [.kept(entitlement("a"))])
            guard case .refused(let reason) = outcome else {
                Issue.record("not refused: \(outcome)")
                return
            }
            #expect(reason.contains(words) && reason.contains("rights"), "\(reason)")
            #expect(try live.text(expired) == "0")
            #expect(try live.company.entries(after: 0, limit: 1).isEmpty)
        }

        @Test(arguments: [
            ("DROP TABLE rights", "has no table rights"),
            ("ALTER TABLE rights DROP entitlement", "has no column entitlement"),
            ("ALTER TABLE rights ALTER expires_date TYPE integer", "expires_date of type integer"),
            (
                "ALTER TABLE rights ALTER customer_id TYPE bigint USING 1",
                "customer_id of type bigint"
            ),
            ("ALTER TABLE rights DROP CONSTRAINT rights_pkey", "no primary key"),
            ("ALTER TABLE rights ENABLE ROW LEVEL SECURITY", "row-level security"),
            ("REVOKE DELETE ON rights FROM \(reader)", "DELETE FROM"),
            ("REVOKE UPDATE ON rights FROM \(reader)", "GRANT SELECT, INSERT, UPDATE, DELETE"),
        ])
        func `that cannot be kept is a failure that names what to do`(
            change: String, problem: String
        ) throws {
            let live = try live(
                """
                DO $$ BEGIN CREATE ROLE \(Self.reader) LOGIN; EXCEPTION
                    WHEN duplicate_object OR unique_violation THEN NULL; END $$;
                GRANT ALL ON rights, subs TO \(Self.reader); \(change)
                """, user: Self.reader)
            let words = try #require(try live.company.obstacleToEntitlements(mayWrite: true))
            #expect(words.contains(problem), "\(words)")
            #expect(throws: StoreError.self) { try live.company.check(mayWrite: true) }
        }

        private static let reader = "entitlement_reader"

        @Test func `may keep will_renew as a boolean, and have columns of its own`() throws {
            let live = try live(
                """
                ALTER TABLE rights ALTER will_renew TYPE boolean USING NULL;
                ALTER TABLE rights ADD note text NOT NULL DEFAULT 'theirs'
                """)
            try live.company.check(mayWrite: true)
            let outcome = try correct(
                live.company, keeping: [.kept(entitlement("a", renews: false))])
            #expect(outcome == .committed)
            #expect(try live.text(listed) == "a 9000000000000 false")
            let read = try live.company.entitlements { $0.page(after: nil, limit: 10, of: nil) }
            #expect(read == [CompanyEntitlement(entitlement("a", renews: false))])
        }
    }
#endif
