import Foundation
import GRDB
import Subscriptions

/// Counts the company's tables before and after a run, and brings the two counts together.
///
/// Everything is read in one transaction with the ledger's end, so that each written correction is known
/// to be in a count or not. Rows of apps that are not configured are counted, too: with them the sums are
/// those of the whole tables. A run that is narrowed, or that only reads notifications, counts nothing: it
/// would read all rows for the sake of a few.
struct ControlCount {
    let db: Database
    let header: RunHeader

    /// As the run begins; `nil` for a run that counts nothing.
    func begin() throws -> CountedTables? {
        guard header.narrowing.isEmpty, header.countsTables else { return nil }
        var counted = try TableSums(db: db, groups: ControlGroups(header.apps)).count()
        let sums = counted.sums
        // An app without rows is counted like any other.
        let apps = Set(sums.keys).union(counted.groups.configured)
        return CountedTables(
            ledgerEntry: try Ledger(db: db).head().number,
            apps: apps.sorted(by: Self.precedes).map { app in
                CountedApp(
                    bundleID: app[0], environment: app[1], sums: sums[app] ?? ControlSums())
            })
    }

    /// At the end of a run, in the transaction's view; `nil` where its beginning was not counted.
    func end(of run: RunReference) throws -> ControlTotals? {
        let stored = try String.fetchOne(
            db, sql: "SELECT counted FROM trueup_runs WHERE run_seq = ?",
            arguments: [run.sequence])
        guard let counted: CountedTables = try MeasureText.decode(stored) else { return nil }
        let head = try Ledger(db: db).head().number
        var standing = try TableSums(db: db, groups: ControlGroups(header.apps)).count()
        let sums = standing.sums
        var groups = standing.groups
        let begun = Dictionary(
            counted.apps.map { ([$0.bundleID, $0.environment], $0.sums) }, uniquingKeysWith: +)
        // What one count joins is joined in the other.
        groups.joinsOthers = groups.joinsOthers || begun[ControlGroups.others] != nil
        let (before, after) = (groups.joined(begun), groups.joined(sums))
        let effects = LedgerEffects(db: db)
        let corrections = groups.joined(
            try effects.sums(after: counted.ledgerEntry, through: head))
        let judged = try TableSums(db: db, groups: groups).judged(inPass: run.passID)
        let earlier = try previous(groups, before: run)
        let apps = Set(before.keys).union(after.keys).union(groups.configured)
            .union(earlier.stood)
        return ControlTotals(
            ledgerEntry: head,
            apps: try apps.sorted(by: Self.precedes).map { app in
                let previous = earlier.byApp[app]
                let uncounted = try previous.map {
                    groups.joined(
                        try effects.sums(after: $0.entry, through: counted.ledgerEntry))[app]
                }
                return AppControlTotals(
                    bundleID: app[0], environment: app[1],
                    previous: previous?.totals, uncounted: (uncounted ?? nil) ?? ControlSums(),
                    before: before[app] ?? ControlSums(),
                    corrections: corrections[app] ?? ControlSums(),
                    after: after[app] ?? ControlSums(),
                    judged: judged[app]
                        ?? JudgedTotals(
                            before: ControlSums(), apple: ControlSums(), after: ControlSums()))
            })
    }

    /// What was counted before a run.
    private struct Earlier {
        /// By app, from the last run of whatever job that counted it, with the ledger's end there.
        var byApp: [[String]: (totals: AppControlTotals.Previous, entry: Int64)] = [:]
        /// The apps of which rows or periods stood when the last of these runs ended.
        var stood: Set<[String]> = []
    }

    /// What was counted by the last runs, each app's at its end.
    private func previous(
        _ groups: ControlGroups, before run: RunReference
    ) throws -> Earlier {
        var earlier = Earlier()
        var isNewest = true
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT run_id, control FROM trueup_runs
                WHERE run_seq < ? AND control IS NOT NULL ORDER BY run_seq DESC
                """, arguments: [run.sequence])
        while let row = try rows.next() {
            let totals: ControlTotals? = try MeasureText.decode(row.text(at: 1))
            guard let totals else { continue }
            let ended = groups.joined(
                Dictionary(
                    totals.apps.map { ([$0.bundleID, $0.environment], $0.after) },
                    uniquingKeysWith: +))
            for (app, sums) in ended where earlier.byApp[app] == nil {
                let previous = AppControlTotals.Previous(
                    runID: row.requiredText(at: 0), sums: sums)
                earlier.byApp[app] = (previous, totals.ledgerEntry)
            }
            if isNewest { earlier.stood = Set(ended.filter { !$0.value.isNothing }.keys) }
            isNewest = false
            if groups.configured.isSubset(of: earlier.byApp.keys) { break }
        }
        return earlier
    }

    private static func precedes(_ left: [String], _ right: [String]) -> Bool {
        left.lexicographicallyPrecedes(right)
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
