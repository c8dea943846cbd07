import GRDB
package import Subscriptions
import Synchronization

/// The plan of a pass, and the ledger of the corrections written from it.
///
/// A row's change, its ledger entry and its event are one transaction; the ledger stands beside the
/// rows, wherever these are.
extension SQLiteStore {
    /// Fixes what the pass plans and gives it its identity; once for each run, unless something is
    /// staged afterwards.
    ///
    /// `progress` takes how many corrections are read, and of how many.
    @discardableResult
    package func sealPlan(
        of pass: OpenPass, run: RunHeader,
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) async throws(StoreError) -> PlanSeal {
        let doing = "sealing the plan of the run \(run.runID)"
        let sealed = try await read(doing) { db in
            let reference = try RunReference(run, in: pass, db)
            let reader = PlanReader(db: db)
            if let known = try reader.seal(ofRun: reference.sequence) { return (known, true) }
            return (try reader.computeSeal(of: reference, header: run, progress), false)
        }
        guard !sealed.1 else { return sealed.0 }
        let seal = sealed.0
        try await write(doing) { db in
            let reference = try RunReference(run, in: pass, db)
            try db.execute(
                sql: """
                    INSERT INTO trueup_plans (plan, planned_by, changes) VALUES (?, ?, ?)
                    ON CONFLICT DO NOTHING
                    """,
                arguments: [seal.sha256, seal.head.plannedBy, seal.changes])
            try db.execute(
                sql: "INSERT OR REPLACE INTO trueup_run_plans VALUES (?, ?)",
                arguments: [reference.sequence, seal.sha256])
        }
        return seal
    }

    /// How many planned corrections of the pass were not tried yet.
    package func correctionsLeft(of pass: OpenPass) async throws(StoreError) -> Int {
        try await read("counting the corrections that are left") { db in
            try Int.fetchOne(
                db,
                sql: """
                    SELECT count(*) FROM trueup_pass_corrections
                        INDEXED BY trueup_pass_corrections_planned
                    WHERE pass_id = ? AND fate = 'planned' AND superseded_by IS NULL
                    """, arguments: [pass.passID]) ?? 0
        }
    }

    /// The plan in numbers, for the guards.
    package func planTotals(of pass: OpenPass) async throws(StoreError) -> PlanTotals {
        try await read("counting the plan") { db in
            try PlanCount(db: db, passID: pass.passID).totals()
        }
    }

    /// What the run that made a plan looked at, for the guards; `changes` is 0.
    package func planTotals(ofPlan sha256: String) async throws(StoreError) -> PlanTotals {
        try await read("counting the rows behind a plan") { db in
            try PlanStaging.totals(behind: sha256, db)
        }
    }

    /// Folds every correction of the pass's plan, written ones included, into one value; they are
    /// read in the order of their subscriptions and never held at once.
    ///
    /// Each comes with the reason for which its row was asked about; `nil` where it was no question of
    /// this pass.
    package func reducePlan<Result: Sendable>(
        of pass: OpenPass, into initial: Result,
        _ add: @escaping @Sendable (inout Result, PlannedCorrection, QuestionReason?) -> Void
    ) async throws(StoreError) -> Result {
        try await read("surveying the plan") { db in
            var result = initial
            let corrections = try Row.fetchCursor(
                db,
                sql: """
                    SELECT \(PlannedCorrection.columns), p.asked_because
                    FROM trueup_pass_corrections AS c
                    LEFT JOIN trueup_pass_rows AS p ON p.pass_id = c.pass_id
                        AND p.bundle_id = c.bundle_id AND p.environment = c.environment
                        AND p.original_transaction_id = c.original_transaction_id
                    WHERE c.pass_id = ? AND c.superseded_by IS NULL
                        AND c.fate IN ('planned', 'applied')
                    ORDER BY c.bundle_id, c.environment, c.original_transaction_id,
                        c.correction_id
                    """,
                arguments: [pass.passID])
            while let row = try corrections.next() {
                let because = row.integer(at: PlannedCorrection.columnCount)
                add(
                    &result, try PlannedCorrection(row),
                    because.flatMap(QuestionReason.init(rank:)))
            }
            return result
        }
    }

    /// What was lifted for this pass by runs that were killed after their plan was let through.
    package func liftsOfKilledRuns(in pass: OpenPass) async throws(StoreError) -> [GuardLift] {
        try await read("reading what was lifted") { db in
            try GuardLift.fetchAll(
                db,
                where: """
                    run_seq IN (SELECT run_seq FROM trueup_runs WHERE pass_id = ? AND ended IS NULL)
                    """,
                arguments: [pass.passID])
        }
    }

