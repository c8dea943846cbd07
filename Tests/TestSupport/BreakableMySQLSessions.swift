#if MySQL
    package import MySQLDatabase
    import Subscriptions
    import Synchronization

    /// Sessions over libmariadb that break where a test says.
    package final class BreakableMySQLSessions: Sendable {
        package init() {}

        /// What happens to a statement.
        package enum Fault: Sendable {
            case none
            /// A COMMIT is done, and its answer never arrives.
            case answerLost
            /// The server ends the session before it hears of the COMMIT.
            case terminated
            /// The session ends with the answer to this statement.
            case lostAfter(String)
        }

        private let fault = Mutex(Fault.none)

        package func set(_ fault: Fault) { self.fault.withLock { $0 = fault } }

        package func connector(to address: MySQLAddress) -> MySQLConnector {
            MySQLConnector(address) { () throws(MySQLFailure) in
                Session(try MariaDBSession(address), of: self, address)
            }
        }

        private final class Session: MySQLSession {
            let session: MariaDBSession
            let owner: BreakableMySQLSessions
            let address: MySQLAddress

            var isMariaDB: Bool { session.isMariaDB }

            init(
                _ session: MariaDBSession, of owner: BreakableMySQLSessions, _ address: MySQLAddress
            ) {
                self.session = session
                self.owner = owner
                self.address = address
            }

            func isUsed(for doing: String) {}

            func run(
                _ sql: String, _ arguments: [CompanyLiteral]
            ) throws(MySQLFailure) -> MySQLRows {
                let rows = try session.run(sql, arguments)
                try loseSession(after: sql)
                return rows
            }

            private func loseSession(after sql: String) throws(MySQLFailure) {
                let isLost = owner.fault.withLock { fault in
                    guard case .lostAfter(let begin) = fault, sql.hasPrefix(begin) else {
                        return false
                    }
                    fault = .none
                    return true
                }
                if isLost { throw MySQLFailure(number: 2013, words: "cut by the test") }
            }

            func execute(_ sql: String) throws(MySQLFailure) {
                guard sql == "COMMIT" else {
                    try session.execute(sql)
                    return try loseSession(after: sql)
                }
                let fault = owner.fault.withLock { fault in
                    defer { fault = .none }
                    return fault
                }
                switch fault {
                case .none, .lostAfter: try session.execute(sql)
                case .answerLost:
                    try session.execute(sql)
                    throw MySQLFailure(number: 2013, words: "cut by the test")
                case .terminated:
                    let mine =
                        try session.run("SELECT CONNECTION_ID()", []).rows.first?.first ?? nil
                    try MariaDBSession(address).execute("KILL \(mine ?? "0")")
                    try session.execute(sql)
                }
            }
        }
    }
#endif
