#if PostgreSQL
    import PostgresDatabase
    import ServerConnections
    import Subscriptions
    import TestSupport
    import Testing

    @Suite(.enabled(if: TestServer.isInstalled, "needs a PostgreSQL server (apt: postgresql)"))
    struct `Writing to a company's table in PostgreSQL` {
        private func row(_ number: Int, _ live: LiveCompany) throws -> CompanyRow {
            try #require(try live.company.row(LiveCompany.key(number)))
        }

        /// Everything of a row that no mapping names.
        private let unmapped = """
            SELECT md5(string_agg(user_id::text || note::text || expires_at::text, ',' ORDER BY user_id))
            FROM subs
            """

        @Test func `changes mapped columns alone, with the entry in one transaction`() throws {
            let live = try LiveCompany()
            try live.company.check(mayWrite: true)
            let before = try live.text(unmapped)
            try live.company.begin()
            let fate = try live.company.write(LiveCompany.expire(try row(1, live)))
            #expect(fate == .applied(version: 2))
            try live.company.append(LiveCompany.entry(1))
            #expect(try live.company.commit() == .committed)
            let text = "SELECT status FROM subs WHERE original_transaction_id = '2000000000000001'"
            #expect(try live.text(text) == "expired")
            #expect(try live.text(unmapped) == before)
            #expect(try live.text("SELECT count(*) FROM subs WHERE status = 'trialing'") == "24")
            #expect(try live.company.entries(after: 0, limit: 10) == [LiveCompany.entry(1)])
            #expect(try live.company.entries(after: 1, limit: 10).isEmpty)
        }

        @Test(arguments: [SeedTable.numbers, .perTransaction])
        func `finds the row of every kind of key`(table: SeedTable) throws {
            let live = try LiveCompany(table)
            try live.company.check(mayWrite: true)
            let row = try row(3, live)
            try live.company.begin()
            guard case .applied = try live.company.write(LiveCompany.expire(row)) else {
                Issue.record("not applied")
                return
            }
            #expect(try live.company.commit() == .committed)
            #expect(try self.row(3, live).values[.status] == .integer(2))
            #expect(try self.row(4, live).values[.status] == .integer(1))
        }

        @Test(
            arguments: [
                (0, "11:59:59"), (1, "11:59:59.9"), (2, "11:59:59.98"), (3, "11:59:59.987"),
            ])
        func `cuts a time to what its column keeps`(digits: Int, kept: String) throws {
            let live = try LiveCompany(
                preparing: "ALTER TABLE subs ALTER expires_at TYPE timestamptz(\(digits))")
            try live.company.check(mayWrite: true)
            #expect(
                live.company.precision.digits == (digits < 3 ? [.expiresDate: digits] : [:]))
            let row = try row(1, live)
            let apples = try #require(Timestamp(rfc3339: "2026-12-31T11:59:59.987Z"))
            try live.company.begin()
            let fate = try live.company.write(
                CompanyChange(
                    action: .update, key: row.key,
                    before: [.expiresDate: row.values[.expiresDate] ?? .null],
                    after: [.expiresDate: .time(apples)], version: row.version))
            #expect(fate == .applied(version: 2))
            #expect(try live.company.commit() == .committed)
            #expect(
                try self.row(1, live).values[.expiresDate]
                    == .time(try #require(Timestamp(rfc3339: "2026-12-31T\(kept)Z"))))
        }

        @Test func `continues where a constraint refuses one change`() throws {
            let live = try LiveCompany(preparing: "UPDATE subs SET product_id = NULL")
            try live.company.check(mayWrite: true)
            let rows = try (1...3).map { try row($0, live) }
            try live.company.begin()
            #expect(try live.company.write(LiveCompany.expire(rows[0])) == .applied(version: 2))
            guard
                case .refused(let words) = try live.company.write(
                    LiveCompany.expire(rows[1], to: 5))
            else {
                Issue.record("not refused")
                return
            }
            #expect(words.contains("subs_check"))
            #expect(try live.company.write(LiveCompany.expire(rows[2])) == .applied(version: 2))
            try live.company.append(LiveCompany.entry(1))
            #expect(try live.company.commit() == .committed)
            #expect(try live.text("SELECT count(*) FROM subs WHERE status = 'expired'") == "2")
        }

        @Test func `is told of a deferred constraint, and nothing was written`() throws {
            let live = try LiveCompany(
                preparing: """
                    CREATE TABLE kinds (name text PRIMARY KEY);
                    ALTER TABLE subs ADD CONSTRAINT known FOREIGN KEY (status)
                        REFERENCES kinds (name) DEFERRABLE INITIALLY DEFERRED NOT VALID;
                    INSERT INTO kinds VALUES ('expired')
                    """)
            try live.company.check(mayWrite: true)
            let rows = try (1...2).map { try row($0, live) }
            try live.company.begin()
            #expect(try live.company.write(LiveCompany.expire(rows[0])) == .applied(version: 2))
            #expect(
                try live.company.write(LiveCompany.expire(rows[1], to: 5)) == .applied(version: 2))
            try live.company.append(LiveCompany.entry(1))
            guard case .refused(let words) = try live.company.commit() else {
                Issue.record("not refused")
                return
            }
            #expect(words.contains("23503"))
            #expect(try live.text("SELECT count(*) FROM subs WHERE status = 'trialing'") == "25")
            #expect(try live.company.entries(after: 0, limit: 10).isEmpty)
            try live.company.begin()
            #expect(try live.company.write(LiveCompany.expire(rows[0])) == .applied(version: 2))
            #expect(try live.company.commit() == .committed)
        }

        @Test func `does once more what a lost session had done`() throws {
            let live = try LiveCompany()
            try live.company.check(mayWrite: true)
            let row = try row(1, live)
            try live.company.begin()
            #expect(try live.company.write(LiveCompany.expire(row)) == .applied(version: 2))
            _ = try live.service.script(
                """
                SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()
                """)
            #expect(
                try live.company.write(LiveCompany.expire(try self.row(2, live)))
                    == .applied(version: 2))
            try live.company.append(LiveCompany.entry(1))
            #expect(try live.company.commit() == .committed)
            #expect(try live.text("SELECT count(*) FROM subs WHERE status = 'expired'") == "2")
            #expect(live.company.repetitions > 0)
        }
    }
#endif
