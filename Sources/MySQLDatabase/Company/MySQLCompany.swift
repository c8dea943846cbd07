package import ServerConnections
package import Subscriptions

/// The company's own table in MySQL or MariaDB, read and written by its mapping.
///
/// trueup's database is a file elsewhere; here are only the rows and, in the same database, the
/// ledger of their corrections.
package typealias MySQLCompany = ServerCompany<MySQLServer>

extension ServerCompany where Server == MySQLServer {
    /// - Parameters:
    ///   - connector: Opens sessions.
    ///   - mapping: How the table is read and written.
    ///   - books: The identity of the books that the corrections belong to.
    ///   - limits: How long a statement may take and wait.
    package convenience init(
        _ connector: MySQLConnector, mapping: TableMapping, books: String = "",
        limits: MySQLLimits = MySQLLimits()
    ) {
        self.init(
            MySQLServer(
                link: MySQLLink(connector, limits: limits), mapping: mapping, books: books),
            mapping: mapping)
    }
}

/// A server of MySQL or MariaDB, with the ledger in tables next to the company's.
package struct MySQLServer: CompanyServer {
    var link: MySQLLink
    let mapping: TableMapping
    /// Whose entries in the ledger are trueup's: several books may correct one database.
    let books: String
    package var fences: [LeaseFence] = []
    /// The number of an entry in the transaction whose COMMIT was not answered.
    private var lost: Int64?
    /// Made once the types of the columns are known.
    private var mapped: [MappedTable: MappedStatements] = [:]

    init(link: MySQLLink, mapping: TableMapping, books: String) {
        self.link = link
        self.mapping = mapping
        self.books = books
    }

    package static let dialect = MappedStatements.Dialect.mysql
    package static let hasSavepoints = true
    package static let questionsAboutLost = 75
    /// The question about a lost transaction waits for its locks.
    package static let pauseMilliseconds: UInt32 = 0
    package static let adviceOnLost = "End the session (KILL) if it does not end by itself."

    package var place: String { link.connector.address.description }
    package var patience: ServerPatience { link.connector.patience }
    package var repetitions: Int { link.repetitions }

    package mutating func statements(
        for mapping: TableMapping
    ) throws(StoreError) -> MappedStatements {
        if let known = mapped[mapping.kind] { return known }
        guard let table = try link.tables(named: mapping.table).first else {
            throw .schema(Self.missing(mapping, of: place))
        }
        return statements(for: mapping, of: table)
    }

    @discardableResult
    private mutating func statements(
        for mapping: TableMapping, of table: CompanyTableDescription
    ) -> MappedStatements {
        var read = mapping
        // A point in time, which every session reads by the clock of UTC.
        for (field, column) in mapping.columns {
            guard case .column(let name, .timestamptz) = column,
                table.column(name)?.type.hasPrefix("timestamp") == true
            else { continue }
            read.columns[field] = .column(name, .timestamp(LocalClock(minutesEast: 0)))
        }
        let statements = MappedStatements(read, for: .mysql)
        mapped[mapping.kind] = statements
        return statements
    }

    package mutating func session(for doing: String) throws(MySQLFailure) -> any MySQLSession {
        try link.current(for: doing)
    }

    package func run(
        _ statement: MappedStatement, in session: any MySQLSession
    ) throws(MySQLFailure) -> (rows: [[String?]], affected: Int) {
        // MySQL prepares neither.
        guard !["SAVEPOINT", "ROLLBACK"].contains(where: statement.sql.hasPrefix) else {
            try session.execute(statement.sql)
            return ([], 0)
        }
        let found = try session.run(statement.sql, statement.arguments)
        return (found.rows, found.affected)
    }

    package mutating func read<Value: Sendable>(
        _ doing: String, _ body: (any MySQLSession) throws(MySQLFailure) -> Value
    ) throws(StoreError) -> Value { try link.perform(doing, body) }

    package mutating func begin(in session: any MySQLSession) throws(MySQLFailure) {
        // A fail-over may have led to a replica.
        let answer = try session.run("SELECT CAST(@@global.read_only AS CHAR)", []).first
        guard answer == "0" || answer == "OFF" else {
            throw MySQLFailure(.readOnly, words: "read_only is on")
        }
        try session.execute("START TRANSACTION")
        for fence in fences where try !fence.isHeld(in: session) {
            throw MySQLFailure(.fenced, words: fence.description)
        }
        link.isAnswered()
    }

    package mutating func commit(
        upTo entry: Int64?, in session: any MySQLSession
    ) throws(MySQLFailure) {
        do throws(MySQLFailure) {
            try session.execute("COMMIT")
            link.isAnswered()
        } catch {
            // Whatever it says, only the ledger shows whether it was done.
            lost = entry
            link.drop()
            var failure = error
            failure.endsSession = true
            throw failure
        }
    }

    package mutating func rollBack() { link.rollBack() }

    /// It had written its entries before: until it ends, no other transaction gets their lock.
    package mutating func isLostOneOver() throws(StoreError) -> Bool {
        guard let lost else { return true }
        let books = books
        let isOver = try link.perform("looking for the end of a transaction") {
            session throws(MySQLFailure) in
            try session.execute("START TRANSACTION")
            defer { try? session.execute("ROLLBACK") }
            do throws(MySQLFailure) {
                _ = try session.run(
                    """
                    SELECT entry FROM \(OurTable.ledger.name)
                    WHERE books = ? AND entry = ? FOR UPDATE
                    """, [.text(books), .integer(lost)])
                return true
            } catch {
                guard error.meaning == .locked else { throw error }
                return false
            }
        }
        if isOver { self.lost = nil }
        return isOver
    }

    package mutating func mayRepeat(after failure: MySQLFailure, attempt: Int) -> Bool {
        link.mayRepeat(after: failure, attempt: attempt)
    }

    package mutating func tables(
        named name: CompanyTableName?
    ) throws(StoreError) -> [CompanyTableDescription] {
        if let name {
            let found = try link.tables(named: name)
            for mapping in mapping.all where name == mapping.table {
                if let table = found.first { statements(for: mapping, of: table) }
            }
            return found
        }
        // The mapped ones may be in another database than that of the URL.
        var tables: [CompanyTableDescription] = []
        for mapping in mapping.all where mapping.table.schema != nil {
            tables += try link.tables(named: mapping.table)
        }
        return tables + (try link.tables())
    }

    package mutating func facts() throws(StoreError) -> [String] {
        let engine = try link.engine(of: mapping.table)
        return [
            try link.facts().line
                + (engine.map { "; the engine of \(mapping.table) is \($0)" } ?? "")
        ]
    }

    package func replicationLag(
        in session: any MySQLSession
    ) throws(MySQLFailure) -> ReplicationLag {
        // MySQL 8.4 has the new name alone, MariaDB before 10.5 the old one.
        let query = session.isMariaDB ? "SHOW SLAVE STATUS" : "SHOW REPLICA STATUS"
        let rows: [[String?]]
        do throws(MySQLFailure) {
            rows = try session.run(query, []).rows
        } catch {
            guard error.meaning == .forbidden else { throw error }
            let right = session.isMariaDB ? "SLAVE MONITOR" : "REPLICATION CLIENT"
            return .unknown("the user needs the right to \(query): GRANT \(right) ON *.* to it")
        }
        guard !rows.isEmpty else {
            return .unknown(
                "the server of store.url is not a replica, and a primary does not know how far its "
                    + "replicas are behind. Leave store.max_lag out, or measure the lag with "
                    + "store.max_load (docs/mysql.md)")
        }
        let seconds = rows.map { row in
            row.count > Self.secondsBehind ? row[Self.secondsBehind].flatMap { Double($0) } : nil
        }
        // NULL where the replica does not follow its primary at present.
        return .seconds(seconds.map { $0 ?? .infinity }.max() ?? .infinity)
    }

    /// The place of Seconds_Behind_Master, and of Seconds_Behind_Source, among the columns.
    private static let secondsBehind = 32

    /// Rows and their entries belong to one transaction, which only InnoDB has.
    private mutating func obstacleOfEngine() throws(StoreError) -> String? {
        for name in mapping.all.map(\.table) + [mapping.entitlements].compactMap(\.self) {
            guard let engine = try link.engine(of: name), engine != "InnoDB" else { continue }
            let table = MappedStatements(TableMapping(table: name, columns: [:]), for: .mysql).table
            return "\(name) has the engine \(engine), which has no transactions: run ALTER TABLE "
                + "\(table) ENGINE = InnoDB, or set mode: check"
        }
        return nil
    }

    package mutating func prepareLedger(mayWrite: Bool) throws(StoreError) {
        guard mayWrite else { return }
        try link.makeOurTables()
        if let obstacle = try obstacleOfEngine() {
            throw .schema("The server of \(place): \(obstacle). Nothing was read or written.")
        }
    }

    package mutating func obstacleToLedger() throws(StoreError) -> String? {
        let facts = try link.facts()
        if let obstacle = facts.obstacleToWriting ?? facts.obstacleOfLog { return obstacle }
        if let obstacle = try obstacleOfEngine() { return obstacle }
        if let obstacle = try obstacleToOurTables() { return obstacle }
        var trials = entitlementTrials
        for mapping in mapping.all { trials += try statements(for: mapping).trials }
        return try obstacle(toTrying: trials)
    }

    private var entitlementTrials: [String] {
        mapping.entitlements.map { EntitlementStatements($0, for: .mysql).trials } ?? []
    }

    package mutating func obstacle(
        to table: CompanyTableName, trying statements: [String]
    ) throws(StoreError) -> String? {
        guard !statements.isEmpty else { return try link.facts().obstacleToReading }
        return try obstacle(toTrying: statements)
    }

    /// Rights that are listed are no proof, where the server may only be read.
    mutating func obstacle(toTrying statements: [String]) throws(StoreError) -> String? {
        try link.perform("trying the rights") { session throws(MySQLFailure) in
            try session.execute("START TRANSACTION")
            defer { try? session.execute("ROLLBACK") }
            for statement in statements {
                do throws(MySQLFailure) {
                    try session.execute(statement)
                } catch {
                    guard !error.endsSession,
                        ![.locked, .again, .tooSlow, .full].contains(error.meaning)
                    else { throw error }
                    let what = statement.split(separator: " ").prefix(3).joined(separator: " ")
                    return "\(what) is refused (\(error.said)). The user needs the rights that "
                        + "docs/mysql.md lists"
                }
            }
            return nil
        }
    }
}

