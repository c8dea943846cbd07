import ServerConnections
package import Subscriptions

extension SessionKeeper {
    /// Tables and views as the server's catalogue describes them.
    ///
    /// - Parameters:
    ///   - name: Only this one; `nil` for all that the user may see.
    ///   - withParts: Whether also partitions, and tables that inherit from another one.
    /// - Returns: By schema and name.
    /// - Throws: `StoreError` when the catalogue cannot be read.
    mutating func tables(
        named name: CompanyTableName? = nil, withParts: Bool = true
    ) throws(StoreError) -> [CompanyTableDescription] {
        let arguments = [name?.schema, name?.name, String(withParts)]
        return try read("reading the tables' descriptions") { session throws(ServerFailure) in
            var catalogue = TableCatalogue()
            for row in try session.run(TableCatalogue.columns, arguments).rows {
                catalogue.add(column: row)
            }
            for row in try session.run(TableCatalogue.indexes, arguments).rows {
                catalogue.add(indexColumn: row)
            }
            return catalogue.tables
        }
    }
}

/// Puts tables together from the rows of the catalogue: one for each column, and one for each
/// column of an index.
struct TableCatalogue: Sendable {
    private(set) var tables: [CompanyTableDescription] = []
    private var places: [String: Int] = [:]
    private var indexes: [String: Int] = [:]

    /// Which relations are meant: those of a name, where `$1` is the schema and `$2` the name, or
    /// all.
    ///
    /// Without a schema, a name means what the search path finds, as in a statement. The rows of
    /// partitions and heirs, which `$3` may leave out, are those of the table that they belong to.
    private static let meant = """
        c.relkind IN ('r', 'p', 'v', 'm', 'f')
            AND n.nspname NOT IN ('information_schema', 'trueup')
            AND n.nspname NOT LIKE 'pg\\_%' AND has_schema_privilege(n.oid, 'USAGE')
            AND ($1::text IS NULL OR n.nspname = $1)
            AND ($2::text IS NULL OR c.relname = $2
                AND ($1::text IS NOT NULL OR pg_table_is_visible(c.oid)))
            AND ($3::boolean OR NOT EXISTS
                (SELECT 1 FROM pg_catalog.pg_inherits AS h WHERE h.inhrelid = c.oid))
        """

    /// A domain has the type that it is over.
    static let columns = """
        SELECT c.oid, n.nspname, c.relname, c.relkind IN ('v', 'm'),
            has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT'),
            has_column_privilege(c.oid, a.attnum, 'INSERT'),
            a.attname,
            lower(CASE t.typtype WHEN 'd' THEN format_type(t.typbasetype, t.typtypmod)
                ELSE format_type(a.atttypid, a.atttypmod) END),
            NOT a.attnotnull,
            a.atthasdef OR a.attidentity <> '',
            has_column_privilege(c.oid, a.attnum, 'UPDATE'),
            a.attgenerated <> '' OR a.attidentity = 'a'
        FROM pg_catalog.pg_class AS c
        JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
        JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid
        JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
        WHERE a.attnum > 0 AND NOT a.attisdropped AND \(meant)
        ORDER BY n.nspname, c.relname, a.attnum
        """

    /// An index on an expression has no column at that place.
    static let indexes = """
        SELECT c.oid, i.indexrelid, i.indisprimary, i.indisunique, i.indpred IS NULL, a.attname
        FROM pg_catalog.pg_index AS i
        JOIN pg_catalog.pg_class AS c ON c.oid = i.indrelid
        JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
        CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k (number, place)
        LEFT JOIN pg_catalog.pg_attribute AS a
            ON a.attrelid = c.oid AND a.attnum = k.number AND k.number > 0
        WHERE i.indisvalid AND k.place <= i.indnkeyatts AND \(meant)
        ORDER BY c.oid, i.indexrelid, k.place
        """

    mutating func add(column row: [String?]) {
        guard row.count == 12, let table = row[0], let name = row[6] else { return }
        if places[table] == nil {
            places[table] = tables.count
            tables.append(
                CompanyTableDescription(
                    name: CompanyTableName(schema: row[1], name: row[2] ?? ""),
                    isView: Self.isTrue(row[3]), columns: [], primaryKey: [], indexes: [],
                    rights: CompanyRights(
                        maySelect: Self.isTrue(row[4]), updatable: [], insertable: [])))
        }
        guard let place = places[table] else { return }
        tables[place].columns.append(
            CompanyColumn(
                name: name, type: row[7] ?? "", isNullable: Self.isTrue(row[8]),
                hasDefault: Self.isTrue(row[9]), isGenerated: Self.isTrue(row[11])))
        if Self.isTrue(row[5]) { tables[place].rights.insertable.insert(name) }
        if Self.isTrue(row[10]) { tables[place].rights.updatable.insert(name) }
    }