    /// Records what this run lifts, before anything is written for it.
    package func recordLifts(
        _ lifts: [GuardLift], in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) {
        try await write("recording what was lifted") { db in
            let run = try RunReference(run, in: pass, db)
            for lift in lifts { try lift.insert(db, run: run) }
        }
    }

    /// Applies up to `limit` planned corrections of the pass, oldest key first, each with its
    /// ledger entry in the same transaction, by compare-and-set; says how many were taken up
    /// (0 when none is left).
    ///
    /// A row that moved becomes undecided (`changed_during_run`).
    package func applyPlanned(
        limit: Int, in pass: OpenPass, run: RunHeader, at now: Timestamp
    ) async throws(StoreError) -> Int {
        try await apply(.wholePlan, limit: limit, in: pass, run: run, at: now)
    }

    func apply(
        _ part: PlanApplication.Part, limit: Int, in pass: OpenPass, run: RunHeader,
        at now: Timestamp
    ) async throws(StoreError) -> Int {
        guard run.mode == .apply else {
            throw .inconsistent(
                "The run \(run.runID) is a check and must not write; nothing was written.")
        }
        let doing = "applying corrections"
        let plan = try await sealPlan(of: pass, run: run).sha256
        var size = company == nil ? min(limit, correctionBatch.withLock { $0.rows }) : limit
        // Halves of a refused batch, and what is refused of it one by one.
        for _ in 0...(limit &+ Int.bitWidth) {
            let attempt = try await writeOrUndo(doing) { [naming, company, size] db in
                let began = ContinuousClock.now
                let takenUp = try PlanApplication(
                    db: db, run: RunReference(run, in: pass, db), header: run, plan: plan,
                    now: now, naming: naming, part: part
                ).apply(limit: size, to: company)
                return (takenUp, began.duration(to: .now))
            }
            switch attempt {
            case .success(let (takenUp, took)):
                if takenUp >= size { correctionBatch.withLock { $0.note(took) } }
                return takenUp
            case .failure(let undone) where size > 1 && undone.items.count > 1:
                size = min(size, undone.items.count) / 2
            case .failure(let undone):
                try await write(doing) { db in
                    let staging = try CorrectionStaging(
                        db: db, run: RunReference(run, in: pass, db))
                    for item in undone.items { try staging.note(.rejected, of: item) }
                }
                guard let reason = undone.reason else { continue }
                for item in undone.items {
                    company?.refusals.note(reason, of: item.correction.subscription)
                }
                return undone.items.count
            }
        }
        throw .inconsistent("Every correction of a batch rolled back the others.")
    }
}

extension PlanApplication {
    /// Takes up so many corrections in one transaction, which is one of the company's database, too.
    ///
    /// - Parameters:
    ///   - limit: How many.
    ///   - link: The company's own table; `nil` where the rows stand here.
    /// - Returns: How many were taken up.
    /// - Throws: `Undone` where nothing was written because a database said no.
    fileprivate func apply(limit: Int, to link: CompanyLink?) throws -> Int {
        var items: [StoredCorrection] = []
        do {
            return try CompanyUnit.around(db, link) { unit in
                var application = self
                application.company = unit
                items = try application.apply(limit: limit)
                return items.count
            }
        } catch let refused as CompanyUnit.CommitRefused {
            throw Undone(items: items, reason: refused.reason)
        }
    }
}

extension GuardLift {
    /// The lifts that a condition names, in the order of the guards.
    static func fetchAll(
        _ db: Database, where condition: String, arguments: StatementArguments
    ) throws -> [GuardLift] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT guard, reason, actor, lifted_at, lifted_by, breach FROM trueup_guard_lifts
                WHERE \(condition) ORDER BY run_seq, guard
                """,
            arguments: arguments)
        return rows.compactMap { row in
            guard let name = GuardName(rawValue: row.requiredText(at: 0)) else { return nil }
            return GuardLift(
                name: name, reason: row.requiredText(at: 1), actor: row.requiredText(at: 2),
                liftedAt: row.time(at: 3) ?? Timestamp(unixMilliseconds: 0),
                liftedBy: row.requiredText(at: 4), breach: row.text(at: 5))
        }
    }

    func insert(_ db: Database, run: RunReference) throws {
        try db.execute(
            sql: "INSERT INTO trueup_guard_lifts VALUES (?, ?, ?, ?, ?, ?, ?)",
            arguments: [
                run.sequence, name.rawValue, reason, actor, liftedAt.unixMilliseconds, liftedBy,
                breach,
            ])
    }
}
