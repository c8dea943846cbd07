import Crypto
import GRDB
import Subscriptions

/// Reads plans: their identity, what made them, and their corrections as the report lists them.
struct PlanReader {
    let db: Database

    /// The identity of this database, made once and never changed.
    func databaseIdentity() throws -> String {
        guard let identity = try String.fetchOne(db, sql: "SELECT id FROM trueup_database") else {
            throw StoreError.inconsistent(
                "The database has lost its identity (the table `trueup_database` is empty). "
                    + "Restore a backup.")
        }
        return identity
    }

    /// The corrections that a run's report lists, in its order.
    ///
    /// `?1` is the run's sequence number, `?2` its pass.
    static let corrections = "FROM trueup_pass_corrections AS c WHERE \(isListed)"
    static let isListed =
        "c.pass_id = ?2 AND c.staged_by <= ?1 AND ifnull(c.superseded_by > ?1, 1)"
    static let order =
        "ORDER BY c.bundle_id, c.environment, c.original_transaction_id, c.correction_id"

    /// The plan that a run sealed; `nil` before.
    func seal(ofRun sequence: Int64) throws -> PlanSeal? {
        let statement = try db.cachedStatement(
            sql: "SELECT plan FROM trueup_run_plans WHERE run_seq = ?")
        guard let digest = try String.fetchOne(statement, arguments: [sequence]) else { return nil }
        return try plan(digest)?.seal
    }

    func breakSeal(ofRun sequence: Int64) throws {
        try db.cachedStatement(sql: "DELETE FROM trueup_run_plans WHERE run_seq = ?")
            .execute(arguments: [sequence])
    }

    /// A plan by its identity; `nil` when no run of this database made it.
    func plan(_ digest: String) throws -> KnownPlan? {
        let statement = try db.cachedStatement(
            sql: """
                SELECT p.planned_by, p.changes, p.applied_by, p.applied_at, r.job, r.narrowing,
                    EXISTS (SELECT 1 FROM trueup_awaited_reports AS a
                        WHERE a.run_id = p.applied_by), r.job_file, r.guards,
                    r.lists_deleted_at IS NOT NULL
                FROM trueup_plans AS p JOIN trueup_runs AS r ON r.run_id = p.planned_by
                WHERE p.plan = ?
                """)
        guard let row = try Row.fetchOne(statement, arguments: [digest]) else { return nil }
        var head = PlanHead(
            database: try databaseIdentity(), plannedBy: row.requiredText(at: 0),
            job: row.requiredText(at: 4), scope: TextList.decode(row.requiredText(at: 5)))
        head.jobFile = row.text(at: 7)
        head.guards = row.text(at: 8)
        // Killed before its report stood, a run has not applied the plan to its end.
        let isReported = row.integer(at: 6) != 1
        var known = KnownPlan(
            seal: PlanSeal(sha256: digest, head: head, changes: row.number(at: 1) ?? 0),
            appliedBy: isReported ? row.text(at: 2) : nil,
            appliedAt: isReported ? row.time(at: 3) : nil)
        known.isPastRetention = row.integer(at: 9) == 1
        return known
    }

    /// Computes the identity of what a run plans.
    ///
    /// - Parameters:
    ///   - run: The run.
    ///   - header: What is known of it.
    ///   - progress: Takes how many corrections are read, and of how many.
    /// - Returns: The identity.
    /// - Throws: An error of the database.
    func computeSeal(
        of run: RunReference, header: RunHeader, _ progress: (Int, Int) -> Void
    ) throws -> PlanSeal {
        let head = try head(of: run, header: header)
        var digest = SHA256()
        digest.update(data: Array((head.canonical.rendered + "\n").utf8))
        var changes = 0
        let total =
            try Int.fetchOne(
                db, sql: "SELECT count(*) \(Self.corrections)",
                arguments: [run.sequence, run.passID]) ?? 0
        let rows = try Row.fetchCursor(
            db, sql: "SELECT \(PlannedCorrection.columns) \(Self.corrections) \(Self.order)",
            arguments: [run.sequence, run.passID])
        while let row = try rows.next() {
            digest.update(data: try PlannedCorrection(row).planItem() + [0x0A])
            changes += 1
            if changes.isMultiple(of: StoreLimits.rowsPerChunk) { progress(changes, total) }
        }
        return PlanSeal(
            sha256: digest.finalize().hexadecimal, head: head, changes: changes)
    }

    /// A pass that works off a plan keeps the head of the plan, whatever run applies it.
    private func head(of run: RunReference, header: RunHeader) throws -> PlanHead {
        if let digest = try String.fetchOne(
            db, sql: "SELECT plan FROM trueup_applications WHERE pass_id = ?",
            arguments: [run.passID]), let known = try plan(digest)
        {
            return known.seal.head
        }
        var head = PlanHead(
            database: try databaseIdentity(), plannedBy: header.runID, job: header.job,
            scope: header.narrowing)
        head.jobFile = header.jobFile
        head.guards = header.guards
        return head
    }
}
