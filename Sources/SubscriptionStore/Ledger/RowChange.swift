import GRDB
import Subscriptions

/// Makes one correction on the company's tables, by compare-and-set.
struct RowChange {
    let db: Database
    let correction: PlannedCorrection
    /// The run's clock: a date that lies after it by more than a day counts as none.
    let now: Timestamp

    /// The database refused to change this row; other rows are not affected.
    struct Refused: Error {}

    /// - Returns: `.applied`, or `.stale` when the row changed since it was read.
    /// - Throws: `Refused` when a trigger or constraint of the company's says no.
    func make() throws -> CorrectionFate {
        switch correction.target {
        case .update(let key, let version): try update(key, version: version)
        case .insert(let key): try insert(key)
        case .insertPeriod(let key, let subscription): try insert(key, of: subscription)
        case .updatePeriod(let key, let subscription): try update(key, of: subscription)
        case .delete(let key, let version): try delete(key, version: version)
        case .deletePeriod(let key, let subscription): try delete(key, of: subscription)
        }
    }

    /// Whether the row still is as the correction expects it; reads only.
    func holds() throws -> Bool {
        switch correction.target {
        case .update(let key, let version): try unmoved(key, version: version) != nil
        case .insert(let key): try !isStored(key)
        case .insertPeriod(let key, _): try !isStored(key)
        case .updatePeriod(let key, let subscription): try unmoved(key, of: subscription) != nil
        case .delete(let key, let version): try deletable(key, version: version) != nil
        case .deletePeriod(let key, let subscription): try isAsInserted(key, of: subscription)
        }
    }

    /// The row's version after the change; `nil` for a deleted row and for periods.
    func versionNow() throws -> Int64? {
        switch correction.target {
        case .update(let key, _), .insert(let key):
            let read = try db.cachedStatement(
                sql: """
                    SELECT row_version FROM subscriptions
                    WHERE bundle_id = ? AND environment = ? AND original_transaction_id = ?
                    """)
            return try Int64.fetchOne(read, arguments: key.arguments)
        case .insertPeriod, .updatePeriod, .delete, .deletePeriod: return nil
        }
    }

    /// A condition that a row as it was read meets, with its values.
    private typealias Condition = (sql: String, arguments: StatementArguments)

    private func update(_ key: SubscriptionKey, version: Int64) throws -> CorrectionFate {
        guard let unmoved = try unmoved(key, version: version) else { return .stale }
        let changes = columns(leavingOut: [])
        let list = changes.map { "\($0.column) = ?" } + ["row_version = row_version + 1"]
        try execute(
            "UPDATE subscriptions SET \(list.joined(separator: ", ")) WHERE \(unmoved.sql)",
            StatementArguments(changes.map(\.after)) + unmoved.arguments)
        return .applied
    }

    /// Returns the condition that finds the row as it was read; `nil` where it changed since, or
    /// rests on a later statement.
    private func unmoved(_ key: SubscriptionKey, version: Int64) throws -> Condition? {
        let condition = asItWasRead(
            columns(leavingOut: []),
            ["bundle_id = ?", "environment = ?", "original_transaction_id = ?", "row_version = ?"],
            key.arguments + [version])
        let read = try db.cachedStatement(
            sql: "SELECT signed_date FROM subscriptions WHERE \(condition.sql)")
        guard let row = try Row.fetchOne(read, arguments: condition.arguments) else { return nil }
        // Older evidence never overwrites newer, whatever the version says.
        if let signed = row.time(at: 0), rests(on: signed) { return nil }
        return condition
    }

    /// Whether the row rests on a later statement than the correction.
    private func rests(on signed: Timestamp) -> Bool {
        signed > correction.appleSignedDate && !signed.isAhead(of: now)
    }

    private func isStored(_ key: SubscriptionKey) throws -> Bool {
        try db.holds("subscriptions WHERE \(SubscriptionKey.isGiven)", key.arguments)
    }

