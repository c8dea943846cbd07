import GRDB
import Subscriptions

/// Makes one correction on the company's tables, by compare-and-set.
struct RowChange {
    let db: Database
    let correction: PlannedCorrection
    /// The run's clock: a date that lies after it by more than a day counts as none.
    let now: Timestamp

    /// A database did not change this row, and its change here is rolled back; other rows are not
    /// affected.
    struct NotMade: Error {
        var fate = CorrectionFate.rejected
    }

    /// - Returns: `.applied`, or `.stale` when the row changed since it was read.
    /// - Throws: `NotMade` when a trigger or constraint of the company's says no.
    func make() throws -> CorrectionFate {
        switch correction.target {
        case .update, .updatePeriod: try update()
        case .insert(let key): try insert(key.arguments)
        case .insertPeriod(let key, let subscription):
            try insert(key.arguments + [subscription.originalTransactionID])
        case .delete, .deletePeriod: try delete()
        }
    }

    /// Whether the row still is as the correction expects it; reads only.
    func holds() throws -> Bool {
        switch correction.target {
        case .update, .updatePeriod, .delete, .deletePeriod: try unmoved() != nil
        case .insert(let key):
            try !db.holds("subscriptions WHERE \(SubscriptionKey.isKey)", key.arguments)
        case .insertPeriod(let key, _):
            try !db.holds("\(table) WHERE \(TransactionKey.isKey)", key.arguments)
        }
    }

    /// The row's version after the change; `nil` for a deleted row and for periods.
    func versionNow() throws -> Int64? {
        switch correction.target {
        case .update(let key, _), .insert(let key):
            return try db.integer(
                cached: "SELECT row_version FROM subscriptions WHERE \(SubscriptionKey.isKey)",
                key.arguments)
        case .insertPeriod, .updatePeriod, .delete, .deletePeriod: return nil
        }
    }

    private static let rowKey = ["bundle_id", "environment", "original_transaction_id"]
    private static let periodKey = [
        "bundle_id", "environment", "transaction_id", "original_transaction_id",
    ]

    /// The table of the row, and the columns that find it there or are inserted with it.
    private var place: (table: String, key: [String]) {
        switch correction.target {
        case .update, .insert, .delete: ("subscriptions", Self.rowKey)
        case .insertPeriod, .updatePeriod, .deletePeriod: (correction.table, Self.periodKey)
        }
    }

    private var table: String { place.table }

    private func update() throws -> CorrectionFate {
        guard let unmoved = try unmoved() else { return .stale }
        let changes = changedColumns
        var list = changes.map { "\($0.column) = ?" }
        if case .update = correction.target { list.append("row_version = row_version + 1") }
        try execute(
            "UPDATE \(table) SET \(list.joined(separator: ", ")) WHERE \(unmoved.sql)",
            StatementArguments(changes.map(\.after)) + unmoved.arguments)
        return .applied
    }

    private func insert(_ key: StatementArguments) throws -> CorrectionFate {
        guard try holds() else { return .stale }
        let changes = changedColumns
        let columns = place.key + changes.map(\.column)
        let marks = columns.map { _ in "?" }.joined(separator: ", ")
        try execute(
            "INSERT INTO \(table) (\(columns.joined(separator: ", "))) VALUES (\(marks))",
            key + StatementArguments(changes.map(\.after)))
        return .applied
    }

    private func delete() throws -> CorrectionFate {
        guard let unmoved = try unmoved() else { return .stale }
        try execute("DELETE FROM \(table) WHERE \(unmoved.sql)", unmoved.arguments)
        return .applied
    }

    /// A condition that a row as it was read meets, with its values.
    private typealias Condition = (sql: String, arguments: StatementArguments)

    /// Returns the condition that finds the row as it was read; `nil` where it changed since, or
    /// rests on a later statement.
    ///
    /// A period has no version: every value that is replaced must be as it was read, and one that is
    /// deleted must be exactly as it was inserted.
    private func unmoved() throws -> Condition? {
        switch correction.target {
        case .insert, .insertPeriod: return nil
        // Older evidence never overwrites newer, whatever the version says.
        case .update(let key, let version): return try found(asItWasRead(key, version))
        case .delete(let key, let version):
            return try found(asItWasRead(key, version), mayRestOnLater: true)
        case .updatePeriod(let key, let subscription):
            guard !changedColumns.isEmpty else { return nil }
            let identity = key.arguments + [subscription.originalTransactionID]
            // An older statement adds nothing to a period that rests on a newer one by now.
            return try found(
                asItWasRead(Self.periodKey, identity), mayRestOnLater: correction.undoOf != nil)
        case .deletePeriod(let key, let subscription):
            let inserted = CurrentRow(
                inserted: correction.changes.before, of: subscription,
                transactionID: key.transactionID)
            let row = try CurrentRow.transaction(key, in: correction.changes.transactionTable, db)
            return row == inserted ? (TransactionKey.isKey, key.arguments) : nil
        }
    }