extension MySQLServer {
    package func insertion(of entries: [CompanyLedgerEntry]) -> MappedStatement {
        let marks = entries.map { _ in "(?, ?, ?, ?, ?, ?)" }.joined(separator: ", ")
        return MappedStatement(
            sql: "INSERT INTO \(OurTable.ledger.name) (books, entry, digest, run_id, written_at, "
                + "content) VALUES \(marks)",
            arguments: entries.flatMap { entry -> [CompanyLiteral] in
                [
                    .text(books), .integer(entry.number), .text(entry.digest), .text(entry.run),
                    .integer(entry.writtenAt.unixMilliseconds), .text(entry.content),
                ]
            })
    }

    package func entries(
        after number: Int64, limit: Int, in session: any MySQLSession
    ) throws(MySQLFailure) -> [[String?]] {
        do throws(MySQLFailure) {
            return try session.run(
                """
                SELECT CAST(entry AS CHAR), digest, run_id, content, CAST(written_at AS CHAR)
                FROM \(OurTable.ledger.name) WHERE books = ? AND entry > ? ORDER BY entry LIMIT ?
                """, [.text(books), .integer(number), .integer(Int64(limit))]
            ).rows
        } catch {
            guard OurTable.isMissing(error) else { throw error }
            return []
        }
    }