    private func isStored(_ key: TransactionKey) throws -> Bool {
        try db.holds("\(correction.table) WHERE \(TransactionKey.isGiven)", key.arguments)
    }

    private func insert(_ key: SubscriptionKey) throws -> CorrectionFate {
        guard try !isStored(key) else { return .stale }
        let keyColumns = ["bundle_id", "environment", "original_transaction_id"]
        let changes = columns(leavingOut: keyColumns)
        try insert(into: "subscriptions", keyColumns, key.arguments, changes)
        return .applied
    }

    private func insert(
        _ key: TransactionKey, of subscription: SubscriptionKey
    ) throws -> CorrectionFate {
        guard try !isStored(key) else { return .stale }
        let keyColumns = ["bundle_id", "environment", "transaction_id", "original_transaction_id"]
        let changes = columns(leavingOut: keyColumns)
        try insert(
            into: correction.table, keyColumns,
            key.arguments + [subscription.originalTransactionID], changes)
        return .applied
    }

    /// A period has no version: every value that is replaced must be as it was read.
    private func update(
        _ key: TransactionKey, of subscription: SubscriptionKey
    ) throws -> CorrectionFate {
        guard let unmoved = try unmoved(key, of: subscription) else { return .stale }
        let changes = columns(leavingOut: Self.periodKey)
        let list = changes.map { "\($0.column) = ?" }.joined(separator: ", ")
        try execute(
            "UPDATE \(correction.table) SET \(list) WHERE \(unmoved.sql)",
            StatementArguments(changes.map(\.after)) + unmoved.arguments)
        return .applied
    }

    private static let periodKey = [
        "bundle_id", "environment", "transaction_id", "original_transaction_id",
    ]

    private func unmoved(
        _ key: TransactionKey, of subscription: SubscriptionKey
    ) throws -> Condition? {
        let changes = columns(leavingOut: Self.periodKey)
        guard !changes.isEmpty else { return nil }
        let condition = asItWasRead(
            changes, Self.periodKey.map { "\($0) = ?" },
            key.arguments + [subscription.originalTransactionID])
        let read = try db.cachedStatement(
            sql: "SELECT signed_date FROM \(correction.table) WHERE \(condition.sql)")
        guard let row = try Row.fetchOne(read, arguments: condition.arguments) else { return nil }
        // An older statement adds nothing to a period that rests on a newer one by now.
        if correction.undoOf == nil, let signed = row.time(at: 0), rests(on: signed) {
            return nil
        }
        return condition
    }

    private func delete(_ key: SubscriptionKey, version: Int64) throws -> CorrectionFate {
        guard let row = try deletable(key, version: version) else { return .stale }
        try execute("DELETE FROM subscriptions WHERE \(row.sql)", row.arguments)
        return .applied
    }

    private func deletable(_ key: SubscriptionKey, version: Int64) throws -> Condition? {
        let condition = asItWasRead(
            columns(leavingOut: ["bundle_id", "environment", "original_transaction_id"]),
            ["bundle_id = ?", "environment = ?", "original_transaction_id = ?", "row_version = ?"],
            key.arguments + [version])
        let read = try db.cachedStatement(
            sql: "SELECT 1 FROM subscriptions WHERE \(condition.sql)")
        return try Int.fetchOne(read, arguments: condition.arguments) == nil ? nil : condition
    }

    /// The condition that the row is as it was read: its version, and every value that is replaced,
    /// because the version only rises while trueup's triggers exist.
    ///
    /// A column that was read as empty may hold NULL or an empty text.
    private func asItWasRead(
        _ changes: [Change], _ identity: [String], _ arguments: StatementArguments
    ) -> Condition {
        var terms = identity
        var arguments = arguments
        for change in changes {
            if change.before.isNull {
                terms.append("nullif(\(change.column), '') IS NULL")
            } else {
                terms.append("\(change.column) IS ? COLLATE BINARY")
                arguments += [change.before]
            }
        }
        return (terms.joined(separator: " AND "), arguments)
    }

