import Crypto
import GRDB
package import Subscriptions

/// Reads plans: their identity, what made them, and their corrections as the report lists them.
struct PlanReader {
    let db: Database

    /// The corrections that a run's report lists, in its order.
    ///
    /// `?1` is the run's sequence number, `?2` its checkpoint.
    private static let corrections = "trueup_pass_corrections AS c WHERE \(isListed)"
    static let isListed =
        "c.pass_id = ?2 AND c.staged_by <= ?1 AND ifnull(c.superseded_by > ?1, 1)"
    static let order =
        "ORDER BY c.bundle_id, c.environment, c.original_transaction_id, c.correction_id"

    /// The plan that a run sealed; `nil` before.
    func seal(ofRun sequence: Int64) throws -> PlanSeal? {
        guard
            let digest = try db.text(
                cached: "SELECT plan FROM trueup_run_plans WHERE run_seq = ?", [sequence])
        else { return nil }
        return try plan(digest)?.seal
    }

    func breakSeal(ofRun sequence: Int64) throws {
        try db.executeCached("DELETE FROM trueup_run_plans WHERE run_seq = ?", [sequence])
    }

    /// A plan by its identity; `nil` when no run of this database made it.
    func plan(_ digest: String) throws -> KnownPlan? {
        guard
            let row = try db.row(
                cached: """
                    SELECT p.planned_by, p.changes, p.applied_by, p.applied_at, r.job, r.narrowing,
                        EXISTS (SELECT 1 FROM trueup_awaited_reports AS a
                            WHERE a.run_id = p.applied_by), r.job_file, r.guards,
                        r.lists_deleted_at IS NOT NULL
                    FROM trueup_plans AS p JOIN trueup_runs AS r ON r.run_id = p.planned_by
                    WHERE p.plan = ?
                    """, [digest])
        else { return nil }
        var head = PlanHead(
            database: try SQLiteStore.databaseIdentity(db), plannedBy: row.requiredText(at: 0),
            job: row.requiredText(at: 4), scope: TextList.decode(row.requiredText(at: 5)))
        head.jobFile = row.text(at: 7)
        head.guards = row.text(at: 8)
        // Killed before its report was published, a run has not applied the plan to its end.
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
        let total = try db.count(
            "SELECT count(*) FROM \(Self.corrections)", [run.sequence, run.passID])
        try forEachCorrection(of: run) { correction in
            digest.update(data: correction.planItem() + [0x0A])
            changes += 1
            if changes.isMultiple(of: StoreLimits.rowsPerChunk) { progress(changes, total) }
        }
        return PlanSeal(
            sha256: digest.finalize().hexadecimal, head: head, changes: changes)
    }

    /// Passes the corrections on that a run's report lists, in its order.
    fileprivate func forEachCorrection(
        of run: RunReference, _ body: (PlannedCorrection) throws -> Void
    ) throws {
        try db.forEachRow(
            "SELECT \(PlannedCorrection.columns) FROM \(Self.corrections) \(Self.order)",
            [run.sequence, run.passID]
        ) { row in
            var columns = RowColumns(row)
            try body(PlannedCorrection(&columns))
        }
    }

    /// A pass that works off a plan keeps the head of the plan, whatever run applies it.
    private func head(of run: RunReference, header: RunHeader) throws -> PlanHead {
        if let digest = try db.text(
            "SELECT plan FROM trueup_applications WHERE pass_id = ?", [run.passID]),
            let known = try plan(digest)
        {
            return known.seal.head
        }
        var head = PlanHead(
            database: try SQLiteStore.databaseIdentity(db), plannedBy: header.runID,
            job: header.job,
            scope: header.filters)
        head.jobFile = header.jobFile
        head.guards = header.guards
        return head
    }
}

/// The plan of a checkpoint in numbers, for the guards.
struct PlanCount {
    let db: Database
    let passID: Int64

