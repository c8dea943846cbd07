import ServerConnections
package import Subscriptions

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
