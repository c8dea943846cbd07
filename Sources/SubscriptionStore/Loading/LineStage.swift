import GRDB
import Subscriptions

/// The temporary table of a load while the lines of a file are put into it.
struct LineStage {
    let db: Database
    private let insert: Statement
    private var binding: LineBinding
    private(set) var lines = 0

    init(of table: StagedTable, _ db: Database) throws {
        self.db = db
        insert = try db.cachedStatement(sql: table.stage)
        binding = LineBinding(insert)
    }

    /// Adds a line; one whose key is there already is left out.
    ///
    /// - Parameters:
    ///   - columns: Every column, in the table's order.
    ///   - given: Which of them the line gives, as `StagedTable` has it.
    ///   - value: The line's value of a column.
    /// - Returns: `.accepted` or `.duplicateKey`.
    /// - Throws: What SQLite reports.
    mutating func add<Column>(
        _ columns: [Column], given: UInt64?, _ value: (Column) -> FieldValue
    ) throws -> LineOutcome {
        binding.restart()
        for column in columns { try binding.bind(value(column)) }
        try binding.bind(given.map { Int64(bitPattern: $0) })
        try insert.execute()
        guard db.changesCount > 0 else { return .duplicateKey }
        lines += 1
        return .accepted
    }

    /// Adds several lines, or none of them if `body` finds one that may not be added.
    mutating func addTogether(
        _ body: (inout LineStage) throws -> LineOutcome
    ) throws -> LineOutcome {
        let before = lines
        var outcome = LineOutcome.accepted
        try db.inSavepoint {
            outcome = try body(&self)
            return outcome == .duplicateKey ? .rollback : .commit
        }
        if outcome == .duplicateKey { lines = before }
        return outcome
    }
}

extension StagedTable {
    static func subscriptions(giving columns: Set<SubscriptionField>) -> StagedTable {
        let fields = SubscriptionField.allCases
        let keys = ["bundle_id", "environment", "original_transaction_id"]
        return StagedTable(
            name: "subscriptions", columns: fields.map(\.rawValue), keyColumns: keys,
            givenColumns: fields.filter(columns.contains).map(\.rawValue).filter {
                !keys.contains($0)
            },
            textColumns: Set(fields.filter { $0.form == .text }.map(\.rawValue)),
            freeColumns: Set(fields.filter { $0.definition.content == .name }.map(\.rawValue)),
            undatedColumns: [SubscriptionField.paidElsewhereUntil.rawValue],
            beside: StagedTable.BesideColumn(
                name: SubscriptionField.paidElsewhereUntil.rawValue, table: OtherPayments.table,
                column: OtherPayments.column),
            isVersioned: true)
    }

    static func transactions(giving columns: Set<TransactionField>) -> StagedTable {
        let fields = TransactionField.allCases
        let keys = ["bundle_id", "environment", "transaction_id"]
        return StagedTable(
            name: "transactions", columns: fields.map(\.rawValue), keyColumns: keys,
            givenColumns: fields.filter(columns.contains).map(\.rawValue).filter {
                !keys.contains($0)
            },
            textColumns: Set(fields.filter { $0.form == .text }.map(\.rawValue)),
            isVersioned: false)
    }
}
