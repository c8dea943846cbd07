import Subscriptions

extension SessionKeeper {
    /// What row-level security may hide from the user in a table.
    ///
    /// A row that is hidden looks like one that is not there: the run would insert it once more, or
    /// never look at it.
    ///
    /// - Parameter table: As the mapping names it.
    /// - Returns: Which policies, and what to do; `nil` where every row can be seen.
    /// - Throws: `StoreError` when the catalogue cannot be read.
    mutating func rowSecurity(of table: CompanyTableName) throws(StoreError) -> String? {
        let found = try read("looking at row-level security") { session throws(ServerFailure) in
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

    /// Tries what a run writes, in a transaction that is taken back: rights that the catalogue lists
    /// are no proof, where the user may only read by default, or where a rule or trigger refuses.
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
                        ![.locked, .again, .tooSlow].contains(error.state.meaning)
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
    /// What a run does in the tables of step 1 to 6, with values that no run has.
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
