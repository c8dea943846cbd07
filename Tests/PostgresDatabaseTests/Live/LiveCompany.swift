#if PostgreSQL
    import PostgresDatabase
    import ServerConnections
    import Subscriptions
    import Synchronization
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
        func company(over sessions: BreakableSessions) throws -> PostgresCompany {
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

    /// Sessions over libpq that break where a test says.
    final class BreakableSessions: Sendable {
        /// What happens to a COMMIT.
        enum Fault: Sendable {
            case none
            /// It is done, and its answer never arrives.
            case answerLost
            /// The server ends the session before it hears of it.
            case terminated
        }

        private let fault = Mutex(Fault.none)

        func set(_ fault: Fault) { self.fault.withLock { $0 = fault } }

        func connector(to address: PostgresAddress) -> PostgresConnector {
            PostgresConnector(address) { () throws(ServerFailure) in
                Session(try LibpqSession(address), of: self, address)
            }
        }

        private final class Session: ServerSession {
            let session: LibpqSession
            let owner: BreakableSessions
            let address: PostgresAddress

            init(_ session: LibpqSession, of owner: BreakableSessions, _ address: PostgresAddress) {
                self.session = session
                self.owner = owner
                self.address = address
            }

            func run(_ sql: String, _ parameters: [String?]) throws(ServerFailure) -> ServerRows {
                try session.run(sql, parameters)
            }

            func script(_ sql: String) throws(ServerFailure) -> ServerRows {
                guard sql == "COMMIT" else { return try session.script(sql) }
                let fault = owner.fault.withLock { fault in
                    defer { fault = .none }
                    return fault
                }
                switch fault {
                case .none: return try session.script(sql)
                case .answerLost:
                    _ = try session.script(sql)
                    throw ServerFailure(
                        state: SQLState(""), endsSession: true, words: "cut by the test")
                case .terminated:
                    let mine = try session.run("SELECT pg_backend_pid()", []).first
                    _ = try LibpqSession(address).run(
                        "SELECT pg_terminate_backend($1, 5000)", [mine])
                    return try session.script(sql)
                }
            }
        }
    }
#endif
