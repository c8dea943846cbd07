import Foundation
import GRDB
import Subscriptions

/// Counts the company's tables before and after a run, and brings the two counts together.
///
/// Everything is read in one transaction with the ledger's end, so that each written correction is known
/// to be in a count or not. A narrowed run counts nothing: it would read all rows for the sake of a few.
struct ControlCount {
    let db: Database
    let header: RunHeader

    private var apps: [AppIdentity] { Array(Set(header.apps)).sorted() }

    /// As the run begins; `nil` for a narrowed run.
    func begin() throws -> CountedTables? {
        guard header.narrowing.isEmpty else { return nil }
        return CountedTables(
            ledgerEntry: try Ledger(db: db).head().number,
            apps: try apps.map { app in
                CountedApp(
                    bundleID: app.bundleID, environment: app.environment.rawValue,
                    sums: try TableSums(db: db, app: app).count())
            })
    }

    /// At the end of a run, in the transaction's view; `nil` where its beginning was not counted.
    func end(of run: RunReference) throws -> ControlTotals? {
        let stored = try String.fetchOne(
            db, sql: "SELECT counted FROM trueup_runs WHERE run_seq = ?",
            arguments: [run.sequence])
        guard let counted: CountedTables = try MeasureText.decode(stored) else { return nil }
        let head = try Ledger(db: db).head().number
        let effects = LedgerEffects(db: db)
        let corrections = try effects.sums(after: counted.ledgerEntry, through: head)
        return ControlTotals(
            ledgerEntry: head,
            apps: try apps.compactMap { app in
                let key = [app.bundleID, app.environment.rawValue]
                let known = counted.apps.first { [$0.bundleID, $0.environment] == key }
                guard let known else { return nil }
                let earlier = try previous(key, before: run)
                let uncounted = try earlier.map {
                    try effects.sums(after: $0.entry, through: counted.ledgerEntry)[key]
                }
                let sums = TableSums(db: db, app: app)
                return AppControlTotals(
                    bundleID: app.bundleID, environment: app.environment.rawValue,
                    previous: earlier?.totals, uncounted: (uncounted ?? nil) ?? ControlSums(),
                    before: known.sums, corrections: corrections[key] ?? ControlSums(),
                    after: try sums.count(), judged: try sums.judged(inPass: run.passID))
            })
    }

    /// What the last run that counted an app counted at its end, of whatever job.
    private func previous(
        _ key: [String], before run: RunReference
    ) throws -> (totals: AppControlTotals.Previous, entry: Int64)? {
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT run_id, control FROM trueup_runs
                WHERE run_seq < ? AND control IS NOT NULL ORDER BY run_seq DESC
                """, arguments: [run.sequence])
        while let row = try rows.next() {
            let totals: ControlTotals? = try MeasureText.decode(row.text(at: 1))
            let app = totals?.apps.first { [$0.bundleID, $0.environment] == key }
            guard let totals, let app else { continue }
            let previous = AppControlTotals.Previous(
                runID: row.requiredText(at: 0), sums: app.after)
            return (previous, totals.ledgerEntry)
        }
        return nil
    }
}

/// What was counted and measured, as it is stored with the run.
enum MeasureText {
    static func encode(_ value: (some Encodable)?) throws -> String? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return try value.map { String(decoding: try encoder.encode($0), as: UTF8.self) }
    }

    static func decode<Value: Decodable>(_ text: String?) throws -> Value? {
        try text.map { try JSONDecoder().decode(Value.self, from: Data($0.utf8)) }
    }
}