    func totals() throws -> PlanTotals {
        var totals = RunTotals()
        var notFound = 0
        var doubtful = 0
        var lackingHistory = 0
        try db.forEachRow(
            """
            SELECT verdict, ifnull(reason, ''), count(*), sum(is_absent), sum(is_doubtful = 1),
                sum(is_doubtful = \(PassStaging.lacksHistory))
            FROM trueup_pass_rows WHERE pass_id = ? GROUP BY verdict, reason
            """, [passID]
        ) { row in
            try totals.add(
                row.number(at: 2) ?? 0, code: row.integer(at: 0) ?? 0,
                reason: row.requiredText(at: 1))
            notFound += row.number(at: 3) ?? 0
            if row.integer(at: 0) == VerdictCode.discrepancy.rawValue {
                doubtful += row.number(at: 4) ?? 0
            }
            if row.integer(at: 0) != VerdictCode.noted.rawValue {
                lackingHistory += row.number(at: 5) ?? 0
            }
        }
        let changes = try changes()
        totals.filled = changes.filled
        let failures = try db.count(
            """
            SELECT count(*) FROM trueup_pass_findings WHERE pass_id = ? AND superseded_by IS NULL AND is_carried = 0
                AND kind = 'verification_failed'
            """, [passID])
        let before = try Int.fetchOne(
            db, sql: "SELECT rows FROM trueup_table_sizes ORDER BY run_seq DESC LIMIT 1")
        var plan = PlanTotals(
            totals: totals, changes: changes.subscriptions, notFound: notFound,
            verificationFailures: failures,
            tableRows: try db.count("SELECT count(*) FROM subscriptions"),
            tableRowsBefore: before)
        plan.doubtful = doubtful
        plan.lackingHistory = lackingHistory
        plan.inFlightByOurselves = try inFlightByOurselves()
        plan.lastRun = try lastRun()
        let scheduled = try scheduledRows()
        if let scheduled {
            plan.tableCoverage = scheduled
        } else if let ofItsApps = try rowsBehindWhatIsPending(among: plan.tableRows) {
            plan.tableCoverage = ofItsApps
        } else if let earlier = try rowsOfRoundBefore() {
            plan.tableCoverage = totals.inScope &+ earlier
        }
        plan.routine = try scheduled.map { _ in try routine() }
        try countPurchases(in: &plan)
        return plan
    }

    /// Subscriptions that the plan changes, and those of them that it only fills.
    ///
    /// The second are counted as the run's summary counts them (`RunSummaryReader`): of updates
    /// none fixes a finding.
    private func changes() throws -> (subscriptions: Int, filled: Int) {
        let row = try db.row(
            """
            SELECT count(*), ifnull(sum(fixes = 0), 0) FROM (
                SELECT max(CASE WHEN target IN ('update', 'update_period') AND undo_of IS NULL
                    THEN kinds <> '' END) AS fixes
                FROM trueup_pass_corrections
                WHERE pass_id = ? AND superseded_by IS NULL
                    AND fate IN ('planned', 'applied')
                GROUP BY bundle_id, environment, original_transaction_id)
            """, [passID])
        return (row?.number(at: 0) ?? 0, row?.number(at: 1) ?? 0)
    }

    /// Rows in the table, or of the apps that a run is for alone, of which only the due ones were
    /// asked about.
    ///
    /// `nil` for a run that asks about every row, and for one that is limited otherwise, which
    /// leaves out also rows that are due.
    private func scheduledRows() throws -> Int? {
        let pass = try db.row(
            """
            SELECT scheduled_rows, narrowing FROM trueup_passes
            WHERE pass_id = ? AND scheduled_rows IS NOT NULL
            """, [passID])
        guard let pass else { return nil }
        let filters = TextList.decode(pass.requiredText(at: 1))
        return filters.isEmpty || RunHeader.isForAppsAlone(filters) ? pass.number(at: 0) : nil
    }

