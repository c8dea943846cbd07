import GRDB
import Subscriptions

/// Notes in temporary tables which rows of the books a connection changes in a transaction.
///
/// By triggers, and not by SQLite's sessions, which not every SQLite has. They belong to the
/// connection: nothing of them is in the file.
struct ChangeCapture: Sendable {
    private struct Watched: Sendable {
        let table: BooksTable
        /// Where the keys are noted.
        let notes: String

        /// The rows behind the noted keys, once each: first the keys, then the rows' columns.
        var look: String {
            let key = table.key.map { "n.\($0)" }.joined(separator: ", ")
            let columns = table.columns.map { "t.\($0.name)" }.joined(separator: ", ")
            let names = table.key.joined(separator: ", ")
            let match = table.key.map { "t.\($0) = n.\($0)" }.joined(separator: " AND ")
            return """
                SELECT \(key), \(columns) FROM (SELECT DISTINCT \(names) FROM temp.\(notes)) AS n
                LEFT JOIN main.\(table.name) AS t ON \(match)
                """
        }

        /// The statements that make its table and triggers.
        var making: String {
            let names = table.key.joined(separator: ", ")
            let new = table.key.map { "NEW.\($0)" }.joined(separator: ", ")
            let old = table.key.map { "OLD.\($0)" }.joined(separator: ", ")
            let moves = table.key.map { "OLD.\($0) IS NOT NEW.\($0)" }.joined(separator: " OR ")
            return """
                CREATE TEMP TABLE \(notes) (\(names));
                CREATE TEMP TRIGGER \(notes)_insert AFTER INSERT ON main.\(table.name)
                BEGIN INSERT INTO \(notes) VALUES (\(new)); END;
                CREATE TEMP TRIGGER \(notes)_update AFTER UPDATE ON main.\(table.name)
                BEGIN INSERT INTO \(notes) VALUES (\(new)); END;
                CREATE TEMP TRIGGER \(notes)_move AFTER UPDATE ON main.\(table.name)
                WHEN \(moves)
                BEGIN INSERT INTO \(notes) VALUES (\(old)); END;
                CREATE TEMP TRIGGER \(notes)_delete AFTER DELETE ON main.\(table.name)
                BEGIN INSERT INTO \(notes) VALUES (\(old)); END;
                """
        }
    }

    private let watched: [Watched]

    /// Begins to watch what a connection changes.
    init(_ db: Database) throws {
        watched = try BooksTables.watched(db).enumerated().map { index, table in
            Watched(table: table, notes: "trueup_changed_\(index)")
        }
        for watched in watched { try db.execute(sql: watched.making) }
    }

    /// What was changed since the last call, as it stands now; within the transaction that did it.
    func takeChanges(_ db: Database) throws -> [BooksChange] {
        let touched = watched.enumerated().map { index, watched in
            "SELECT \(index) WHERE EXISTS (SELECT 1 FROM temp.\(watched.notes))"
        }
        let indices = try Int.fetchAll(
            db.cachedStatement(sql: touched.joined(separator: " UNION ALL ")))
        var changes: [BooksChange] = []
        for watched in indices.map({ watched[$0] }) {
            var change = BooksChange(table: watched.table)
            let keys = watched.table.key.count
            // A key column of a row that is there is never NULL.
            let first = watched.table.columns.firstIndex { $0.name == watched.table.key[0] } ?? 0
            let rows = try Row.fetchCursor(db.cachedStatement(sql: watched.look))
            while let row = try rows.next() {
                let values = Array(row.databaseValues).map(BooksValue.init)
                if values[keys + first] == .null {
                    change.deleted.append(Array(values[..<keys]))
                } else {
                    change.rows.append(Array(values[keys...]))
                }
            }
            try db.cachedStatement(sql: "DELETE FROM temp.\(watched.notes)").execute()
            changes.append(change)
        }
        return changes
    }
}
