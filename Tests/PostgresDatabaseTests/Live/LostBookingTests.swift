#if PostgreSQL
    import Foundation
    import PostgresDatabase
    import ServerConnections
    import Subscriptions
    import TestSupport
    import Testing

    @Suite(.enabled(if: TestServer.isInstalled, "needs a PostgreSQL server (apt: postgresql)"))
    struct `Calls of all workers, where the server gives no answer` {
        private let account = QuotaAccount(
            app: AppIdentity(bundleID: "com.example.one", environment: .production),
            endpoint: "subscription_statuses")
        private let now = Timestamp(unixMilliseconds: Int64(Date().timeIntervalSince1970 * 1000))

        @Test func `whose booking was not answered count at least once`() throws {
            let live = try LiveCompany()
            try SharedCalls(
                .libpq(PostgresAddress(url: TestServer.url(database: live.database)))
            ).prepare()
            let sessions = BreakablePostgresSessions()
            let address = try PostgresAddress(url: TestServer.url(database: live.database))
            let calls = SharedCalls(sessions.connector(to: address))
            sessions.set(.answerLost)
            let grant = try calls.book(10, of: account, limit: 100, givingBack: nil, at: now)
            #expect(grant.calls == 10)
            #expect(try Int(live.text("SELECT sum(calls) FROM trueup.calls") ?? "") ?? 0 >= 10)
        }

        @Test func `cannot be booked where no server answers`() throws {
            let address = try PostgresAddress(url: "postgres://trueup@%2Fnowhere/none")
            let calls = SharedCalls(try .libpq(address))
            #expect {
                try calls.book(1, of: account, limit: 100, givingBack: nil, at: now)
            } throws: { error in
                (error as? StoreError)?.exitStatus == .unavailable
            }
        }
    }
#endif
