import GRDB
package import Subscriptions

/// What earlier runs planned and wrote, for a run that works that off or takes it back.
extension SQLiteStore {
    /// Takes an earlier run's plan up into the pass, with the findings that it mends; what was
    /// written under this plan before counts as applied.
    package func stagePlan(
        _ sha256: String, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) {
        let doing = "taking up the plan \(sha256)"
        let range = try await read(doing) { db in try PlanStaging.range(of: sha256, db) }
        var position = range?.lowerBound ?? 0
        var isAtEnd = false
        // Once also for a plan of nothing: the pass is marked as its application.
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
                "The plan \(sha256) cannot be taken up as it was made (it reads as "
                    + "\(seal.sha256) now): the database was changed or is damaged. Nothing was "
                    + "written. Make a new plan with `trueup check`.")
        }
    }

    /// Plans the inverse of an earlier run's corrections; what is taken back already is left out,
    /// what cannot be is staged as stale.
    package func stageUndo(
        ofRun runID: String, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) -> UndoCounts {
        let doing = "planning to take back the run \(runID)"
        var counts = UndoCounts()
        var position: Int64? = .max
        while let start = position {
            let items = try await write(doing) { db in
                try Self.require(runID, db)
                return try UndoStaging(
                    db: db, run: RunReference(run, in: pass, db), undone: runID
                ).stage(before: start)
            }
            for item in items { counts.add(item) }
            position = items.last?.entry.number
        }
        return counts
    }

    /// The corrections of the pass that were tried and not written.
    package func unwritten(of pass: OpenPass) async throws(StoreError) -> UnwrittenCorrections {
        try await read("counting what was not written") { db in
            var unwritten = UnwrittenCorrections()
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT \(PlannedCorrection.columns), c.fate
                    FROM trueup_pass_corrections AS c
                    WHERE c.pass_id = ? AND c.superseded_by IS NULL
                        AND c.fate IN ('stale', 'rejected', 'unproven', 'held_back')
                    \(PlanReader.order)
                    """,
                arguments: [pass.passID])
            while let row = try rows.next() {
                let name = row.requiredText(at: PlannedCorrection.columnCount)
                guard let fate = CorrectionFate(rawValue: name) else { continue }
                unwritten.add(fate, of: row.requiredText(at: 2))
                guard fate == .stale else { continue }
                let moved = MovedRow(db: db, correction: try PlannedCorrection(row))
                if try moved.standsAsPlanned() { unwritten.standingAsPlanned += 1 }
            }
            return unwritten
        }
    }

    /// Each correction of a run with whether it can be taken back, newest first, streamed.
    ///
    /// `body`'s errors pass through unchanged.
    ///
    /// - Throws: `.unavailable` when there is no such run.
    package func forEachUndo(ofRun runID: String, _ body: (UndoItem) throws -> Void) throws {
        try stream("reading the corrections of \(runID)") { db in
            try Self.require(runID, db)
            var position = Int64.max
            while true {
                let items = try UndoJudgement(db: db, runID: runID)
                    .items(before: position, limit: StoreLimits.correctionsPerChunk)
                for item in items { try body(item) }
                guard let last = items.last else { return }
                position = last.entry.number
            }
        }
    }

    /// A plan by its identity; `nil` when no run of this database made it.
    package func knownPlan(_ sha256: String) throws(StoreError) -> KnownPlan? {
        do {
            return try stream("looking for the plan \(sha256)") { db in
                try PlanReader(db: db).plan(sha256)
            }
        } catch {
            throw StoreError(error, doing: "looking for a plan")
        }
    }

    /// Made once with the database and never changed.
    package func databaseIdentity() throws(StoreError) -> String {
        do {
            return try stream("reading the database's identity") { db in
                try PlanReader(db: db).databaseIdentity()
            }
        } catch {
            throw StoreError(error, doing: "reading the database's identity")
        }
    }

    private static func require(_ runID: String, _ db: Database) throws {
        // Books that were put back know a run since then only by its corrections.
        let found = try Int.fetchOne(
            db,
            sql: """
                SELECT 1 WHERE EXISTS (SELECT 1 FROM trueup_runs WHERE run_id = ?1)
                    OR EXISTS (SELECT 1 FROM trueup_reported_ranges WHERE run_id = ?1)
                """, arguments: [runID])
        guard found != nil else {
            throw StoreError.unavailable(
                "There is no run \(runID) in this database. `trueup status` lists them.")
        }
    }
}