    /// Rows of the apps that the checkpoint is for, where it may ask about each of them, but does
    /// not ask about all: as a job does that only reads notifications.
    ///
    /// - Parameter tableRows: The rows of all apps.
    /// - Returns: `nil` for a checkpoint that asks about every row, or is limited otherwise.
    /// - Throws: An error of the database.
    private func rowsBehindWhatIsPending(among tableRows: Int) throws -> Int? {
        let narrowing = try String.fetchOne(
            db,
            sql: "SELECT narrowing FROM trueup_passes WHERE pass_id = ? AND covers_every_row = 0",
            arguments: [passID])
        guard let narrowing else { return nil }
        let filters = TextList.decode(narrowing)
        if filters.isEmpty { return tableRows }
        guard RunHeader.isForAppsAlone(filters) else { return nil }
        return try db.count(
            """
            SELECT count(*) FROM subscriptions AS s
            WHERE \(OpenFindings.isOfAnApp(boundFilters: "?1", of: "s"))
            """, [narrowing])
    }

    /// Rows that earlier runs of the full scan have checked and this checkpoint has not; `nil`
    /// where the checkpoint continues no full scan.
    func rowsOfRoundBefore() throws -> Int? {
        try Int.fetchOne(
            db,
            sql: """
                SELECT (SELECT count(*) FROM subscriptions AS s
                    JOIN trueup_checks AS k ON \(SubscriptionKey.agree("k", "s"))
                        AND k.asked_at >= o.began
                    WHERE \(OpenFindings.isOfAnApp(filters: "w.narrowing", of: "s"))
                        AND NOT \(PassStaging.isSettled))
                FROM trueup_passes AS w
                JOIN trueup_rounds AS o ON o.job = \(PassOpening.roundOfCheckpoint)
                WHERE w.pass_id = ? AND w.covers_every_row = 1 AND w.mode = 'apply'
                    AND o.began < w.began
                """,
            arguments: [passID, passID])
    }

    func routine() throws -> RoutineRows {
        let row = try db.row(
            """
            SELECT count(*), ifnull(sum(EXISTS (
                SELECT 1 FROM trueup_pass_corrections AS c WHERE c.pass_id = p.pass_id
                    AND \(SubscriptionKey.agree("c", "p"))
                    AND c.superseded_by IS NULL AND c.fate IN ('planned', 'applied'))), 0)
            FROM trueup_pass_rows AS p
            WHERE p.pass_id = ? AND p.asked_because IN (\(Self.routineReasons))
                AND p.verdict IN (\(VerdictCode.match.rawValue),
                    \(VerdictCode.discrepancy.rawValue))
            """, [passID])
        return RoutineRows(judged: row?.number(at: 0) ?? 0, changed: row?.number(at: 1) ?? 0)
    }

    private static let routineReasons = QuestionReason.allCases.filter(\.isRoutine)
        .map { String($0.rank) }.joined(separator: ", ")

    /// Rows in flight whose `signed_date` is what a correction of trueup's wrote.
    private func inFlightByOurselves() throws -> Int {
        try db.count(
            """
            SELECT count(*) FROM trueup_pass_rows AS p JOIN subscriptions AS s ON \(SubscriptionKey.agree("s", "p"))
            WHERE p.pass_id = ? AND p.verdict = \(VerdictCode.excluded.rawValue)
                AND p.reason = '\(ExclusionReason.inFlight.rawValue)'
                AND EXISTS (SELECT 1 FROM trueup_ledger AS l
                    WHERE \(SubscriptionKey.agree("l", "p"))
                        AND l.apple_signed_date = s.signed_date)
            """, [passID])
    }

    /// Reads the totals of the last complete run of the same job: for the same apps, where the
    /// checkpoint is for some apps alone.
    private func lastRun() throws -> RunTotals? {
        let filters =
            try db.text("SELECT narrowing FROM trueup_passes WHERE pass_id = ?", [passID]) ?? ""
        let isForAppsAlone = RunHeader.isForAppsAlone(TextList.decode(filters))
        let sequence = try db.integer(
            """
            SELECT r.run_seq FROM trueup_runs AS r
            JOIN trueup_passes AS p ON p.pass_id = ? AND p.job = r.job
            WHERE r.closes_pass = 1 AND r.narrowing = ? AND r.pass_id <> p.pass_id
            ORDER BY r.run_seq DESC LIMIT 1
            """, [passID, isForAppsAlone ? filters : ""])
        return try sequence.map { try RunSummaryReader.totals(of: $0, db) }
    }
}

