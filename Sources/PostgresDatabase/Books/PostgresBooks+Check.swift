package import Subscriptions
import Synchronization

extension PostgresBooks {
    /// What keeps a run from working with the books as they stand there; it only looks.
    ///
    /// - Parameter mayWrite: Whether it would write them.
    /// - Returns: What it is and what mends it; `nil` for nothing, and where no books stand there yet.
    /// - Throws: `StoreError` where nobody answers.
    package func obstacle(mayWrite: Bool) throws(StoreError) -> String? {
        try keeper.withLock { keeper throws(StoreError) in
            let version = try keeper.booksVersion()
            guard version <= self.schema.newest else {
                return "the books were written by a newer trueup (\(version), this version knows "
                    + "\(self.schema.newest)): use the newer version"
            }
            let tables = try self.schema.names(ofVersion: version)
            return try keeper.read("looking at the tables of the books") {
                session throws(ServerFailure) in
                if let obstacle = try Self.obstacleOfEncoding(session) { return obstacle }
                guard !tables.isEmpty else { return nil }
                return try Self.obstacleOf(tables, mayWrite: mayWrite, session)
            }
        }
    }

    /// Reasons, names and messages are of any language; a server with a narrow encoding refuses them
    /// in the middle of a night.
    private static func obstacleOfEncoding(
        _ session: any ServerSession
    ) throws(ServerFailure) -> String? {
        let encoding = try session.run("SELECT current_setting('server_encoding')", []).first ?? ""
        guard !["UTF8", "SQL_ASCII"].contains(encoding) else { return nil }
        return
            "the database has the encoding \(encoding), and books need UTF8: put them into a file "
            + "(store.books: sqlite:FILE)"
    }

    private static func obstacleOf(
        _ tables: [String], mayWrite: Bool, _ session: any ServerSession
    ) throws(ServerFailure) -> String? {
        let rights = mayWrite ? ["SELECT", "INSERT", "UPDATE", "DELETE"] : ["SELECT"]
        let found = try session.run(
            """
            SELECT t.name, c.oid IS NOT NULL, coalesce(string_agg(r.name, ', ' ORDER BY r.name)
                FILTER (WHERE NOT has_table_privilege(c.oid, r.name)), ''), current_user
            FROM unnest(string_to_array($1, ',')) AS t (name)
            CROSS JOIN unnest(string_to_array($2, ',')) AS r (name)
            LEFT JOIN pg_class AS c
                ON c.relname = t.name AND c.relnamespace = 'trueup'::regnamespace
            GROUP BY t.name, c.oid ORDER BY t.name
            """, [tables.joined(separator: ","), rights.joined(separator: ",")]
        ).rows
        let gone = found.filter { $0[1] == "f" }.compactMap(\.first).compactMap(\.self)
        guard gone.isEmpty else {
            let names = gone.map { "trueup.\($0)" }.joined(separator: ", ")
            return
                "\(names) \(gone.count == 1 ? "is" : "are") gone: somebody dropped it. Restore what "
                + "was dropped (docs/backup.md)"
        }
        guard let lacking = found.first(where: { $0[2] != "" }), lacking.count == 4,
            let table = lacking[0], let missing = lacking[2], let user = lacking[3]
        else { return nil }
        let others = found.count { $0[2] != "" } - 1
        let quoted = "\"" + user.replacing("\"", with: "\"\"") + "\""
        return "the user \(user) lacks \(missing) on trueup.\(table)"
            + (others == 0 ? "" : " and rights on \(others) more") + " (GRANT SELECT, INSERT, "
            + "UPDATE, DELETE ON ALL TABLES IN SCHEMA trueup TO \(quoted))"
    }
}
