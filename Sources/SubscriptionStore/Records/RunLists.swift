import GRDB
import Subscriptions

/// What is listed of a run for its report, in tables of their own, and how it is deleted.
enum RunLists {
    /// Each table and its key, the run first.
    static let tables = [
        ("trueup_run_undecided", "run_seq, bundle_id, environment, original_transaction_id"),
        ("trueup_run_in_flight", "run_seq, bundle_id, environment, original_transaction_id"),
        ("trueup_run_not_found", "run_seq, bundle_id, environment, original_transaction_id"),
        ("trueup_run_findings", "run_seq, finding_seq"),
        ("trueup_run_finding_causes", "run_seq, finding_seq"),
    ]

    /// Deletes the first rows at a number, by their whole key; whether there were any.
    static func deleteSome(
        of table: String, _ key: String, _ number: Int64, _ db: Database
    ) throws -> Bool {
        let columns = key.split(separator: ", ")
        let found = try Row.fetchAll(
            db,
            sql: """
                SELECT \(key) FROM \(table) WHERE \(columns[0]) = ?
                LIMIT \(StoreLimits.correctionsPerChunk)
                """,
            arguments: [number])
        let isRow = columns.map { "\($0) = ?" }.joined(separator: " AND ")
        let delete = try db.cachedStatement(sql: "DELETE FROM \(table) WHERE \(isRow)")
        for row in found { try delete.execute(arguments: StatementArguments(row.databaseValues)) }
        return !found.isEmpty
    }

    /// A run that listed something and never ended: it was killed.
    fileprivate static func unended(in table: String, _ db: Database) throws -> Int64? {
        try Int64.fetchOne(
            db,
            sql: """
                SELECT r.run_seq FROM trueup_runs AS r WHERE r.ended IS NULL
                    AND EXISTS (SELECT 1 FROM \(table) AS l WHERE l.run_seq = r.run_seq)
                LIMIT 1
                """)
    }
}

extension SQLiteStore {
    /// Throws away what killed runs had prepared of their conclusions.
    func discardUnendedLists() async throws(StoreError) {
        let doing = "clearing what a killed run left"
        for (table, key) in RunLists.tables {
            while let run = try await read(doing, { db in try RunLists.unended(in: table, db) }) {
                while try await write(
                    doing, { db in try RunLists.deleteSome(of: table, key, run, db) })
                {}
            }
        }
    }
}
