import GRDB
import Subscriptions

/// Takes an entry over that was committed in the company's database and not in the books: a run was
/// killed between the two, or the connection was lost.
///
/// What was written stands; the books get the same entry, so that it is reported and can be undone.
struct EntryTakeOver {
    let db: Database
    let mapping: TableMapping
    let naming: EventNaming?

    func take(_ entry: LedgerEntry) throws {
        let head = try Ledger(db: db).head()
        try Self.refuse(entry, behind: head, of: mapping)
        try Ledger(db: db).takeOver(entry)
        // A declared break changes no row.
        guard entry.changes.table == .subscriptions else { return }
        try changeCopy(by: entry)
        try settlePlanned(entry)
        try OutboxWriter(db: db, naming: naming).append(entry)
        if let undone = entry.undoOf { try TakenBackCorrection(db: db, entry: undone).note() }
    }

    /// Refuses an entry that does not continue the books.
    ///
    /// - Parameters:
    ///   - entry: The next one of the company's ledger.
    ///   - head: The end of the books.
    ///   - mapping: For the name of the table.
    /// - Throws: `.schema`.
    static func refuse(
        _ entry: LedgerEntry, behind head: (number: Int64, hash: String), of mapping: TableMapping
    ) throws {
        guard entry.number > head.number, entry.previousHash == head.hash else {
            throw StoreError.schema(
                "The ledger beside \(mapping.table) goes on at entry \(entry.number), which does "
                    + "not continue the books (entry \(head.number)): the books were restored or "
                    + "are those of another table. Nothing was written. Put the newest books back "
                    + "that you have.")
        }
    }

    /// The refresh that follows makes the copy equal anyway; this keeps the version that the entry
    /// states.
    private func changeCopy(by entry: LedgerEntry) throws {
        let key = entry.subscription
        let isKey = "bundle_id = ? AND environment = ? AND original_transaction_id = ?"
        let mark = CompanyRowMark(db: db, key: key)
        switch entry.rowAction {
        case .delete:
            try db.execute(
                sql: "DELETE FROM subscriptions WHERE \(isKey)", arguments: key.arguments)
            return try mark.forget()
        case .insert:
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO subscriptions (
                        bundle_id, environment, original_transaction_id) VALUES (?, ?, ?)
                    """, arguments: key.arguments)
            try mark.set(nil)
        case .update: break
        }
        let after = entry.changes.named.map { ($0.column, $0.change.after.boundValue) }
        guard !after.isEmpty else { return }
        let sets = after.map { "\($0.0) = ?" } + ["row_version = max(row_version + 1, ?)"]
        try db.execute(
            sql: "UPDATE subscriptions SET \(sets.joined(separator: ", ")) WHERE \(isKey)",
            arguments: StatementArguments(after.map(\.1)) + [entry.rowVersion ?? 0]
                + key.arguments)
    }

    /// The correction of the pass that it was written from is done.
    private func settlePlanned(_ entry: LedgerEntry) throws {
        guard
            let row = try Row.fetchOne(
                db, sql: "SELECT run_seq, pass_id FROM trueup_runs WHERE run_id = ?",
                arguments: [entry.runID]),
            let sequence = row.integer(at: 0), let passID = row.integer(at: 1)
        else { return }
        let planned = try Row.fetchOne(
            db,
            sql: """
                SELECT \(PlannedCorrection.columns), c.correction_id
                FROM trueup_pass_corrections AS c
                WHERE c.pass_id = ? AND c.bundle_id = ? AND c.environment = ?
                    AND c.original_transaction_id = ? AND c.target IN ('update', 'insert', 'delete')
                    AND c.fate = 'planned' AND c.superseded_by IS NULL
                    AND ifnull(c.undo_of, 0) = ?
                ORDER BY c.correction_id LIMIT 1
                """,
            arguments: [passID] + entry.subscription.arguments + [entry.undoOf ?? 0])
        guard let planned, let id = planned.integer(at: PlannedCorrection.columnCount) else {
            return
        }
        try CorrectionStaging(db: db, run: RunReference(passID: passID, sequence: sequence))
            .note(
                .applied,
                of: PlanApplication.StoredCorrection(
                    id: id, correction: try PlannedCorrection(planned)))
    }
}
