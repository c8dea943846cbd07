import Subscriptions

extension SessionKeeper {
    /// Brings our schema up to date, one step a transaction, while nobody else does.
    ///
    /// - Throws: `StoreError.schema` where a newer version of this program made it, and where the
    ///   user may not make it.
    mutating func bringUpToDate() throws(StoreError) {
        if let obstacle = try obstacleToOurSchema() {
            throw .schema("\(connector.address): \(obstacle); nothing was read or written.")
        }
        guard try version() < OurSchema.newest else { return }
        try write("creating the schema trueup") { session throws(ServerFailure) in
            try Self.waitForOthers(session)
            // Looked at again: another worker may have made it meanwhile.
            if try !OurSchema.Standing(session).isThere {
                _ = try session.script(OurSchema.making)
            }
            _ = try session.script(OurSchema.opening)
        }
        for step in OurSchema.steps {
            try write("migrating the schema trueup") { session throws(ServerFailure) in
                try Self.waitForOthers(session)
                let done = try session.run(
                    "SELECT 1 FROM trueup.migrations WHERE number = $1", [String(step.number)])
                guard done.rows.isEmpty else { return }
                _ = try session.script(step.statements)
                _ = try session.run(
                    "INSERT INTO trueup.migrations (number) VALUES ($1)", [String(step.number)])
            }
        }
    }

    /// What keeps this program from its schema: a right that is missing to make it, or tables in it,
    /// and how it is given; a newer version; what somebody dropped.
    ///
    /// - Returns: `nil` for nothing.
    mutating func obstacleToOurSchema() throws(StoreError) -> String? {
        let standing = try read("looking for the schema trueup") { session throws(ServerFailure) in
            try OurSchema.Standing(session)
        }
        // Without it, it cannot even be told how far the schema has come.
        guard standing.mayUse || !standing.isThere else { return standing.obstacle }
        let version = try version()
        guard version <= OurSchema.newest else {
            return "the schema trueup has version \(version), and this program knows "
                + "\(OurSchema.newest): install the newer version here, too"
        }
        if version == 0, let obstacle = try obstacleOfForgottenSteps() { return obstacle }
        if version > 0, let obstacle = try obstacleOfLostTables() { return obstacle }
        return version < OurSchema.newest ? standing.obstacle : nil
    }

    /// What to do where the tables are there and nothing says how far they have come: a step that is
    /// done again would fail at what it finds.
    private mutating func obstacleOfForgottenSteps() throws(StoreError) -> String? {
        let there = try read("looking at the tables of the schema trueup") {
            session throws(ServerFailure) in
            try session.run("SELECT to_regclass('trueup.ledger')", []).first
        }
        guard there != nil else { return nil }
        let steps = OurSchema.steps.map { "\($0.number) \($0.makes)" }.joined(separator: ", ")
        let table = OurSchema.opening.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return "trueup.migrations lists no step, though the tables beside it are there. Put its "
            + "rows back, one for each step of which the table or column is there (\(steps)): "
            + "\(table); INSERT INTO trueup.migrations (number) VALUES (1), (2), …"
    }

    /// What to do where a step is noted as done, and what it made is gone: somebody dropped it.
    private mutating func obstacleOfLostTables() throws(StoreError) -> String? {
        let lost = try read("looking at the tables of the schema trueup") {
            session throws(ServerFailure) in
            try session.run(OurSchema.lost, []).rows.compactMap { $0.first.flatMap(\.self) }
        }
        guard !lost.isEmpty else { return nil }
        let made = OurSchema.steps.filter { lost.contains(String($0.number)) }.map {
            "trueup.\($0.makes)"
        }
        return "\(made.joined(separator: ", ")) \(made.count == 1 ? "is" : "are") gone, though "
            + "trueup.migrations says that it was made. Restore what was dropped, or have it made "
            + "anew, empty: DELETE FROM trueup.migrations WHERE number IN "
            + "(\(lost.joined(separator: ", ")))"
    }

    /// How far our schema has come; 0 where there is none, and less than the newest where a step is
    /// left out, because what it made is to be made anew.
    mutating func version() throws(StoreError) -> Int {
        try read("reading the schema trueup") { session throws(ServerFailure) in
            let table = try session.run("SELECT to_regclass('trueup.migrations')", [])
            guard table.first != nil else { return 0 }
            let done = try session.run("SELECT number FROM trueup.migrations", []).rows
                .compactMap { $0.first.flatMap(\.self).flatMap { Int($0) } }
            guard let highest = done.max(), highest <= OurSchema.newest else {
                return done.max() ?? 0
            }
            let isComplete = OurSchema.steps.allSatisfy { done.contains($0.number) }
            return isComplete ? highest : min(highest, OurSchema.newest - 1)
        }
    }

    /// Whether a table of ours is there and the user has these rights on it, as it stands.
    mutating func mayUse(_ table: String, for rights: [String]) throws(StoreError) -> Bool {
        try read("looking at the schema trueup") { session throws(ServerFailure) in
            try session.run(
                """
                SELECT 1 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
                WHERE n.nspname = 'trueup' AND c.relname = $1
                    AND has_schema_privilege(n.oid, 'USAGE')
                    AND (SELECT bool_and(has_table_privilege(c.oid, p))
                        FROM unnest(string_to_array($2, ',')) AS p)
                """, [table, rights.joined(separator: ",")]
            ).rows.count == 1
        }
    }

    /// Held until the transaction ends; it needs no session, so that a pooler may stand between.
    private static func waitForOthers(_ session: any ServerSession) throws(ServerFailure) {
        _ = try session.run("SELECT pg_advisory_xact_lock($1)", [String(OurSchema.lock)])
    }
}

extension OurSchema {
    /// Whether our schema is there, and what the user may do about it.
    struct Standing: Sendable {
        let isThere: Bool
        let mayUse: Bool
        let obstacle: String?

        init(_ session: any ServerSession) throws(ServerFailure) {
            let row = try session.run(OurSchema.standing, []).rows.first ?? []
            guard row.count == 4, let user = row[0] else {
                throw ServerFailure(state: SQLState(""), words: "no answer about the schema trueup")
            }
            let quoted = "\"" + user.replacing("\"", with: "\"\"") + "\""
            isThere = row[2] != nil
            mayUse = row[2] == "t"
            if isThere {
                obstacle =
                    mayUse && row[3] == "t"
                    ? nil
                    : "the user \(user) may not make tables in the schema trueup "
                        + "(GRANT USAGE, CREATE ON SCHEMA trueup TO \(quoted))"
            } else {
                obstacle =
                    row[1] == "t"
                    ? nil
                    : "there is no schema trueup, and the user \(user) may not make one "
                        + "(CREATE SCHEMA trueup AUTHORIZATION \(quoted), or GRANT CREATE on the "
                        + "database)"
            }
        }
    }
}
