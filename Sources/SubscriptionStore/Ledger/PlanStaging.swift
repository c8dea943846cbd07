import GRDB
import Subscriptions

/// Takes the corrections of an earlier run's plan up into a pass of their own.
///
/// The corrections are read from the database, which stores the plan under its digest, not from
/// the file: the file only says which plan was approved.
struct PlanStaging {
    let db: Database
    let run: RunReference
    let plan: String

    /// The numbers of the plan's corrections lie between these; `nil` when it has none.
    static func range(of plan: String, _ db: Database) throws -> ClosedRange<Int64>? {
        let found = try Row.fetchOne(
            db,
            sql: """
                SELECT min(correction_id), max(correction_id) FROM trueup_pass_corrections
                WHERE pass_id = ?
                """,
            arguments: [try origin(of: plan, db).passID])
        guard let first = found?.integer(at: 0), let last = found?.integer(at: 1) else {
            return nil
        }
        return first...last
    }

    /// Copies the next corrections; returns where to go on, or `nil` at the end.
    ///
    /// Corrections already in the pass are kept, so a killed run can continue. They are read by
    /// number: by key, SQLite would sort all remaining ones for each chunk.
    func copy(from position: Int64, through last: Int64) throws -> Int64? {
        try db.execute(
            sql: "INSERT OR IGNORE INTO trueup_applications (pass_id, plan) VALUES (?, ?)",
            arguments: [run.passID, plan])
        let origin = try Self.origin(of: plan, db)
        let planned = try Row.fetchAll(
            db,
            sql: """
                SELECT \(PlannedCorrection.columns), c.correction_id
                FROM trueup_pass_corrections AS c NOT INDEXED
                WHERE \(PlanReader.isListed) AND c.correction_id BETWEEN ?3 AND ?4
                ORDER BY c.correction_id LIMIT \(StoreLimits.correctionsPerChunk)
                """,
            arguments: [origin.sequence, origin.passID, position, last])
        for row in planned {
            try copy(
                PlannedCorrection(row),
                numbered: row.integer(at: PlannedCorrection.columnCount) ?? 0, of: origin)
        }
        guard planned.count == StoreLimits.correctionsPerChunk else { return nil }
        return planned.last?.integer(at: PlannedCorrection.columnCount).map { $0 + 1 }
    }

    private func copy(
        _ correction: PlannedCorrection, numbered number: Int64, of origin: RunReference
    ) throws {
        let staging = CorrectionStaging(db: db, run: run)
        let id = try staging.store(correction)
        try staging.noteRow(of: correction)
        if try isWritten(correction) { try staging.note(.applied, ofCorrection: id) }
        // Taken up before, and found moved: what is left to be told of it was decided then.
        guard try fate(ofCorrection: id) != .stale else { return }
        try copyFindings(mendedBy: number, in: origin, as: id, outcome: correction.subscription)
    }

    private func fate(ofCorrection id: Int64) throws -> CorrectionFate? {
        let statement = try db.cachedStatement(
            sql: "SELECT fate FROM trueup_pass_corrections WHERE correction_id = ?")
        return try String.fetchOne(statement, arguments: [id]).flatMap(CorrectionFate.init)
    }

    /// Whether a run that was killed wrote it under this plan.
    private func isWritten(_ correction: PlannedCorrection) throws -> Bool {
        let statement = try db.cachedStatement(
            sql: """
                SELECT 1 FROM trueup_ledger
                WHERE bundle_id = ? AND environment = ? AND original_transaction_id = ?
                    AND plan = ? AND target_table = ? AND ifnull(transaction_id, '') = ?
                    AND ifnull(undo_of, 0) = ?
                """)
        let written = try Int.fetchOne(
            statement,
            arguments: correction.subscription.arguments + [
                plan, correction.table, correction.transactionID ?? "", correction.undoOf ?? 0,
            ])
        return written != nil
    }

