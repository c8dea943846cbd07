#if PostgreSQL
    package import PostgresDatabase
    import Synchronization

    /// Sessions over libpq that break where a test says.
    package final class BreakablePostgresSessions: Sendable {
        package init() {}

        /// What happens to a COMMIT.
        package enum Fault: Sendable {
            case none
            /// It is done, and its answer never arrives.
            case answerLost
            /// The server ends the session before it hears of it.
            case terminated
        }

        private let fault = Mutex(Fault.none)

        package func set(_ fault: Fault) { self.fault.withLock { $0 = fault } }

        package func connector(to address: PostgresAddress) -> PostgresConnector {
            PostgresConnector(address) { () throws(ServerFailure) in
                Session(try LibpqSession(address), of: self, address)
            }
        }

        private final class Session: ServerSession {
            let session: LibpqSession
            let owner: BreakablePostgresSessions
            let address: PostgresAddress

            init(
                _ session: LibpqSession, of owner: BreakablePostgresSessions,
                _ address: PostgresAddress
            ) {
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
