#if PostgreSQL
    import PostgresDatabase
    import ServerConnections
    import Subscriptions
    import TestSupport
    import Testing

    @Suite(.enabled(if: TestServer.isInstalled, "needs a PostgreSQL server (apt: postgresql)"))
    struct `A COMMIT without an answer` {
        private func commit(
            _ fault: BreakableSessions.Fault
        ) throws -> (LiveCompany, PostgresCompany, CommitOutcome) {
            let live = try LiveCompany()
            let sessions = BreakableSessions()
            let company = try live.company(over: sessions)
            try company.check(mayWrite: true)
            let row = try #require(try company.row(LiveCompany.key(1)))
            try company.begin()
            #expect(try company.write(LiveCompany.expire(row)) == .applied(version: 2))
            try company.append(LiveCompany.entry(1))
            sessions.set(fault)
            return (live, company, try company.commit())
        }

        @Test func `is found in the ledger where it was done`() throws {
            let (live, company, outcome) = try commit(.answerLost)
            #expect(outcome == .committed)
            #expect(try company.entries(after: 0, limit: 10) == [LiveCompany.entry(1)])
            #expect(try live.text("SELECT count(*) FROM subs WHERE status = 'expired'") == "1")
            #expect(company.repetitions == 0)
        }

        @Test func `is done once more where the ledger shows that it was not done`() throws {
            let (live, company, outcome) = try commit(.terminated)
            #expect(outcome == .committed)
            #expect(try company.entries(after: 0, limit: 10) == [LiveCompany.entry(1)])
            #expect(try live.text("SELECT count(*) FROM subs WHERE status = 'expired'") == "1")
            #expect(company.repetitions > 0)
        }

        @Test func `leaves a number that nobody can commit twice`() throws {
            let (_, company, _) = try commit(.answerLost)
            let row = try #require(try company.row(LiveCompany.key(2)))
            try company.begin()
            #expect(try company.write(LiveCompany.expire(row)) == .applied(version: 2))
            try company.append(LiveCompany.entry(1))
            #expect { try company.commit() } throws: { error in
                (error as? StoreError)?.exitStatus == .config
            }
            #expect(try company.row(LiveCompany.key(2))?.values[.status] == .integer(1))
        }

        @Test func `is of one set of books: others have numbers of their own`() throws {
            let (live, _, _) = try commit(.none)
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