    /// Returns a condition that finds a row; `nil` where it finds none, or one that rests on a later
    /// statement than the correction.
    private func found(_ condition: Condition, mayRestOnLater: Bool = false) throws -> Condition? {
        guard
            let row = try db.row(
                cached: "SELECT signed_date FROM \(table) WHERE \(condition.sql)",
                condition.arguments)
        else { return nil }
        if !mayRestOnLater, let signed = row.time(at: 0), signed > correction.appleSignedDate,
            !signed.isAhead(of: now)
        {
            return nil
        }
        return condition
    }

    private func asItWasRead(_ key: SubscriptionKey, _ version: Int64) -> Condition {
        asItWasRead(Self.rowKey + ["row_version"], key.arguments + [version])
    }

    /// The condition that the row is as it was read: its version, and every value that is replaced,
    /// because the version only rises while trueup's triggers exist.
    ///
    /// A column that was read as empty may hold NULL or an empty text.
    private func asItWasRead(_ identity: [String], _ arguments: StatementArguments) -> Condition {
        var terms = identity.map { "\($0) = ?" }
        var arguments = arguments
        for change in changedColumns {
            if change.before.isNull {
                terms.append("nullif(\(change.column), '') IS NULL")
            } else {
                terms.append("\(change.column) IS ? COLLATE BINARY")
                arguments += [change.before]
            }
        }
        return (terms.joined(separator: " AND "), arguments)
    }

    /// The changed columns by name, without those of the key of a row that comes or goes.
    private var changedColumns: [(column: String, before: DatabaseValue, after: DatabaseValue)] {
        var key = place.key
        if case .update = correction.target { key = [] }
        return correction.changes.named.filter { !key.contains($0.column) }.map {
            ($0.column, $0.change.before.databaseValue, $0.change.after.databaseValue)
        }
    }

    private func execute(_ sql: String, _ arguments: StatementArguments) throws {
        do {
            try db.executeCached(sql, arguments)
        } catch let error as DatabaseError where Self.concernsRowAlone(error) {
            throw NotMade()
        }
        // A trigger can also make a write vanish without a word.
        guard db.changesCount == 1 else { throw NotMade() }
    }

    /// Whether a constraint, or one of the company's triggers, refused this row alone.
    ///
    /// A missing column or table of trueup's affects every row: the schema has changed.
    private static func concernsRowAlone(_ error: DatabaseError) -> Bool {
        switch error.resultCode {
        case .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_TOOBIG: return true
        case .SQLITE_ERROR:
            let message = error.message ?? ""
            return !message.hasPrefix("no such column") && !message.contains("has no column")
                && !["subscriptions", "transactions", "purchases"].contains {
                    message.hasPrefix("no such table: \($0)")
                }
        default: return false
        }
    }
}

/// A correction of an adopted plan, whose row changed since the plan was made.
///
/// Where the row is as the plan would have left it, nothing is left of the finding. Apple is asked
/// about any other such row again: the plan is out of date, and the row's last check may give the
/// next run no other reason to ask.
extension RowChange {
    /// Whether every column that the correction writes has the planned value, or rests on a newer
    /// statement with the same values.
    func isAsPlanned() throws -> Bool {
        guard correction.undoOf == nil, let standing = try standing() else { return false }
        return correction.changes.named.allSatisfy { column, change in
            let value = standing[column]
            if case (.time(let signed), .time(let planned)) = (value, change.after),
                column == SubscriptionField.signedDate.rawValue
            {
                return signed >= planned
            }
            return value == change.after || value.isEmpty && change.after.isEmpty
        }
    }

