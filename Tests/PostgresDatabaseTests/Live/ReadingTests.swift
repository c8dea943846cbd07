#if PostgreSQL
    import PostgresDatabase
    import ServerConnections
    import Subscriptions
    import TestSupport
    import Testing

    @Suite(.enabled(if: TestServer.isInstalled, "needs a PostgreSQL server (apt: postgresql)"))
    struct `Reading a company's table in PostgreSQL` {
        @Test(arguments: SeedTable.all)
        func `meets every row once, page by page`(table: SeedTable) throws {
            let live = try LiveCompany(table)
            try live.company.check(mayWrite: false)
            var rows: [CompanyRow] = []
            var cursor: CompanyCursor?
            repeat {
                let page = try live.company.rows(after: cursor, limit: 10)
                rows += page.rows
                cursor = page.next
            } while cursor != nil
            #expect(rows.map(\.key) == (1...25).map(LiveCompany.key))
            #expect(rows.allSatisfy { $0.unreadable.isEmpty })
            for (field, value) in table.first { #expect(rows[0].values[field] == value) }
            #expect(try live.company.row(LiveCompany.key(1)) == rows[0])
            #expect(try live.company.row(LiveCompany.key(26)) == nil)
        }

        @Test func `names a value that has no meaning, and reads the rest`() throws {
            let live = try LiveCompany(
                preparing:
                    "UPDATE subs SET status = 'on hold' WHERE right(original_transaction_id, 1) = '1'"
            )
            let row = try #require(try live.company.row(LiveCompany.key(1)))
            #expect(row.unreadable == [.status: "on hold"])
            #expect(row.values[.productID] == .text("com.example.pro"))
        }

        @Test(arguments: [
            ("text", "not json"), ("text", ""), ("text", "[1, 2]"), ("json", "[1, 2]"),
            ("json", #"{"productId": "a\u0000b"}"#), ("jsonb", "[1, 2]"),
        ])
        func `reads on where one row holds no such JSON`(type: String, payload: String) throws {
            let live = try LiveCompany(
                .payload, preparing: "ALTER TABLE subs ALTER last_payload TYPE \(type)")
            _ = try live.service.run(
                "UPDATE subs SET last_payload = $1 WHERE otid = $2",
                [payload, LiveCompany.key(1).originalTransactionID])
            try live.company.check(mayWrite: false)
            let rows = try live.company.rows(after: nil, limit: 100).rows
            #expect(rows.count == 25)
            #expect(rows.first?.values[.productID] == .null)
            #expect(rows.first?.values[.autoRenewStatus] == .null)
            #expect(
                rows.dropFirst().allSatisfy { $0.values[.productID] == .text("com.example.pro") })
            #expect(rows.dropFirst().allSatisfy { $0.values[.autoRenewStatus] == .integer(1) })
        }

        @Test func `asks for no row whose key the column cannot hold`() throws {
            let live = try LiveCompany(.numbers)
            let key = SubscriptionKey(
                bundleID: "com.example.app", environment: "Production",
                originalTransactionID: "no number")
            #expect(try live.company.row(key) == nil)
        }

        @Test func `finds the rows of a subscription under other apps`() throws {
            let live = try LiveCompany(
                .numbers,
                preparing: "UPDATE subs SET app = 'com.example.other' WHERE otid % 2 = 0")
            let mine = AppIdentity(bundleID: "com.example.app", environment: .production)
            let others = try live.company.apps(besides: [mine])
            #expect(others == [["com.example.other"]])
            func apps(holding id: String) throws -> [String] {
                try live.company.rows(holding: id, in: others).map(\.key.bundleID)
            }
            #expect(
                try apps(holding: LiveCompany.key(2).originalTransactionID)
                    == ["com.example.other"])
            #expect(try apps(holding: LiveCompany.key(1).originalTransactionID).isEmpty)
            #expect(try apps(holding: "no number").isEmpty)
            // Where a constant names the app there are no others.
            #expect(try LiveCompany().company.apps(besides: [mine]).isEmpty)
        }

        @Test func `does not wait for a table that another session has locked`() throws {
            var limits = SessionLimits()
            limits.lockMilliseconds = 100
            let live = try LiveCompany(limits: limits)
            _ = try live.service.script("BEGIN; LOCK TABLE subs IN ACCESS EXCLUSIVE MODE")
            #expect { try live.company.rows(after: nil, limit: 10) } throws: { error in
                (error as? StoreError)?.exitStatus == .busy
            }
            _ = try live.service.script("ROLLBACK")
            #expect(try live.company.rows(after: nil, limit: 10).rows.count == 10)
        }

        @Test func `continues over a new session after the server ended the old one`() throws {
            let live = try LiveCompany()
            #expect(try live.company.rows(after: nil, limit: 1).rows.count == 1)
            _ = try live.service.script(
                """
                SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()
                """)
            #expect(try live.company.rows(after: nil, limit: 1).rows.count == 1)
        }

        @Test func `ends where no server answers`() throws {
            let address = try PostgresAddress(url: "postgres://%2Fnowhere/x")
            let company = PostgresCompany(
                try .libpq(address), mapping: SeedTable.plain.mapping, books: "books")
            #expect { try company.rows(after: nil, limit: 1) } throws: { error in
                (error as? StoreError)?.exitStatus == .unavailable
            }
        }
    }
#endif