/// Takes the corrections of an earlier run's plan up into a checkpoint of their own.
///
/// The corrections are read from the database, which stores the plan under its digest, not from
/// the file: the file only says which plan was approved.
struct PlanStaging {
    let db: Database
    let run: RunReference
    let plan: String

    /// The numbers of the plan's corrections lie between these; `nil` when it has none.
    static func range(of plan: String, _ db: Database) throws -> ClosedRange<Int64>? {
        let found = try db.row(
            """
            SELECT min(correction_id), max(correction_id) FROM trueup_pass_corrections
            WHERE pass_id = ?
            """, [try origin(of: plan, db).passID])
        guard let first = found?.integer(at: 0), let last = found?.integer(at: 1) else {
            return nil
        }
        return first...last
    }

    /// Copies the next corrections; returns where to continue, or `nil` at the end.
    ///
    /// Corrections already in the checkpoint are kept, so a killed run can continue. They are read
    /// by number: by key, SQLite would sort all remaining ones for each chunk.
    func copy(from position: Int64, through last: Int64) throws -> Int64? {
        try db.execute(
            sql: "INSERT OR IGNORE INTO trueup_applications (pass_id, plan) VALUES (?, ?)",
            arguments: [run.passID, plan])
        let origin = try Self.origin(of: plan, db)
        let planned = try db.rows(
            """
            SELECT \(PlanApplication.StoredCorrection.columns)
            FROM trueup_pass_corrections AS c NOT INDEXED
            WHERE \(PlanReader.isListed) AND c.correction_id BETWEEN ?3 AND ?4
            ORDER BY c.correction_id LIMIT \(StoreLimits.correctionsPerChunk)
            """, [origin.sequence, origin.passID, position, last]
        ).map(PlanApplication.StoredCorrection.init)
        for item in planned { try copy(item.correction, numbered: item.id, of: origin) }
        guard planned.count == StoreLimits.correctionsPerChunk else { return nil }
        return planned.last.map { $0.id + 1 }
    }

    private func copy(
        _ correction: PlannedCorrection, numbered number: Int64, of origin: RunReference
    ) throws {
        let staging = OutcomeStaging(db: db, run: run)
        let id = try staging.store(correction)
        try staging.noteRow(of: correction)
        // A run that was killed may have written it under this plan.
        if try Self.isWritten(correction, under: plan, db) {
            try staging.note(.applied, ofCorrection: id)
        }
        // Adopted before, and found changed: what is left to be told of it was decided then.
        guard try fate(ofCorrection: id) != .stale else { return }
        try copyFindings(fixedBy: number, in: origin, as: id, outcome: correction.subscription)
    }

    private func fate(ofCorrection id: Int64) throws -> CorrectionFate? {
        try db.text(
            cached: "SELECT fate FROM trueup_pass_corrections WHERE correction_id = ?", [id]
        ).flatMap(CorrectionFate.init)
    }

    /// Whether a run wrote a correction under a plan.
    static func isWritten(
        _ correction: PlannedCorrection, under plan: String, _ db: Database
    ) throws -> Bool {
        try db.holds(
            """
            trueup_ledger WHERE \(SubscriptionKey.isKey)
                AND plan = ? AND target_table = ? AND ifnull(transaction_id, '') = ?
                AND ifnull(undo_of, 0) = ?
            """,
            correction.subscription.arguments + [
                plan, correction.table, correction.transactionID ?? "", correction.undoOf ?? 0,
            ])
    }