    /// Copies the findings that the correction resolves into the pass that writes it, with the causes
    /// that the run found which made the plan: what it read of Apple's history is no longer there.
    private func copyFindings(
        mendedBy number: Int64, in origin: RunReference, as id: Int64, outcome: SubscriptionKey
    ) throws {
        let columns = FindingStaging.columns.joined(separator: ", ")
        let values = FindingStaging.columns.map { $0 == "cause" ? Self.foundCause : "f.\($0)" }
            .joined(separator: ", ")
        try db.cachedStatement(
            sql: """
                INSERT OR IGNORE INTO trueup_pass_findings (pass_id, correction_id, \(columns))
                SELECT ?, ?, \(values) FROM trueup_pass_findings AS f
                WHERE pass_id = ? AND outcome_bundle_id = ? AND outcome_environment = ?
                    AND outcome_original_transaction_id = ? AND correction_id = ?
                    AND ifnull(superseded_by > ?, 1)
                """
        ).execute(
            arguments: [run.passID, id, origin.sequence, origin.passID] + outcome.arguments + [
                number, origin.sequence,
            ])
    }

    private static let foundCause = """
        coalesce((SELECT c.cause FROM trueup_run_finding_causes AS c
            WHERE c.run_seq = ? AND c.finding_seq = f.finding_seq), f.cause)
        """

    /// The run that made a plan, as the tables name it.
    private static func origin(of plan: String, _ db: Database) throws -> RunReference {
        let found = try Row.fetchOne(
            db,
            sql: """
                SELECT r.pass_id, r.run_seq FROM trueup_plans AS p
                JOIN trueup_runs AS r ON r.run_id = p.planned_by WHERE p.plan = ?
                """,
            arguments: [plan])
        guard let found, let passID = found.integer(at: 0), let sequence = found.integer(at: 1)
        else {
            throw StoreError.inconsistent(
                "The plan \(plan) is not known to this database; nothing was written.")
        }
        return RunReference(passID: passID, sequence: sequence)
    }

    /// The totals of the run that made the plan, which the guards compare the plan with.
    static func totals(behind plan: String, _ db: Database) throws -> PlanTotals {
        let origin = try origin(of: plan, db)
        func count(_ sql: String) throws -> Int {
            try Int.fetchOne(db, sql: sql, arguments: [origin.sequence]) ?? 0
        }
        var plan = PlanTotals(
            totals: try RunSummaryReader.totals(of: origin.sequence, db), changes: 0,
            // What was carried over from an earlier night says nothing about this one.
            notFound: try count(
                """
                SELECT count(*) FROM trueup_run_not_found AS n WHERE n.run_seq = ?
                    AND NOT EXISTS (SELECT 1 FROM trueup_pass_findings AS f
                        WHERE f.key_bundle_id = n.bundle_id AND f.key_environment = n.environment
                            AND f.original_transaction_id = n.original_transaction_id
                            AND f.kind = 'not_found' AND f.is_carried <> 0
                            AND EXISTS (SELECT 1 FROM trueup_run_findings AS r
                                WHERE r.run_seq = n.run_seq AND r.finding_seq = f.finding_seq))
                """),
            verificationFailures: try count(
                """
                SELECT count(*) FROM trueup_run_findings AS r
                JOIN trueup_pass_findings AS f ON f.finding_seq = r.finding_seq
                WHERE r.run_seq = ? AND f.kind = 'verification_failed' AND f.is_carried = 0
                """))
        // A narrowed run leaves out also rows that are due.
        let coverage = try CoverageText.decode(
            try String.fetchOne(
                db, sql: "SELECT coverage FROM trueup_runs WHERE run_seq = ? AND narrowing = ''",
                arguments: [origin.sequence]))
        if let coverage, coverage.kind == .delta {
            plan.tableCoverage = coverage.rows
            plan.routine = coverage.routine
        }
        if let before = coverage?.roundBefore {
            plan.tableCoverage = plan.totals.inScope &+ before
        }
        if plan.tableCoverage == nil {
            // A job without a walk counts no rows, and its shares are of the whole table all the same.
            plan.tableCoverage = try Int.fetchOne(
                db,
                sql: """
                    SELECT (SELECT count(*) FROM subscriptions) FROM trueup_runs
                    WHERE run_seq = ? AND narrowing = '' AND covers_every_row = 0
                    """, arguments: [origin.sequence])
        }
        return plan
    }
}
