import GRDB
import Subscriptions

/// The checks beside the rows that a scan reads: both tables are read once, in the order of their key.
///
/// To look each check up costs several times what reading does.
struct CheckScan {
    private let cursor: RowCursor
    private let columns: ColumnsInPlace
    private var isAtEnd: Bool

    /// - Parameters:
    ///   - relation: `>` or `>=`.
    ///   - start: The key that the rows of the scan relate to so.
    ///   - db: The database.
    /// - Throws: What reading it throws.
    init(_ relation: String, _ start: StoredKey, _ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: """
                SELECT bundle_id, environment, original_transaction_id,
                    \(CheckRecord.columns(of: "c"))
                FROM trueup_checks AS c
                WHERE (c.bundle_id, c.environment, c.original_transaction_id)
                    \(relation) \(start.marks)
                ORDER BY c.bundle_id, c.environment, c.original_transaction_id
                """)
        columns = ColumnsInPlace(of: statement)
        cursor = try Row.fetchCursor(statement, arguments: start.arguments)
        isAtEnd = try cursor.next() == nil
    }

    /// The check of the next row of the scan; `nil` without one.
    ///
    /// - Parameters:
    ///   - row: A row, after all rows that were asked for before.
    ///   - key: Its columns of the key, in the order of the primary key.
    /// - Returns: What was noted when the row was judged.
    /// - Throws: What reading the database throws.
    mutating func record(of row: ColumnsInPlace, key: [Int]) throws -> CheckRecord? {
        // A key that is no text sorts after all that are, and no check has one.
        guard key.allSatisfy({ row.kind(at: $0) == .text }) else { return nil }
        while !isAtEnd {
            let order = order(with: row, key)
            if order == 0 { return CheckRecord(columns, at: 3) }
            if order > 0 { return nil }
            isAtEnd = try cursor.next() == nil
        }
        return nil
    }

    private func order(with row: ColumnsInPlace, _ key: [Int]) -> Int {
        for (index, other) in key.enumerated() {
            let order = columns.order(at: index, with: row, at: other)
            if order != 0 { return order }
        }
        return 0
    }
}

extension CheckRecord {
    /// Reads `columns`, the first of them at an index; `nil` without a record.
    fileprivate init?(_ columns: ColumnsInPlace, at index: Int) {
        guard let asked = columns.integer(at: index),
            let agreed = columns.integer(at: index + 4)
        else { return nil }
        func time(_ offset: Int) -> Timestamp? {
            columns.integer(at: index + offset).map(Timestamp.init(unixMilliseconds:))
        }
        self.init(
            check: RowCheck(
                signedDate: time(1), clock: time(2),
                isLasting: columns.integer(at: index + 3) == 1,
                values: ValuesDigest(bits: UInt64(bitPattern: agreed)),
                account: columns.integer(at: index + 5).map {
                    AccountDigest(bits: UInt64(bitPattern: $0))
                }),
            askedAt: Timestamp(unixMilliseconds: asked))
    }
}