    /// Returns what keeps a run from making trueup's tables, and from writing to them; it only
    /// reads.
    mutating func obstacleToOurTables() throws(StoreError) -> String? {
        let names = OurTable.all.map { CompanyLiteral.text($0.name) }
        let marks = names.map { _ in "?" }.joined(separator: ", ")
        let found = try link.perform("reading the rights") { session throws(MySQLFailure) in
            let there = try session.run(
                """
                SELECT TABLE_NAME FROM information_schema.TABLES
                WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN (\(marks))
                """, names
            ).rows.compactMap { $0.first ?? nil }
            let allowed = try session.run(
                """
                SELECT '' FROM information_schema.USER_PRIVILEGES WHERE PRIVILEGE_TYPE = 'CREATE'
                UNION ALL SELECT '' FROM information_schema.SCHEMA_PRIVILEGES
                    WHERE PRIVILEGE_TYPE = 'CREATE' AND DATABASE() LIKE TABLE_SCHEMA
                UNION ALL SELECT TABLE_NAME FROM information_schema.TABLE_PRIVILEGES
                    WHERE PRIVILEGE_TYPE = 'CREATE' AND TABLE_SCHEMA = DATABASE()
                """, []
            ).rows.compactMap { $0.first ?? nil }
            // What a role allows is not listed there.
            let role = try? session.run("SELECT CURRENT_ROLE()", []).first
            let user = try session.run("SELECT CURRENT_USER()", []).first
            return (there, allowed, role.flatMap { $0 == "NONE" ? nil : $0 }, user ?? "")
        }
        let (there, allowed, role, login) = found
        let missing = OurTable.all.filter { !there.contains($0.name) }
        let user = login.split(separator: "@", maxSplits: 1).map { "'\($0)'" }
            .joined(separator: "@")
        if !allowed.contains(""), role == nil {
            let forbidden = missing.filter { !allowed.contains($0.name) }
            if let first = forbidden.first {
                let rights = (["CREATE"] + first.rights).joined(separator: ", ")
                let others = forbidden.dropFirst().map { "`\($0.name)`" }
                return "the user may not make trueup's tables (GRANT \(rights) ON `\(first.name)` "
                    + "TO \(user)\(others.isEmpty ? "" : ", and the rights of docs/mysql.md on ")"
                    + others.joined(separator: ", ") + ")"
            }
        }
        return try obstacle(
            toTrying: OurTable.all.filter { there.contains($0.name) }.flatMap(\.trials))
    }
}
