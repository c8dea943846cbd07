import Foundation
import GRDB

/// How SQLite would run a statement: which tables it goes through, and by what it finds their rows.
struct QueryPlan {
    /// One loop over a table.
    struct Loop {
        let text: String
        /// Whether it runs once for each row of a table that grows.
        let isRepeated: Bool
    }

    /// Loops over tables that grow with the company's rows, which neither find single rows nor begin
    /// at a place in the order of the rows.
    let scans: [Loop]

    /// Tables that do not grow with the company's rows, and with what they grow.
    static let small: [String: String] = [
        "trueup_runs": "a row for each run", "trueup_passes": "a row for each run",
        "trueup_rounds": "a row for each job", "trueup_plans": "a row for each run",
        "trueup_run_plans": "a row for each run", "trueup_applications": "a row for each run",
        "trueup_awaited_reports": "runs without a report",
        "trueup_reported_ranges": "a few rows for each run",
        "trueup_table_sizes": "a row for each run",
        "trueup_unremembered_runs": "a row for each run",
        "trueup_books_copy": "one row", "trueup_company": "one row",
        "trueup_company_restores": "a row for each restore", "trueup_database": "one row",
        "trueup_quota_calls": "the seconds of an hour",
        "trueup_quota_refusals": "a row for each endpoint",
        "trueup_run_calls": "a few rows for each run",
        "trueup_run_totals": "a few rows for each run",
        "trueup_run_causes": "a few rows for each run", "trueup_run_evidence": "a row for each run",
        "trueup_guard_lifts": "a few rows for each run",
        "trueup_restores": "a row for each restore",
        "trueup_watermarks": "a row for each app",
        "trueup_event_reads": "a row for each run and app",
        "trueup_event_counts": "days, products and kinds",
        "trueup_canaries": "as many rows as --canary names",
        "trueup_pass_recovered": "a row for each app", "trueup_pass_history": "a row for each app",
        "trueup_evidence_apps": "a row for each app",
        "trueup_evidence_headers": "Apple's signing certificates",
        "trueup_revocation_answers": "Apple's signing certificates",
        "trueup_decisions": "what people acknowledged",
        "trueup_entitlement_catalogue": "one row",
        "trueup_run_entitlements": "a row for each run",
    ]

    /// Columns of which a value names one row, or the few of one subscription, customer or payload.
    private static let naming: Set<String> = [
        "account", "access_continues_by", "apple_value", "continued_by", "correction_id",
        "customer", "customer_id", "digest", "entry", "evidence", "finding_id", "finding_seq",
        "hash", "key_id",
        "ledger_entry", "notification_uuid", "original_transaction_id",
        "outcome_original_transaction_id", "owner", "rowid", "speaks_for", "transaction_id",
        "true_original",
        "undo_of", "web_order_line_item_id",
    ]

    private struct Step {
        let id: Int64
        let parent: Int64
        let text: String
    }

    init(of statement: String, _ db: Database) throws {
        let explained = try db.makeStatement(sql: "EXPLAIN QUERY PLAN " + statement)
        explained.setUncheckedArguments(StatementArguments())
        let steps = try Row.fetchAll(explained).map { row in
            Step(id: row[0], parent: row[1], text: row[3])
        }
        let tables = Self.tables(in: statement)
        let byID = Dictionary(steps.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        func grows(_ step: Step) -> Bool {
            guard let name = Self.loopedName(step.text) else { return false }
            let named = tables[name] ?? [name]
            return !named.allSatisfy { Self.small[$0] != nil }
        }
        func isRepeated(_ index: Int) -> Bool {
            let step = steps[index]
            if steps[..<index].contains(where: { $0.parent == step.parent && grows($0) }) {
                return true
            }
            var parent = byID[step.parent]
            while let above = parent {
                if above.text.contains("CORRELATED") {
                    let others = steps.contains {
                        $0.parent == above.parent && $0.id != above.id && grows($0)
                    }
                    if others { return true }
                }
                parent = byID[above.parent]
            }
            return false
        }
        scans = steps.indices.compactMap { index in
            let step = steps[index]
            guard grows(step), let name = Self.loopedName(step.text),
                (tables[name] ?? [name]).contains(where: {
                    $0.hasPrefix("trueup_") || $0 == "subscriptions" || $0 == "transactions"
                }), !Self.findsFewRows(step.text)
            else { return nil }
            return Loop(text: step.text, isRepeated: isRepeated(index))
        }
    }

    /// The name, or the alias, of the table that a step goes through; `nil` for steps of other kinds.
    private static func loopedName(_ text: String) -> String? {
        text.firstMatch(of: /^(?:SCAN|SEARCH) (\w+)/).map { String($0.1) }
    }

    /// Whether a step finds rows by a column that names few, or begins at a place in their order.
    private static func findsFewRows(_ text: String) -> Bool {
        guard text.hasPrefix("SEARCH"), let conditions = text.firstMatch(of: #/\((.*)\)/#)?.1 else {
            return false
        }
        if conditions.contains(/\)[<>]\(/) { return true }
        return conditions.matches(of: /(\w+)[=<>]\?/).contains { naming.contains(String($0.1)) }
    }

    /// The tables of a statement by the names that it gives them.
    private static func tables(in statement: String) -> [String: Set<String>] {
        let pattern = /(?i)\b(?:from|join|into|update(?: or \w+)?)\s+(\w+)(?:\s+as\s+(\w+))?/
        return statement.matches(of: pattern).reduce(into: [:]) { tables, match in
            let table = String(match.1)
            tables[match.2.map(String.init) ?? table, default: []].insert(table)
        }
    }
}
