import GRDB
import Subscriptions

/// Indexes and triggers of ours that a large merge does without, inside its one transaction.
///
/// Sorting an index once is much cheaper than a million entries at random places. The triggers are
/// not needed because the merge raises versions itself and inserts only keys that are absent; they
/// stay where a key was deleted before, whose version must go on. What belongs to the company is
/// left alone. If anything fails, the transaction takes everything back.
struct SuspendedSchema {
    private static let indexes = [
        "subscriptions_by_original_transaction", "subscriptions_by_line_item",
        "transactions_by_original_transaction",
    ]
    private static let triggers = [
        "trueup_raise_row_version", "trueup_keep_version_of_replaced",
        "trueup_continue_row_version",
    ]

    private var statements: [String] = []

    /// Takes them away, if the file is large and most of it must be new to the table.
    init(of table: StagedTable, lines: Int, _ db: Database) throws {
        let rows = try Int.fetchOne(db, sql: "SELECT count(*) FROM main.\(table.name)") ?? 0
        guard lines >= StoreLimits.linesWorthSorting, lines / 2 >= rows else { return }
        let hasDeleted = try Int.fetchOne(db, sql: "SELECT 1 FROM trueup_row_versions LIMIT 1")
        let names = Self.indexes + (hasDeleted == nil ? Self.triggers : [])
        let parts = try Row.fetchAll(
            db,
            sql: """
                SELECT type, name, sql FROM main.sqlite_master
                WHERE tbl_name = ? AND type IN ('index', 'trigger') AND sql IS NOT NULL
                """,
            arguments: [table.name])
        for part in parts where names.contains(part.requiredText(at: 1)) {
            try db.execute(sql: "DROP \(part.requiredText(at: 0)) \(part.requiredText(at: 1))")
            statements.append(part.requiredText(at: 2))
        }
    }

    /// Puts them back as they were.
    func restore(_ db: Database) throws {
        for statement in statements { try db.execute(sql: statement) }
    }
}