    private func standing() throws -> CurrentRow? {
        switch correction.target {
        case .update(let key, _), .insert(let key): return try CurrentRow.subscription(key, db)
        case .insertPeriod(let key, let subscription), .updatePeriod(let key, let subscription):
            let table = correction.changes.transactionTable
            let period = try CurrentRow.transaction(key, in: table, db)
            let owner = TransactionField.originalTransactionID.rawValue
            return period?[owner] == .text(subscription.originalTransactionID) ? period : nil
        case .delete, .deletePeriod: return nil
        }
    }

    /// Notes what is left of a correction, where its checkpoint works off a plan.
    ///
    /// - Parameters:
    ///   - number: The correction's number.
    ///   - run: The run that found the row moved.
    ///   - started: When it began.
    /// - Returns: Whether anything is: the row is undecided then.
    /// - Throws: What writing to the database throws.
    func settle(_ number: Int64, in run: RunReference, started: Timestamp) throws -> Bool {
        let isOfPlan = try db.holds(
            "trueup_applications WHERE pass_id = ? AND plan IS NOT NULL AND undo_of IS NULL",
            [run.passID])
        guard isOfPlan, correction.undoOf == nil else { return true }
        if try isAsPlanned() {
            try dropFindings(of: number, in: run)
            return false
        }
        try QuestionQueue.ask(
            about: correction.subscription, .heldBack, since: started, attempts: 1, db)
        return true
    }

    /// A row of which nothing is left to be told agrees.
    private func dropFindings(of number: Int64, in run: RunReference) throws {
        let key = correction.subscription.arguments
        let isOfRow = """
            pass_id = ? AND outcome_bundle_id = ? AND outcome_environment = ?
                AND outcome_original_transaction_id = ? AND superseded_by IS NULL
            """
        try db.executeCached(
            """
            UPDATE trueup_pass_findings SET superseded_by = ?
            WHERE \(isOfRow) AND correction_id = ?
            """, [run.sequence, run.passID] + key + [number])
        try db.executeCached(
            """
            UPDATE trueup_pass_rows SET verdict = \(VerdictCode.match.rawValue)
            WHERE pass_id = ? AND \(SubscriptionKey.isKey)
                AND verdict = \(VerdictCode.discrepancy.rawValue)
                AND NOT EXISTS (SELECT 1 FROM trueup_pass_findings WHERE \(isOfRow))
            """, [run.passID] + key + [run.passID] + key)
    }
}

/// The columns of one stored row, to be compared with what was written there.
struct CurrentRow: Equatable {
    /// Every column that trueup knows and that is not null, by name.
    var values: [String: FieldValue]

    private init(values: [String: FieldValue]) {
        self.values = values.filter { $0.value != .null }
    }

    subscript(column: String) -> FieldValue { values[column] ?? .null }

    static func subscription(_ key: SubscriptionKey, _ db: Database) throws -> CurrentRow? {
        let optional = try OptionalColumns.present(db)
        let columns =
            SubscriptionField.stored + SubscriptionField.allCases.filter(optional.contains)
        return try stored(
            columns.map { ($0.rawValue, $0.form) }, in: "subscriptions",
            where: SubscriptionKey.isKey, key.arguments, db)
    }

    static func transaction(
        _ key: TransactionKey, in table: TransactionTable, _ db: Database
    ) throws -> CurrentRow? {
        try stored(
            table.fields.map { ($0.rawValue, $0.form) }, in: table.rawValue,
            where: TransactionKey.isKey, key.arguments, db)
    }

    private static func stored(
        _ columns: [(name: String, form: FieldForm)], in table: String, where isKey: String,
        _ arguments: StatementArguments, _ db: Database
    ) throws -> CurrentRow? {
        let read = try db.cachedStatement(
            sql: """
                SELECT \(columns.map(\.name).joined(separator: ", ")) FROM \(table) WHERE \(isKey)
                """)
        // At the cursor, where bytes that are not text are still seen.
        let rows = try Row.fetchCursor(read, arguments: arguments)
        guard let row = try rows.next() else { return nil }
        var values: [String: FieldValue] = [:]
        for (index, column) in columns.enumerated() {
            values[column.name] = row.reading(at: index, as: column.form).shown
        }
        return CurrentRow(values: values)
    }

    /// The row as a correction inserted it; with a transaction id, a period of the subscription.
    init(inserted values: [String: FieldValue], of key: SubscriptionKey, transactionID: String?) {
        var values = values
        values["bundle_id"] = .text(key.bundleID)
        values["environment"] = .text(key.environment)
        values["original_transaction_id"] = .text(key.originalTransactionID)
        if let transactionID { values["transaction_id"] = .text(transactionID) }
        self.init(values: values)
    }