    /// Copies the findings that the correction resolves into the checkpoint that writes it, with
    /// the causes that the run found which made the plan: what it read of Apple's history is no
    /// longer there.
    private func copyFindings(
        fixedBy number: Int64, in origin: RunReference, as id: Int64, outcome: SubscriptionKey
    ) throws {
        let columns = OutcomeStaging.findingColumns.joined(separator: ", ")
        let values = OutcomeStaging.findingColumns.map {
            $0 == "cause" ? Self.foundCause : "f.\($0)"
        }
        .joined(separator: ", ")
        try db.executeCached(
            """
            INSERT OR IGNORE INTO trueup_pass_findings (pass_id, correction_id, \(columns))
            SELECT ?, ?, \(values) FROM trueup_pass_findings AS f
            WHERE pass_id = ? AND outcome_bundle_id = ? AND outcome_environment = ?
                AND outcome_original_transaction_id = ? AND correction_id = ?
                AND ifnull(superseded_by > ?, 1)
            """,
            [run.passID, id, origin.sequence, origin.passID] + outcome.arguments + [
                number, origin.sequence,
            ])
    }

    private static let foundCause = """
        coalesce((SELECT c.cause FROM trueup_run_finding_causes AS c
            WHERE c.run_seq = ? AND c.finding_seq = f.finding_seq), f.cause)
        """