    /// A period has no version: it must be exactly as it was inserted.
    private func delete(
        _ key: TransactionKey, of subscription: SubscriptionKey
    ) throws -> CorrectionFate {
        guard try isAsInserted(key, of: subscription) else { return .stale }
        try execute(
            "DELETE FROM \(correction.table) WHERE \(TransactionKey.isGiven)", key.arguments)
        return .applied
    }

    private func isAsInserted(
        _ key: TransactionKey, of subscription: SubscriptionKey
    ) throws -> Bool {
        let inserted = CurrentRow(
            inserted: correction.changes.before, of: subscription,
            transactionID: key.transactionID)
        let table = correction.changes.transactionTable
        return try CurrentRow.transaction(key, in: table, db) == inserted
    }

    private func insert(
        into table: String, _ keyColumns: [String], _ key: StatementArguments,
        _ changes: [Change]
    ) throws {
        let columns = keyColumns + changes.map(\.column)
        let marks = columns.map { _ in "?" }.joined(separator: ", ")
        try execute(
            "INSERT INTO \(table) (\(columns.joined(separator: ", "))) VALUES (\(marks))",
            key + StatementArguments(changes.map(\.after)))
    }

    private struct Change {
        let column: String
        let before: DatabaseValue
        let after: DatabaseValue
    }

    /// The changed columns by name.
    private func columns(leavingOut keyColumns: [String]) -> [Change] {
        correction.changes.named.filter { !keyColumns.contains($0.column) }.map {
            Change(
                column: $0.column, before: $0.change.before.databaseValue,
                after: $0.change.after.databaseValue)
        }
    }

