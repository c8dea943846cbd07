import Foundation
import GRDB
import SubscriptionStore
import Subscriptions
import TestSupport

/// A company's file with a table under its own names, beside the books.
struct CompanyFile {
    let path: String
    var mapping = CompanyFile.mapping

    static let mapping = TableMapping(
        table: CompanyTableName(name: "subs"),
        columns: [
            .originalTransactionID: .column("otid", .text),
            .bundleID: .constant("com.example.app"), .environment: .constant("Production"),
            .customerID: .column("user_id", .integer), .productID: .column("product", .text),
            .expiresDate: .column("expires_at", .timestamptz), .status: .column("state", .text),
        ],
        statusWords: StatusWords(
            numbers: ["active": 1, "trialing": 1, "ended": 2],
            written: [1: "active", 2: "ended", 3: "ended", 4: "active", 5: "ended"]))

    init(beside database: TemporaryDatabase, ids: [String] = ["1", "2", "3"]) throws {
        path = database.folder.appending(path: "company.sqlite").path
        try execute(
            """
            CREATE TABLE subs (
                id INTEGER PRIMARY KEY, user_id INTEGER, otid TEXT UNIQUE, product TEXT,
                expires_at TEXT, state TEXT, note TEXT DEFAULT 'untouched')
            """)
        for id in ids {
            try execute(
                """
                INSERT INTO subs (user_id, otid, product, expires_at, state)
                VALUES (\(id), '\(id)', 'gold', '2026-09-21 14:13:20+00:00', 'active')
                """)
        }
    }

    func execute(_ sql: String) throws {
        let service = try DatabaseQueue(path: path)
        try service.writeWithoutTransaction { try $0.execute(sql: sql) }
        try service.close()
    }

    func rows(_ sql: String) throws -> [[String]] {
        try DatabaseQueue(path: path).read { db in
            try Row.fetchAll(db, sql: sql).map { row in
                row.databaseValues.map { $0.isNull ? "NULL" : "\($0.storage.value ?? "")" }
            }
        }
    }

    func states() throws -> [String] {
        try rows("SELECT state FROM subs ORDER BY otid").map { $0[0] }
    }

    func link() throws -> CompanyLink {
        CompanyLink(
            try SQLiteCompanyDatabase(path: path, mapping: mapping), mapping: mapping)
    }

    func open(_ database: TemporaryDatabase) throws -> SQLiteStore {
        try SQLiteStore.open(at: database.path, access: .readWrite, company: link())
    }
}

extension RowOutcome {
    /// The same for a row that nothing is known of but what the company keeps.
    var ofCopy: RowOutcome {
        var copy = self
        for index in copy.corrections.indices {
            guard case .subscription(var changes) = copy.corrections[index].changes else {
                continue
            }
            changes[.signedDate]?.before = .null
            copy.corrections[index].changes = .subscription(changes)
        }
        return copy
    }
}
