import GRDB
package import Subscriptions

extension SQLiteStore {
    package func reducePlan<Result: Sendable>(
        of pass: OpenPass, into initial: Result,
        _ add: @escaping @Sendable (inout Result, PlannedCorrection) -> Void
    ) async throws(StoreError) -> Result {
        try await read("surveying the plan") { db in
            var result = initial
            let corrections = try Row.fetchCursor(
                db,
                sql: """
                    SELECT \(PlannedCorrection.columns) FROM trueup_pass_corrections AS c
                    WHERE c.pass_id = ? AND c.superseded_by IS NULL
                        AND c.fate IN ('planned', 'applied')
                    ORDER BY c.bundle_id, c.environment, c.original_transaction_id,
                        c.correction_id
                    """,
                arguments: [pass.passID])
            while let row = try corrections.next() { add(&result, try PlannedCorrection(row)) }
            return result
        }
    }

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

    package func recordLifts(
        _ lifts: [GuardLift], in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) {
        try await write("recording what was lifted") { db in
            let run = try RunReference(run, in: pass, db)
            for lift in lifts { try lift.insert(db, run: run) }
        }
    }
}