    private func execute(_ sql: String, _ arguments: StatementArguments) throws {
        do {
            try db.run(sql, arguments)
        } catch let error as DatabaseError where Self.concernsRowAlone(error) {
            throw Refused()
        }
        // A trigger can also make a write vanish without a word.
        guard db.changesCount == 1 else { throw Refused() }
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
struct ChangedRow {
    let db: Database
    let correction: PlannedCorrection

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
    ///   - item: The correction with its number.
    ///   - run: The run that found the row moved.
    ///   - started: When it began.
    ///   - db: The database.
    /// - Returns: Whether anything is: the row is undecided then.
    /// - Throws: What writing to the database throws.
    static func settle(
        _ item: PlanApplication.StoredCorrection, in run: RunReference, started: Timestamp,
        _ db: Database
    ) throws -> Bool {
        let isOfPlan = try db.holds(
            "trueup_applications WHERE pass_id = ? AND plan IS NOT NULL AND undo_of IS NULL",
            [run.passID])
        guard isOfPlan, item.correction.undoOf == nil else { return true }
        let row = ChangedRow(db: db, correction: item.correction)
        if try row.isAsPlanned() {
            try row.dropFindings(of: item.id, in: run)
            return false
        }
        try row.askAgain(since: started)
        return true
    }

    /// A row of which nothing is left to be told agrees.
    private func dropFindings(of number: Int64, in run: RunReference) throws {
        let key = correction.subscription.arguments
        let isOfRow = """
            pass_id = ? AND outcome_bundle_id = ? AND outcome_environment = ?
                AND outcome_original_transaction_id = ? AND superseded_by IS NULL
            """
        try db.run(
            """
            UPDATE trueup_pass_findings SET superseded_by = ?
            WHERE \(isOfRow) AND correction_id = ?
            """, [run.sequence, run.passID] + key + [number])
        try db.run(
            """
            UPDATE trueup_pass_rows SET verdict = \(VerdictCode.match.rawValue)
            WHERE pass_id = ? AND bundle_id = ? AND environment = ?
                AND original_transaction_id = ?
                AND verdict = \(VerdictCode.discrepancy.rawValue)
                AND NOT EXISTS (SELECT 1 FROM trueup_pass_findings WHERE \(isOfRow))
            """, [run.passID] + key + [run.passID] + key)
    }

    private func askAgain(since started: Timestamp) throws {
        let reason = QuestionReason.heldBack
        try db.run(
            "\(QuestionQueue.insertion) VALUES (?, ?, ?, ?, ?, ?, 1) \(QuestionQueue.wakingUp)",
            correction.subscription.arguments + [
                reason.rank, QueuedQuestion.priority(reason, isEntitling: false),
                started.unixMilliseconds,
            ])
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
        let read = try db.cachedStatement(
            sql: """
                SELECT \(columns.map(\.rawValue).joined(separator: ", ")) FROM subscriptions
                WHERE bundle_id = ? AND environment = ? AND original_transaction_id = ?
                """)
        // At the cursor, where bytes that are not text are still seen.
        let rows = try Row.fetchCursor(read, arguments: key.arguments)
        return try rows.next().map { row in
            CurrentRow(row, columns.map { ($0.rawValue, $0.form) })
        }
    }

    static func transaction(
        _ key: TransactionKey, in table: TransactionTable, _ db: Database
    ) throws -> CurrentRow? {
        let columns = table.fields
        let read = try db.cachedStatement(
            sql: """
                SELECT \(columns.map(\.rawValue).joined(separator: ", ")) FROM \(table.rawValue)
                WHERE \(TransactionKey.isGiven)
                """)
        let rows = try Row.fetchCursor(read, arguments: key.arguments)
        return try rows.next().map { row in
            CurrentRow(row, columns.map { ($0.rawValue, $0.form) })
        }
    }

    private init(_ row: Row, _ columns: [(name: String, form: FieldForm)]) {
        var values: [String: FieldValue] = [:]
        for (index, column) in columns.enumerated() {
            switch row.reading(at: index, as: column.form) {
            case .value(let value): values[column.name] = value
            case .unreadable(let shown): values[column.name] = .text(shown)
            }
        }
        self.init(values: values)
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
struct RevertedCorrection {
    let db: Database
    /// The ledger entry that was reverted.
    let entry: Int64

    func note() throws {
        try reopenFindings()
        try forgetAgreement()
        try askAgain()
    }

    /// A finding stays open until a look finds it fixed, and its correction no longer stands.
    ///
    /// It has not come back by itself, so it is not recurring.
    private func reopenFindings() throws {
        try db.run(
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

    /// Periods do not show in the digest of a row's values, so the digest is replaced by one that
    /// no row has.
    private func forgetAgreement() throws {
        try db.run(
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
    private func askAgain() throws {
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: "SELECT \(LedgerEntry.columns) FROM trueup_ledger AS l WHERE l.entry = ?"),
            arguments: [entry])
        guard let reverted = try row.map(LedgerEntry.init) else { return }
        switch reverted.changes {
        case .purchase(let changes) where reverted.action == .insert:
            guard case .text(let customer)? = changes[.customerID]?.after else { return }
            try RefundReads.forget(customer, inAppsOf: [reverted.subscription], db)
        case .purchase:
            try ask(reverted.transactionID, of: reverted.subscription, at: reverted.writtenAt)
        case .subscription where reverted.action == .insert:
            try ask(nil, of: reverted.subscription, at: reverted.writtenAt)
        case .subscription, .period, .ledger: return
        }
    }

    private func ask(
        _ transactionID: String?, of subscription: SubscriptionKey, at time: Timestamp
    ) throws {
        let id = transactionID ?? subscription.originalTransactionID
        try db.run(
            "\(QuestionQueue.insertion) VALUES (?, ?, ?, ?, ?, ?, 0) \(QuestionQueue.wakingUp)",
            [
                subscription.bundleID, subscription.environment, id,
                QuestionReason.notification.rank,
                QueuedQuestion.priority(.notification, isEntitling: false), time.unixMilliseconds,
            ])
    }
}
