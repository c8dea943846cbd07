package import ServerConnections
package import Subscriptions

/// One session with a server of MySQL or MariaDB: statements in, rows of text out.
///
/// Behind it is libmariadb in a build that has it, and a script in tests. Its calls block.
package protocol MySQLSession: AnyObject, Sendable {
    /// Runs one prepared statement.
    ///
    /// - Parameters:
    ///   - sql: With `?` where values belong.
    ///   - arguments: The values; they never become part of the statement.
    /// - Returns: The rows, and how many were found by what it writes.
    /// - Throws: What the server said, or that it can no longer be heard.
    func run(_ sql: String, _ arguments: [CompanyLiteral]) throws(MySQLFailure) -> MySQLRows

    /// Runs one statement without values that has no result, such as `COMMIT`.
    ///
    /// - Parameter sql: The statement.
    /// - Throws: What the server said, or that it can no longer be heard.
    func execute(_ sql: String) throws(MySQLFailure)

    /// Whether it is a server of MariaDB.
    var isMariaDB: Bool { get }

    /// Notes what the next statements are for, for people who see that it waits.
    ///
    /// - Parameter doing: To follow "while".
    func isUsed(for doing: String)
}

/// The result of a statement.
package struct MySQLRows: Hashable, Sendable {
    /// In the order of the statement; `nil` is NULL.
    package var rows: [[String?]] = []
    /// How many rows were found by a statement that writes, also those that were so already.
    package var affected = 0

    /// The first column of the first row.
    var first: String? { rows.first?.first ?? nil }
}

/// The reason why a statement failed.
package struct MySQLFailure: ServerFault, Hashable, Sendable {
    package var meaning: ServerMeaning
    /// The server's number of the error; 0 where no server said anything.
    package var number: UInt32
    /// Whether the session is over: what was sent last may or may not have been done.
    package var endsSession: Bool
    /// The server's words, without the values that it repeats: they are personal data.
    package var words: String
    /// Whether it is about the one row that was written, and nothing else is in the way.
    package var isOfOneRow = false

    package init(
        _ meaning: ServerMeaning, number: UInt32 = 0, endsSession: Bool = false, words: String
    ) {
        self.meaning = meaning
        self.number = number
        self.endsSession = endsSession
        self.words = words
    }

    /// An error as the library tells of it.
    package init(number: UInt32, words: String) {
        self.init(
            Self.meaning(of: number), number: number, endsSession: Self.endsSession(number),
            words: Self.withoutValues(words, number))
    }

    package var mayBeOfOneRow: Bool {
        ![.again, .locked, .tooSlow, .full, .readOnly, .stopped, .unavailable].contains(meaning)
    }

    package static func again(_ words: String) -> MySQLFailure {
        MySQLFailure(.again, words: words)
    }

    package func error(doing: String, at place: String) -> StoreError {
        StoreError(
            self, doing: doing, at: place, said: number == 0 ? "(\(words))" : "(MySQL \(said))",
            checks: number == Self.tlsFailed
                ? "its certificate (`ca` in store.url names the authority that signed it, and it "
                    + "must name the host of store.url)"
                : "store.url, the password and the rights of the user",
            readOnly: "It is a replica, or read_only is on: point store.url at the primary, or "
                + "run SET GLOBAL read_only = 0 there",
            locked: "Find the transaction in information_schema.INNODB_TRX",
            schema: "Adapt store.subscriptions to the change, or undo it.",
            rights: "`trueup doctor` names the rights that are needed.")
    }

    /// The library's number for a session that TLS did not allow.
    private static let tlsFailed: UInt32 = 2026

    package var said: String { number == 0 ? words : "\(number): \(words)" }

    private static func meaning(of number: UInt32) -> ServerMeaning {
        switch number {
        case 1213, 1412, 1615, 1020: .again
        case 1205: .locked
        case 1969, 3024, 1317: .tooSlow
        case 1290, 1792, 1836, 3100: .readOnly
        case 1044, 1142, 1143, 1227, 1370, 1410: .forbidden
        case 1146, 1054, 1051, 1109, 1049, 1305, 1356, 1449: .schema
        case 1021, 1114, 1026, 1030, 3, 1037, 1038, 1041, 1135: .full
        case 1062: .duplicate
        case 1040, 1045, 1053, 1077, 1079, 1129, 1130, 1203, 1226, 1698, 1927, 1928, 4031:
            .unavailable
        case _ where endsSession(number): .unavailable
        default: .other
        }
    }

    /// Numbers from 2000 on are the library's own: it lost the server, or never reached it.
    private static func endsSession(_ number: UInt32) -> Bool {
        switch number {
        case 2000..<3000, 1053, 1077, 1079, 1080, 1152...1161, 1184, 1927, 4031: true
        default: false
        }
    }

    /// Errors about a value repeat it behind their first quotation mark.
    private static func withoutValues(_ words: String, _ number: UInt32) -> String {
        guard [1062, 1265, 1292, 1366, 1367, 1411, 1525, 1526, 1586].contains(number) else {
            return words
        }
        let end = words.ranges(of: " for ").last.map { String(words[$0.lowerBound...]) } ?? ""
        var begin = words.prefix { $0 != "'" }
        while begin.last == " " || begin.last == ":" { begin.removeLast() }
        return begin.count + end.count < words.count ? begin + end : words
    }
}

/// How long our statements may take and wait next to the company's own.
package struct MySQLLimits: Hashable, Sendable {
    /// One statement.
    package var statementSeconds = 30
    /// Waiting for a row, or for a table that a migration holds.
    package var lockSeconds = 2
    /// Between two statements of a transaction: a paused process must not hold the company's rows.
    package var idleSeconds = 10
    /// How often a transaction is begun again that was in another's way.
    package var attempts = 4

    package init() {}

    /// The statements that a session begins with, whatever the defaults of server and user are.
    func opening(onMariaDB isMariaDB: Bool) -> [String] {
        var settings = [
            "time_zone = '+00:00'",
            "sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,"
                + "ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
            "autocommit = 1", "sql_auto_is_null = 0", "sql_safe_updates = 0",
            "sql_select_limit = DEFAULT", "innodb_lock_wait_timeout = \(lockSeconds)",
            "lock_wait_timeout = \(lockSeconds)",
        ]
        settings +=
            isMariaDB
            ? [
                "max_statement_time = \(statementSeconds)",
                "idle_transaction_timeout = \(idleSeconds)",
            ]
            : ["max_execution_time = \(statementSeconds * 1000)"]
        return [
            "SET SESSION " + settings.joined(separator: ", "),
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "SET SESSION TRANSACTION READ WRITE",
        ]
    }
}
