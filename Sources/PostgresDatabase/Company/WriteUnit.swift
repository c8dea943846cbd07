import FoundationEssentials
import Subscriptions

/// An open transaction of corrections, with all that is needed to begin it again.
struct WriteUnit: Sendable {
    /// The server's name of the transaction, by which its end is known after a lost connection.
    var transaction: String
    /// The changes that were written, with the fate that was returned for each.
    var steps: [Step] = []
    var entries: [CompanyLedgerEntry] = []
    var entitlements: [CompanyEntitlementChange] = []
    var attempts = 1

    struct Step: Sendable {
        let change: CompanyChange
        let fate: CompanyWriteFate
    }
}

/// The statements of one open transaction; what they mean for the unit is decided elsewhere.
struct UnitStatements {
    let session: any ServerSession
    let statements: MappedStatements
    let entitlements: EntitlementStatements?
    let books: String
    let limits: SessionLimits

    /// Begins a transaction; it keeps every lease until its end.
    ///
    /// - Returns: The server's name of the transaction, and the first lease that another holds.
    func begin(
        holding fences: [LeaseFence]
    ) throws(ServerFailure) -> (transaction: String, lost: LeaseFence?) {
        let begun = try session.script(limits.begin(writes: true) + Self.naming).rows.first ?? []
        guard begun.count == 2, begun[1] != "on", let transaction = begun[0] else {
            throw ServerFailure(state: .readOnly, words: "transactions are read-only there")
        }
        for fence in fences where try !fence.isHeld(in: session) { return (transaction, fence) }
        return (transaction, nil)
    }

    /// A standby gives no transaction a name, and asking it for one is an error of no kind.
    private static let naming = """
        ; SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_current_xact_id()::text END,
            current_setting('transaction_read_only')
        """

    /// Writes one change where its row is as it was read.
    ///
    /// - Throws: A failure that `isOfOneRow` where the row is not as it was written: the
    ///   transaction must be rolled back.
    func write(_ change: CompanyChange) throws(ServerFailure) -> CompanyWriteFate {
        let standing = try rows(of: change.key)
        guard standing.count < 2 else {
            return .refused("two rows have this key; nothing says which is meant")
        }
        switch statements.write(change, standing: standing.first) {
        case .nothing: return .applied(version: change.version)
        case .stale: return .stale
        case .refused(let words): return .refused(words)
        case .execute(let statement):
            if let look = statements.rowOfTransaction(change),
                try session.run(look.sql, look.parameters).first != nil
            {
                return .refused(MappedStatements.transactionIsThere)
            }
            let fate = statements.fate(
                of: change, affected: try execute(statement), from: standing.first,
                to: try rows(of: change.key))
            guard case .refused(let words) = fate else { return fate }
            var failure = ServerFailure(state: .notKept, words: words)
            failure.isOfOneRow = true
            throw failure
        }
    }

    private func rows(of key: SubscriptionKey) throws(ServerFailure) -> [[String?]] {
        guard let statement = statements.row(key) else { return [] }
        return try session.run(statement.sql, statement.parameters).rows
            .map(JSONMembers(statements.mapping).texts)
    }

    /// Executes the write of one row.
    ///
    /// - Returns: How many rows the server says that it changed.
    private func execute(_ statement: MappedStatement) throws(ServerFailure) -> Int {
        do throws(ServerFailure) {
            return try session.run(statement.sql, statement.parameters).affected
        } catch {
            var failure = error
            failure.isOfOneRow = isOfOneRow(error)
            throw failure
        }
    }

    private func isOfOneRow(_ failure: ServerFailure) -> Bool {
        guard !failure.endsSession, failure.state.mayBeOfOneRow else { return false }
        guard failure.state.meaning == .unavailable else { return true }
        // A pooler also says so before it closes. Where a server still answers, a trigger did.
        return (try? session.script("ROLLBACK")) != nil
    }

