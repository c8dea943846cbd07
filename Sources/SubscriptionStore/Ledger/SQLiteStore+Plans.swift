import GRDB
package import Subscriptions

extension SQLiteStore {
    @discardableResult
    package func sealPlan(
        of pass: OpenPass, run: RunHeader
    ) async throws(StoreError) -> PlanSeal {
        let doing = "sealing the plan of the run \(run.runID)"
        let sealed = try await read(doing) { db in
            let reference = try RunReference(run, in: pass, db)
            let reader = PlanReader(db: db)
            if let known = try reader.seal(ofRun: reference.sequence) { return (known, true) }
            return (try reader.computeSeal(of: reference, header: run), false)
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

    package func planTotals(ofPlan sha256: String) async throws(StoreError) -> PlanTotals {
        try await read("counting the rows behind a plan") { db in
            try PlanStaging.totals(behind: sha256, db)
        }
    }

    package func unwritten(of pass: OpenPass) async throws(StoreError) -> UnwrittenCorrections {
        try await read("counting what was not written") { db in
            var unwritten = UnwrittenCorrections()
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT c.fate, c.original_transaction_id
                    FROM trueup_pass_corrections AS c
                    WHERE c.pass_id = ? AND c.superseded_by IS NULL
                        AND c.fate IN ('stale', 'rejected', 'unproven', 'held_back')
                    \(PlanReader.order)
                    """,
                arguments: [pass.passID])
            while let row = try rows.next() {
                guard let fate = CorrectionFate(rawValue: row.requiredText(at: 0)) else { continue }
                unwritten.add(fate, of: row.requiredText(at: 1))
            }
            return unwritten
        }
    }
}
