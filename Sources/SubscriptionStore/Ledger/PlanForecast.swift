import GRDB
package import Subscriptions

/// The fate that a planned correction would have now.
struct PlanForecast {
    let db: Database
    let plan: String
    let now: Timestamp

    func fate(of correction: PlannedCorrection) throws -> CorrectionFate {
        if try PlanStaging.isWritten(correction, under: plan, db) { return .applied }
        guard try PlanApplication.isProven(correction, db) else { return .unproven }
        guard try NewestStatements(db: db).outdating(correction, now: now) == nil,
            try AliasRows(db: db).rows(of: correction.subscription).isEmpty,
            try RowChange(db: db, correction: correction, now: now).holds()
        else { return .stale }
        return .planned
    }
}

extension SQLiteStore {
    /// Each correction of a plan with what would become of it if the plan were applied now, streamed
    /// in the plan's order; reads only.
    ///
    /// What waits for another row, and what a trigger of the company's refuses, shows when it is written.
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
            let origin = try PlanStaging.origin(of: sha256, db)
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT \(PlannedCorrection.columns) \(PlanReader.corrections) \(PlanReader.order)
                    """,
                arguments: [origin.sequence, origin.passID])
            while let row = try rows.next() {
                var columns = RowColumns(row)
                let correction = try PlannedCorrection(&columns)
                try body(
                    correction,
                    try PlanForecast(db: db, plan: sha256, now: now).fate(of: correction))
            }
        }
    }
}