    /// The run that made a plan, as the tables name it.
    static func origin(of plan: String, _ db: Database) throws -> RunReference {
        let found = try db.row(
            """
            SELECT r.pass_id, r.run_seq FROM trueup_plans AS p
            JOIN trueup_runs AS r ON r.run_id = p.planned_by WHERE p.plan = ?
            """, [plan])
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
        var plan = PlanTotals(
            totals: try RunSummaryReader.totals(of: origin.sequence, db), changes: 0,
            // What was carried over from an earlier run says nothing about this one.
            notFound: try db.count(
                """
                SELECT count(*) FROM trueup_run_not_found AS n WHERE n.run_seq = ?
                    AND NOT EXISTS (SELECT 1 FROM trueup_pass_findings AS f
                        WHERE f.key_bundle_id = n.bundle_id AND f.key_environment = n.environment
                            AND f.original_transaction_id = n.original_transaction_id
                            AND f.kind = 'not_found' AND f.is_carried <> 0
                            AND EXISTS (SELECT 1 FROM trueup_run_findings AS r
                                WHERE r.run_seq = n.run_seq AND r.finding_seq = f.finding_seq))
                """, [origin.sequence]),
            verificationFailures: try db.count(
                """
                SELECT count(*) FROM trueup_run_findings AS r
                JOIN trueup_pass_findings AS f ON f.finding_seq = r.finding_seq
                WHERE r.run_seq = ? AND f.kind = 'verification_failed' AND f.is_carried = 0
                """, [origin.sequence]))
        // A partial run leaves out also rows that are due, unless it is for some apps alone.
        let run = try db.row(
            "SELECT coverage, narrowing FROM trueup_runs WHERE run_seq = ?", [origin.sequence])
        let filters = TextList.decode(run?.text(at: 1) ?? "")
        let coverage: RunCoverage? =
            filters.isEmpty || RunHeader.isForAppsAlone(filters)
            ? try StoredJSON.decode(run?.text(at: 0)) : nil
        if let coverage, coverage.kind == .delta {
            plan.tableCoverage = coverage.rows
            plan.routine = coverage.routine
        }
        if let before = coverage?.roundBefore {
            plan.tableCoverage = plan.totals.inScope &+ before
        }
        if plan.tableCoverage == nil {
            // A job without a walk counts no rows, and its shares are of the whole table all the
            // same.
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

/// The plans of earlier runs, for a run that applies them.
extension SQLiteStore {
    /// Takes an earlier run's plan up into the checkpoint, with the findings that it fixes; what
    /// was written under this plan before counts as applied.
    package func stagePlan(
        _ sha256: String, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) {
        let doing = "preparing the plan \(sha256)"
        let range = try await read(doing) { db in try PlanStaging.range(of: sha256, db) }
        var position = range?.lowerBound ?? 0
        var isAtEnd = false
        // Once also for a plan of nothing: the checkpoint is marked as its application.
        while !isAtEnd {
            let start = position
            let next = try await write(doing) { db in
                try PlanStaging(db: db, run: RunReference(run, in: pass, db), plan: sha256)
                    .copy(from: start, through: range?.upperBound ?? 0)
            }
            isAtEnd = next == nil
            position = next ?? position
        }
        let seal = try await sealPlan(of: pass, run: run)
        guard seal.sha256 == sha256 else {
            throw .inconsistent(
                "The plan \(sha256) is no longer as it was made (it reads as "
                    + "\(seal.sha256) now): the database was changed or is damaged. Nothing was "
                    + "written. Make a new plan with `trueup check`.")
        }
    }

    /// The corrections of the checkpoint that were tried and not written.
    ///
    /// - Parameters:
    ///   - pass: The pass.
    ///   - now: The run's clock.
    /// - Returns: Their counts, and the first of each fate.
    /// - Throws: `StoreError`.
    package func unwritten(
        of pass: OpenPass, now: Timestamp
    ) async throws(StoreError) -> UnwrittenCorrections {
        try await read("counting what was not written") { db in
            var unwritten = UnwrittenCorrections()
            unwritten.othersWereWritten = try db.holds(
                "trueup_pass_corrections WHERE pass_id = ? AND fate = 'applied'", [pass.passID])
            try db.forEachRow(
                """
                SELECT \(PlannedCorrection.columns), c.fate, p.reason
                FROM trueup_pass_corrections AS c
                LEFT JOIN trueup_pass_rows AS p ON p.pass_id = c.pass_id
                    AND \(SubscriptionKey.agree("p", "c"))
                WHERE c.pass_id = ? AND c.superseded_by IS NULL
                    AND c.fate IN ('stale', 'rejected', 'unproven', 'held_back')
                \(PlanReader.order)
                """, [pass.passID]
            ) { row in
                var columns = RowColumns(row)
                let correction = try PlannedCorrection(&columns)
                guard let fate = CorrectionFate(rawValue: columns.requiredText()) else { return }
                unwritten.add(fate, of: correction.subscription.originalTransactionID)
                guard fate == .stale else { return }
                if try RowChange(db: db, correction: correction, now: now).isAsPlanned() {
                    unwritten.asPlanned += 1
                } else if columns.text() == UndecidedReason.newerLocally.rawValue,
                    let outdated = try NewestStatements(db: db).outdating(correction, now: now)
                {
                    unwritten.add(outdated)
                }
            }
            return unwritten
        }
    }

    /// Each correction of a plan with what would become of it if the plan were applied now, streamed
    /// in the plan's order; reads only.
    ///
    /// Whether a correction waits for another row, or a trigger of the company's refuses it, shows only
    /// as it is written.
    /// With a table of the company's own it is about the imported rows.
    ///
    /// - Parameters:
    ///   - sha256: A plan that this database knows.
    ///   - now: The moment.
    ///   - body: Takes the next; `.planned` is what would be written.
    /// - Throws: `StoreError`, or what `body` throws.
    package func forEachApplication(
        ofPlan sha256: String, at now: Timestamp,
        _ body: (PlannedCorrection, CorrectionFate) throws -> Void
    ) throws {
        try stream("reading the plan \(sha256)") { db in
            try PlanReader(db: db).forEachCorrection(of: PlanStaging.origin(of: sha256, db)) {
                try body(
                    $0, PlanApplication.forecast(of: $0, under: sha256, at: now, db))
            }
        }
    }

    /// The apps whose rows a plan changes, in their order.
    package func apps(ofPlan sha256: String) throws(StoreError) -> [AppIdentity] {
        try view("reading the apps of the plan \(sha256)") { db in
            let origin = try PlanStaging.origin(of: sha256, db)
            return try db.rows(
                """
                SELECT DISTINCT c.bundle_id, c.environment FROM trueup_pass_corrections AS c
                WHERE \(PlanReader.isListed) ORDER BY c.bundle_id, c.environment
                """, [origin.sequence, origin.passID]
            ).compactMap { row in
                AppIdentity(
                    bundleID: row.requiredText(at: 0), environment: row.requiredText(at: 1))
            }
        }
    }

    /// A plan by its identity; `nil` when no run of this database made it.
    package func knownPlan(_ sha256: String) throws(StoreError) -> KnownPlan? {
        try view("looking for the plan \(sha256)") { db in
            try PlanReader(db: db).plan(sha256)
        }
    }
}
