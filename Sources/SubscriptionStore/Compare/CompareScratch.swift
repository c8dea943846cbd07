import Foundation
import GRDB
package import Subscriptions

/// The working file of a comparison: the lines of the third party, Apple's answers about them, then
/// what differs.
///
/// It keeps memory flat, however many lines there are. It belongs to one command, lies in the
/// unfinished report folder and is deleted before the report is sealed.
package final class CompareScratch: Sendable {
    let connection: DatabaseQueue
    private let path: String

    /// Makes the file.
    package init(at path: String) throws(StoreError) {
        self.path = path
        connection = try StoreError.translating("making the working file of the comparison") {
            let connection = try DatabaseFile(path: path).connectToFill()
            try connection.write { db in
                try db.execute(
                    sql: """
                        CREATE TABLE compare_differences (
                            kind TEXT NOT NULL, bundle_id TEXT, environment TEXT,
                            original_transaction_id TEXT, transaction_id TEXT, customer_id TEXT,
                            field TEXT, theirs, theirs_is_time INTEGER NOT NULL, apple,
                            apple_is_time INTEGER NOT NULL, direction TEXT NOT NULL, evidence TEXT);
                        """ + Self.answerTables)
            }
            return connection
        }
    }

    /// Closes and deletes the file.
    package func remove() {
        try? connection.close()
        for suffix in ["", "-journal", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: path + suffix)
        }
    }

    func writing<Value>(_ doing: String, _ body: (Database) throws -> Value) throws -> Value {
        try StoreError.naming(doing) { try connection.write(body) }
    }

    /// Hands over the differences in the order in which they were found: by original transaction id.
    package func forEachDifference(_ body: (CompareDifference) throws -> Void) throws {
        try writing("reading what differs") { db in
            try db.forEachRow("SELECT * FROM compare_differences ORDER BY rowid") { row in
                try body(Self.difference(row))
            }
        }
    }

    /// How many differences there are of each kind and direction, in the order of the kinds.
    package func counts() throws -> [CompareCount] {
        let counts = try writing("counting what differs") { db in
            try db.rows(
                """
                SELECT kind, direction, count(*),
                    count(DISTINCT ifnull(customer_id, original_transaction_id)),
                    count(DISTINCT original_transaction_id || ' ' || transaction_id)
                FROM compare_differences GROUP BY kind, direction
                """
            ).compactMap { row -> CompareCount? in
                guard let kind = CompareKind(rawValue: row.requiredText(at: 0)),
                    let direction = Direction(rawValue: row.requiredText(at: 1))
                else { return nil }
                var count = CompareCount(
                    kind: kind, direction: direction, differences: row.number(at: 2) ?? 0,
                    customers: row.number(at: 3) ?? 0)
                count.lines = row.number(at: 4) ?? count.differences
                return count
            }
        }
        return CompareKind.allCases.flatMap { kind in
            Direction.allCases.flatMap { direction in
                counts.filter { $0.kind == kind && $0.direction == direction }
            }
        }
    }

    private static func difference(_ row: Row) -> CompareDifference {
        var columns = RowColumns(row)
        let kind = CompareKind(rawValue: columns.requiredText())
        var difference = CompareDifference(kind: kind ?? .revenueCatUnknown)
        difference.bundleID = columns.text()
        difference.environment = columns.text()
        difference.originalTransactionID = columns.text()
        difference.transactionID = columns.text()
        difference.customerID = columns.text()
        difference.field = columns.text()
        difference.theirs = value(row, at: 7)
        difference.apple = value(row, at: 9)
        difference.direction = row.text(at: 11).flatMap(Direction.init(rawValue:)) ?? .neutral
        difference.evidence = row.text(at: 12).map(EvidenceDigest.init(hexadecimal:))
        return difference
    }

    private static func value(_ row: Row, at index: Int) -> FieldValue {
        if row.integer(at: index + 1) == 1 {
            return row.time(at: index).map(FieldValue.time) ?? .null
        }
        if let number = row.integer(at: index) { return .integer(number) }
        return row.text(at: index).map(FieldValue.text) ?? .null
    }
}

/// Adds differences to the working file.
struct DifferenceWriter {
    private let insert: Statement
    private var binding: LineBinding

    init(_ db: Database) throws {
        let marks = Array(repeating: "?", count: 13).joined(separator: ", ")
        insert = try db.cachedStatement(sql: "INSERT INTO compare_differences VALUES (\(marks))")
        binding = LineBinding(insert)
    }

    mutating func add(_ difference: CompareDifference) throws {
        binding.restart()
        try binding.bind(.text(difference.kind.rawValue))
        for text in [
            difference.bundleID, difference.environment, difference.originalTransactionID,
            difference.transactionID, difference.customerID, difference.field,
        ] {
            try binding.bind(text.map(FieldValue.text) ?? .null)
        }
        for value in [difference.theirs, difference.apple] {
            try binding.bind(value)
            try binding.bind(Self.isTime(value) ? 1 : 0)
        }
        try binding.bind(.text(difference.direction.rawValue))
        try binding.bind(difference.evidence.map { .text($0.hexadecimal) } ?? .null)
        try insert.execute()
    }

    private static func isTime(_ value: FieldValue) -> Bool {
        if case .time = value { true } else { false }
    }
}
