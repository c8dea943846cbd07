#if PostgreSQL
    import PostgresDatabase
    import ServerConnections
    import Subscriptions
    import TestSupport

    /// A seeded database on the test server, our adapter over it, and the company's own session.
    struct LiveCompany {
        let database: String
        let table: SeedTable
        let company: PostgresCompany
        /// Writes as the company's service does.
        let service: any ServerSession

        init(
            _ table: SeedTable = .plain, user: String = "trueup", books: String = "books",
            preparing preparation: String = "", limits: SessionLimits = SessionLimits()
        ) throws {
            database = try TestServer.makeDatabase()
            self.table = table
            service = try TestServer.session(database: database)
            _ = try service.script(table.sql)
            if !preparation.isEmpty { _ = try service.script(preparation) }
            let address = try PostgresAddress(url: TestServer.url(database: database, user: user))
            company = PostgresCompany(
                try .libpq(address), mapping: table.mapping, books: books, limits: limits)
        }

        /// The same table, over sessions that a test may break.
        func company(over sessions: BreakablePostgresSessions) throws -> PostgresCompany {
            let address = try PostgresAddress(url: TestServer.url(database: database))
            return PostgresCompany(
                sessions.connector(to: address), mapping: table.mapping, books: "books")
        }

        static func key(_ number: Int) -> SubscriptionKey {
            SubscriptionKey(
                bundleID: "com.example.app", environment: "Production",
                originalTransactionID: String(2_000_000_000_000_000 + number))
        }

        /// From active to expired, as the row was read.
        static func expire(_ row: CompanyRow, to status: Int64 = 2) -> CompanyChange {
            CompanyChange(
                action: .update, key: row.key, before: [.status: row.values[.status] ?? .null],
                after: [.status: .integer(status)], version: row.version)
        }

        static func entry(_ number: Int64) -> CompanyLedgerEntry {
            CompanyLedgerEntry(
                number: number, digest: "digest \(number)", run: "run", content: #"{"n": 1}"#,
                writtenAt: Timestamp(unixMilliseconds: 1_796_000_000_000))
        }

        /// One text of the company's database.
        func text(_ sql: String) throws -> String? { try service.run(sql, []).first }
    }
#endif