    mutating func add(indexColumn row: [String?]) {
        guard row.count == 6, let table = row[0], let index = row[1], let place = places[table]
        else { return }
        let column = row[5] ?? ""
        if Self.isTrue(row[2]) { return tables[place].primaryKey.append(column) }
        if let known = indexes[index] {
            return tables[place].indexes[known].columns.append(column)
        }
        indexes[index] = tables[place].indexes.count
        tables[place].indexes.append(
            CompanyIndex(
                columns: [column], isUnique: Self.isTrue(row[3]), isWhole: Self.isTrue(row[4])))
    }

    private static func isTrue(_ text: String?) -> Bool { text == "t" }
}

extension SessionKeeper {
    /// Brings our schema up to date, one step a transaction, while no other process does.
    ///
    /// - Throws: `StoreError.schema` where a newer version of this program made it, and where the
    ///   user may not make it.
    package mutating func makeOurTables() throws(StoreError) {
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

    /// Returns what keeps this program from using its schema: a missing right, a newer version, or
    /// dropped tables.
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
                + "\(OurSchema.newest): install the newer version here as well"
        }
        if version == 0, let obstacle = try obstacleOfForgottenSteps() { return obstacle }
        if version > 0, let obstacle = try obstacleOfLostTables() { return obstacle }
        return version < OurSchema.newest ? standing.obstacle : nil
    }

    /// Returns what to do where the tables exist and nothing records which steps made them: a
    /// repeated step would fail at what it finds.
    private mutating func obstacleOfForgottenSteps() throws(StoreError) -> String? {
        let there = try read("reading the tables of the schema trueup") {
            session throws(ServerFailure) in
            try session.run("SELECT to_regclass('trueup.ledger')", []).first
        }
        // Another worker may have made them since the version was read. A step commits its tables
        // and its number together: where the tables are seen, the number is as well.
        guard there != nil, try version() == 0 else { return nil }
        let steps = OurSchema.steps.map { "\($0.number) \($0.makes)" }.joined(separator: ", ")
        let table = OurSchema.opening.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return "trueup.migrations lists no step, though the tables next to it are there. Put its "
            + "rows back, one for each step of which the table or column is there (\(steps)): "
            + "\(table); INSERT INTO trueup.migrations (number) VALUES (1), (2), …"
    }

    /// Returns what to do where a step is recorded as done and its tables were dropped.
    private mutating func obstacleOfLostTables() throws(StoreError) -> String? {
        let lost = try read("reading the tables of the schema trueup") {
            session throws(ServerFailure) in
            try session.run(OurSchema.lost, []).rows.compactMap { $0.first.flatMap(\.self) }
        }
        guard !lost.isEmpty else { return nil }
        let made = OurSchema.steps.filter { lost.contains(String($0.number)) }.map {
            "trueup.\($0.makes)"
        }
        return "\(made.joined(separator: ", ")) \(made.count == 1 ? "is" : "are") missing, "
            + "although trueup.migrations says that trueup made it. Restore what was dropped, or "
            + "have it made again, empty: DELETE FROM trueup.migrations WHERE number IN "
            + "(\(lost.joined(separator: ", ")))"
    }

    /// How far our schema has come; 0 where there is none, and less than the newest where a step is
    /// left out, because what it made is to be made again.
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

    /// Whether a table of trueup's is there and the user has these rights on it at present.
    mutating func mayUse(_ table: String, for rights: [String]) throws(StoreError) -> Bool {
        try read("reading the schema trueup") { session throws(ServerFailure) in
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

    /// Held until the transaction ends; it needs no session, so that a pooler may be between.
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

extension SessionKeeper {
    /// Returns what row-level security may hide from the user in a table.
    ///
    /// A row that is hidden looks like one that is not there: the run would insert it once more, or
    /// never look at it.
    ///
    /// - Parameter table: As the mapping names it.
    /// - Returns: Which policies, and what to do; `nil` where every row can be seen.
    /// - Throws: `StoreError` when the catalogue cannot be read.
    mutating func rowSecurity(of table: CompanyTableName) throws(StoreError) -> String? {
        let found = try read("reading row-level security") { session throws(ServerFailure) in
            try session.run(Self.rowSecurity, [table.schema, table.name]).rows.first
        }
        guard let found, found.count == 2, let user = found[0] else { return nil }
        let policies = found[1].flatMap { $0.isEmpty ? nil : "its policies are \($0)" }
        let quoted = "\"" + user.replacing("\"", with: "\"\"") + "\""
        return "row-level security is on, and may hide rows from the user \(user): "
            + (policies ?? "it has no policy for this user, so every row is hidden")
            + ". A hidden row would be taken for one that is missing. Let the user see every row "
            + "(CREATE POLICY trueup ON \(table) TO \(quoted) USING (true), or ALTER ROLE "
            + "\(quoted) BYPASSRLS; docs/postgresql.md)"
    }

    /// A row where rows may be hidden: the user, and the policies that decide what it reads.
    ///
    /// A policy that lets every row pass hides none, unless another one restricts it.
    private static let rowSecurity = """
        SELECT current_user, string_agg(
            p.polname || ' (' || coalesce(pg_get_expr(p.polqual, p.polrelid), 'true') || ')', ', '
            ORDER BY p.polname)
        FROM pg_catalog.pg_class AS c
        JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
        LEFT JOIN LATERAL (SELECT * FROM pg_catalog.pg_policy AS q
            WHERE q.polrelid = c.oid AND q.polcmd IN ('r', '*')
                AND EXISTS (SELECT 1 FROM unnest(q.polroles) AS r (role)
                    WHERE r.role = 0 OR pg_has_role(r.role, 'USAGE'))) AS p ON true
        WHERE ($1::text IS NULL AND pg_table_is_visible(c.oid) OR n.nspname = $1)
            AND c.relname = $2 AND c.relkind IN ('r', 'p') AND row_security_active(c.oid)
        GROUP BY c.oid
        HAVING NOT coalesce(bool_or(p.polpermissive
                AND coalesce(pg_get_expr(p.polqual, p.polrelid), 'true') = 'true'), false)
            OR coalesce(bool_or(NOT p.polpermissive
                AND coalesce(pg_get_expr(p.polqual, p.polrelid), 'true') <> 'true'), false)
        """

    /// Tries what a run writes, in a transaction that is rolled back: rights that the catalogue
    /// lists are no proof, where the user may only read by default, or where a rule or trigger
    /// refuses.
    ///
    /// - Parameter statements: What is tried in the company's table; it changes no row.
    /// - Returns: What keeps a run from writing, and what to do; `nil` for nothing.
    /// - Throws: `StoreError` when the server cannot be asked.
    mutating func obstacleToWriting(_ statements: [String]) throws(StoreError) -> String? {
        let hasLedger = try version() == OurSchema.newest
        let tried = statements + (hasLedger ? OurSchema.trials : [])
        let limits = self.limits
        return try read("trying the rights") { session throws(ServerFailure) in
            _ = try session.script("ROLLBACK")
            defer { _ = try? session.script("ROLLBACK; BEGIN READ ONLY") }
            let state =
                try session.script(
                    limits.begin(writes: true)
                        + "; SELECT current_setting('transaction_read_only'), pg_is_in_recovery(), current_user"
                ).rows.first ?? []
            guard state.count == 3, state[0] != "on" else {
                let user = (state.last ?? nil) ?? "of store.url"
                return state.count == 3 && state[1] == "t"
                    ? "it is a standby: point store.url at the primary"
                    : "transactions of the user \(user) are read-only there "
                        + "(default_transaction_read_only): ALTER ROLE \"\(user)\" SET "
                        + "default_transaction_read_only = off, or change that of the database"
            }
            for statement in tried {
                do throws(ServerFailure) {
                    _ = try session.script(statement)
                } catch {
                    guard !error.endsSession,
                        ![.locked, .again, .tooSlow, .full].contains(error.state.meaning)
                    else { throw error }
                    let what = statement.split(separator: " ").prefix(3).joined(separator: " ")
                    return
                        "\(what) is refused (\(error.state): \(error.words)). The user needs the "
                        + "rights that docs/postgresql.md lists, and no rule or trigger may refuse it"
                }
            }
            return nil
        }
    }
}

extension OurSchema {
    /// The statements of a run on the tables of steps 1 to 6, with values that no run has.
    static let trials = [
        """
        INSERT INTO trueup.ledger (books, number, digest, run_id, content, written_at)
        VALUES ('doctor', 1, 'doctor', 'doctor', '{}', 0)
        """,
        """
        INSERT INTO trueup.leases
            (bundle_id, environment, job, books, place, holder, fence, taken_at, expires_at)
        VALUES ('doctor', 'doctor', 'doctor', 'doctor', 'doctor', 'doctor', 1, now(), now())
        """,
        "UPDATE trueup.leases SET expires_at = expires_at WHERE job = 'doctor'",
        "SELECT 1 FROM trueup.leases WHERE job = 'doctor' FOR SHARE",
        """
        INSERT INTO trueup.calls (bundle_id, environment, endpoint, second, calls)
        VALUES ('doctor', 'doctor', 'doctor', 1, 1)
        """,
        "UPDATE trueup.calls SET calls = calls WHERE bundle_id = 'doctor'",
        "DELETE FROM trueup.calls WHERE bundle_id = 'doctor'",
        """
        INSERT INTO trueup.refusals (bundle_id, environment, endpoint, resumes_at, rate_share)
        VALUES ('doctor', 'doctor', 'doctor', now(), 1)
        """,
        "UPDATE trueup.refusals SET rate_share = rate_share WHERE bundle_id = 'doctor'",
        "DELETE FROM trueup.runs WHERE books = 'doctor'",
        "UPDATE trueup.runs SET job = job WHERE books = 'doctor'",
        "INSERT INTO trueup.runs SELECT * FROM trueup.runs WHERE false",
    ]
}