    /// The row after a change.
    func changed(_ changes: ChangeSet) -> CurrentRow {
        CurrentRow(values: values.merging(changes.after) { $1 })
    }
}

/// The follow-up of a reverted correction: its findings are true again, as far as is known, and the
/// next run checks the row.
extension Ledger {
    /// Notes what follows for the row of an entry that was reverted.
    func noteReverted(_ entry: Int64) throws {
        try reopenFindings(of: entry)
        try reopenFindingsPastRetention(of: entry)
        try forgetAgreement(on: entry)
        try askAgain(about: entry)
    }

    /// A finding stays open until a look finds it fixed, and its correction no longer stands.
    ///
    /// It has not come back by itself, so it is not recurring.
    private func reopenFindings(of entry: Int64) throws {
        try db.executeCached(
            """
            UPDATE trueup_findings SET state = 'open', corrected_by = NULL
            WHERE state = 'corrected' AND finding_id IN (
                SELECT f.finding_id FROM trueup_ledger AS l
                JOIN trueup_runs AS r ON r.run_id = l.run_id
                JOIN trueup_pass_corrections AS c ON c.pass_id = r.pass_id
                    AND \(SubscriptionKey.agree("c", "l"))
                    AND c.transaction_id = ifnull(l.transaction_id, '')
                    AND c.fate = 'applied'
                JOIN trueup_pass_findings AS f ON f.pass_id = c.pass_id
                    AND f.outcome_bundle_id = l.bundle_id
                    AND f.outcome_environment = l.environment
                    AND f.outcome_original_transaction_id = l.original_transaction_id
                    AND f.correction_id = c.correction_id AND f.superseded_by IS NULL
                WHERE l.entry = ?)
            """, [entry])
    }

    /// Opens the findings of a run whose lists were deleted, which say no more which finding a
    /// correction was for: those of the row that the run reported last, by the rules of the entry.
    private func reopenFindingsPastRetention(of entry: Int64) throws {
        try db.executeCached(
            """
            UPDATE trueup_findings SET state = 'open', corrected_by = NULL
            WHERE state = 'corrected' AND finding_id IN (
                SELECT h.finding_id FROM trueup_ledger AS l
                JOIN trueup_runs AS r ON r.run_id = l.run_id
                JOIN trueup_findings AS h ON \(SubscriptionKey.agree("h", "l"))
                    AND h.last_pass_id = r.pass_id
                    AND instr(char(10) || l.kinds || char(10), char(10) || h.kind || char(10)) > 0
                WHERE l.entry = ? AND r.lists_deleted_at IS NOT NULL)
            """, [entry])
    }

    /// Periods do not show in the digest of a row's values, so the digest is replaced by one that
    /// no row has.
    private func forgetAgreement(on entry: Int64) throws {
        try db.executeCached(
            """
            UPDATE trueup_checks SET agreed = 0
            WHERE (bundle_id, environment, original_transaction_id) IN (
                SELECT bundle_id, environment, original_transaction_id
                FROM trueup_ledger WHERE entry = ?)
            """, [entry])
    }

    /// Of a row that a run had inserted, and of a one-time purchase, no record of a check leads to a
    /// question.
    ///
    /// It has the reason of a notification, because only that asks about what no row holds. A purchase
    /// is inserted only where a question about its customer shows it, so that customer is due again.
    private func askAgain(about entry: Int64) throws {
        let row = try db.row(
            cached: "SELECT \(LedgerEntry.columns) FROM trueup_ledger AS l WHERE l.entry = ?",
            [entry])
        guard let reverted = try row.map(LedgerEntry.init) else { return }
        switch reverted.changes {
        case .purchase(let changes) where reverted.action == .insert:
            guard case .text(let customer)? = changes[.customerID]?.after else { return }
            try RefundReads.forget(customer, inAppsOf: [reverted.subscription], db)
        case .purchase:
            try QuestionQueue.ask(
                about: reverted.companyKey, .notification, since: reverted.writtenAt, db)
        case .subscription where reverted.action == .insert:
            try QuestionQueue.ask(
                about: reverted.subscription, .notification, since: reverted.writtenAt, db)
        case .subscription, .period, .ledger: return
        }
    }
}
