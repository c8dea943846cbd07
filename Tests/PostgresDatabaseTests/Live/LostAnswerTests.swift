#if PostgreSQL
    import PostgresDatabase
    import ServerConnections
    import Subscriptions
    import TestSupport
    import Testing

    @Suite(.enabled(if: TestServer.isInstalled, "needs a PostgreSQL server (apt: postgresql)"))
    struct `The ledger in PostgreSQL` {
        @Test func `is of one set of books: others have numbers of their own`() throws {
            let live = try LiveCompany()
            try live.company.check(mayWrite: true)
            try live.company.begin()
            try live.company.append(LiveCompany.entry(1))
            #expect(try live.company.commit() == .committed)
            let address = try PostgresAddress(url: TestServer.url(database: live.database))
            let other = PostgresCompany(
                try .libpq(address), mapping: live.table.mapping, books: "other books")
            #expect(try other.entries(after: 0, limit: 10).isEmpty)
            try other.begin()
            try other.append(LiveCompany.entry(1))
            #expect(try other.commit() == .committed)
        }
    }
#endif
