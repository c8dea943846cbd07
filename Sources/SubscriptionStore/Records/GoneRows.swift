import GRDB
import Subscriptions

/// What is noted about rows that the company has deleted since.
///
/// It would count for ever: as Apple's oldest word, among the judged rows, in the sweep, and beside
/// the customer's other rows. Should a row come back, it is asked about as one never judged.
struct GoneRows: Sendable {
    /// Notes with one row for each subscription.
    struct Notes: Sendable {
        let table: String
        /// What keeps a note `n` although no row has its key.
        var unless = "0"
    }

    /// One reading of notes.
    struct Piece: Sendable {
        var gone: [StoredKey] = []
        /// Where the next piece begins; `nil` at the end.
        var next: StoredKey?
    }

    let header: RunHeader

    /// Notes read in one piece: reading keeps nobody from writing.
    static let rowsPerPiece = 10_000

    /// A subscription that nobody holds is not found on several days, too, before that is confirmed.
    static let notes = [
        Notes(table: "trueup_checks"), Notes(table: "trueup_history_revisions"),
        Notes(table: "trueup_statements", unless: isOwed),
        Notes(table: "trueup_absences", unless: isOwed),
    ]

    private static let isOwed =
        "EXISTS (SELECT 1 FROM trueup_agenda AS a WHERE \(keysAgree("a", "n")))"

    private static func keysAgree(_ left: String, _ right: String) -> String {
        ["bundle_id", "environment", "original_transaction_id"]
            .map { "\(left).\($0) = \(right).\($0)" }.joined(separator: " AND ")
    }

    /// Finds notes about rows of the run's apps that are not in the table, from a key on.
    func piece(of notes: Notes, from start: StoredKey, _ db: Database) throws -> Piece {
        let key = "original_transaction_id, environment, bundle_id"
        let order = "bundle_id, environment, original_transaction_id"
        let isFromStart = "(\(order)) >= \(start.marks)"
        var piece = Piece()
        let gone = try Row.fetchCursor(
            db,
            sql: """
                SELECT \(key) FROM (SELECT \(key) FROM \(notes.table) WHERE \(isFromStart)
                    ORDER BY \(order) LIMIT \(Self.rowsPerPiece)) AS n
                WHERE NOT EXISTS (SELECT 1 FROM subscriptions AS s
                        WHERE \(Self.keysAgree("s", "n")))
                    AND NOT \(notes.unless)
                    AND EXISTS (SELECT 1 FROM (SELECT ? AS narrowing) AS w
                        WHERE \(FindingLook.isOfAnApp(narrowing: "w.narrowing", of: "n")))
                """,
            arguments: start.arguments + [TextList.encode(header.narrowing)])
        while let row = try gone.next() { piece.gone.append(try StoredKey(row)) }
        let next = try Row.fetchCursor(
            db,
            sql: """
                SELECT \(key) FROM \(notes.table) WHERE \(isFromStart)
                ORDER BY \(order) LIMIT 1 OFFSET \(Self.rowsPerPiece)
                """, arguments: start.arguments)
        piece.next = try next.next().map(StoredKey.init)
        return piece
    }

    /// Deletes notes about rows that are still not in the table.
    func forget(_ keys: ArraySlice<StoredKey>, in notes: Notes, _ db: Database) throws {
        for key in keys {
            try db.cachedStatement(
                sql: """
                    DELETE FROM \(notes.table)
                    WHERE (bundle_id, environment, original_transaction_id) = \(key.marks)
                        AND NOT EXISTS (SELECT 1 FROM subscriptions AS s
                            WHERE \(Self.keysAgree("s", notes.table)))
                    """
            ).execute(arguments: key.arguments)
        }
    }
}

extension SQLiteStore {
    /// Forgets what was noted about rows that are gone, in small transactions.
    ///
    /// Only after a run that looked for rows to ask about, and whose guard accepted the table's size:
    /// a table that was emptied by mistake keeps its notes.
    func forgetGoneRows(
        after conclusion: RunConclusion, of run: RunHeader
    ) async throws(StoreError) {
        guard run.worksOffAgenda, run.countsTables, conclusion.acceptedTableRows != nil else {
            return
        }
        let doing = "forgetting rows that are gone"
        let rows = GoneRows(header: run)
        for notes in GoneRows.notes {
            var position: StoredKey? = .first
            while let start = position {
                let piece = try await read(doing) { db in
                    try rows.piece(of: notes, from: start, db)
                }
                position = piece.next
                var left = piece.gone[...]
                while !left.isEmpty {
                    let chunk = left.prefix(StoreLimits.scatteredRowsPerChunk)
                    left = left.dropFirst(chunk.count)
                    try await write(doing) { db in try rows.forget(chunk, in: notes, db) }
                }
            }
        }
    }
}