    /// Writes entitlements to the company's table of them.
    ///
    /// - Returns: The reason where the table did not keep them as they are; the transaction must be
    ///   rolled back.
    func keep(_ changes: [CompanyEntitlementChange]) throws(ServerFailure) -> String? {
        guard let entitlements, !changes.isEmpty else { return nil }
        for statement in entitlements.write(changes) { _ = try execute(statement) }
        let look = entitlements.rows(of: changes.map(\.key))
        let found = try session.run(look.sql, look.parameters).rows
        return entitlements.refusal(of: changes, found: entitlements.rows(of: found))
    }

    /// Adds entries to the ledger, in one statement.
    func append(_ entries: [CompanyLedgerEntry]) throws(ServerFailure) {
        guard !entries.isEmpty else { return }
        let marks = entries.indices.map { index in
            let first = index * 5 + 2
            return "($1, $\(first), $\(first + 1), $\(first + 2), $\(first + 3), $\(first + 4))"
        }
        _ = try session.run(
            "INSERT INTO trueup.ledger (books, number, digest, run_id, content, written_at) VALUES "
                + marks.joined(separator: ", "),
            [books]
                + entries.flatMap { entry -> [String?] in
                    [
                        String(entry.number), entry.digest, entry.run, entry.content,
                        String(entry.writtenAt.unixMilliseconds),
                    ]
                })
    }
}

/// Reads members of JSON out of the texts that `MappedStatements` returns for them.
///
/// Columns of text, and of `json`, may hold what is not JSON or no text of PostgreSQL; the server
/// ends a statement that meets one such row, and only looks at versions from 16 on before it does.
struct JSONMembers {
    private let columns: [MappedColumn]
    private let isNeeded: Bool

    /// - Parameter mapping: What the rows were read by.
    init(_ mapping: TableMapping) {
        columns = mapping.readColumns
        isNeeded = columns.contains { column in
            if case .member = column { true } else { false }
        }
    }

    /// The texts of `TableMapping.readColumns`.
    ///
    /// - Parameter row: As the server returned it.
    /// - Returns: With each member in place of what leads to it; `nil` where there is no such
    ///   member.
    func texts(of row: [String?]) -> [String?] {
        guard isNeeded else { return row }
        return zip(columns, row).map { column, text in
            guard case .member(of: _, path: let path, _) = column else { return text }
            return text.flatMap { Self.member(path, of: $0) }
        }
    }

    private static func member(_ path: [String], of text: String) -> String? {
        // By bytes: what follows the letter may be a sign that combines with it.
        let rest = text.utf8.dropFirst()
        guard text.utf8.starts(with: MemberText.document.utf8) else {
            return String(Substring(rest))
        }
        let decoder = JSONDecoder()
        if let key = JSONMember.path { decoder.userInfo[key] = path }
        // What is not JSON has no members, as in SQLite.
        return try? decoder.decode(JSONMember.self, from: Data(rest)).text
    }
}

/// One member of a JSON text, as text.
private struct JSONMember: Decodable {
    let text: String?

    /// The names on the way to it.
    static let path = CodingUserInfoKey(rawValue: "path")

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        let names = Self.path.flatMap { decoder.userInfo[$0] as? [String] } ?? []
        let path = names.map { Name(stringValue: $0) }
        guard let last = path.last else {
            text = nil
            return
        }
        var container = try decoder.container(keyedBy: Name.self)
        for name in path.dropLast() {
            container = try container.nestedContainer(keyedBy: Name.self, forKey: name)
        }
        let read: String?
        if let string = try? container.decode(String.self, forKey: last) {
            read = string
        } else if let truth = try? container.decode(Bool.self, forKey: last) {
            read = truth ? "true" : "false"
        } else if let number = try? container.decode(Int64.self, forKey: last) {
            read = String(number)
        } else if let number = try? container.decode(UInt64.self, forKey: last) {
            read = String(number)
        } else {
            read = (try? container.decode(Double.self, forKey: last)).map { String($0) }
        }
        // No text of PostgreSQL holds such a character.
        text = read.flatMap { $0.utf8.contains(0) ? nil : $0 }
    }
}
