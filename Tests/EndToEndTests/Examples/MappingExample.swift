import Foundation

/// An example of `docs/mappings`, with its table, how the simulated company's rows stand in it, and
/// what it keeps of them.
struct MappingExample: Sendable {
    let name: String
    let table: String
    /// The column that no correction changes and no two rows share.
    let identity: String
    /// The column with Apple's original transaction id.
    let original: String
    /// Our columns that it keeps beside the key.
    let kept: Set<String>
    /// Those of them that are only read.
    var readOnly: Set<String> = []
    /// The company's columns that corrections may change.
    let written: Set<String>
    /// Apple's numbers of a status that read back as another one.
    var statuses: [String: String] = [:]
    var keepsSeconds = false
    var takesInserts = false
    /// Whether another transaction is another row, and the one that ends last counts.
    var hasRowsOfTransactions = false
    /// Whether every row is one of the only app.
    var isOfOneApp = true
    let rows: @Sendable (SeedRow) -> [[String: String?]]

    static let all = [statusText, bigintIDs, rowPerTransaction, jsonPayload]
    /// The table of MySQL has types that no other database has.
    static let allOfMySQL = all + [mysqlPurchases]

    private static let twoWords = ["3": "2", "4": "1", "5": "2"]

    private static let statusText = MappingExample(
        name: "status-text", table: "subscriptions", identity: "original_transaction_id",
        original: "original_transaction_id",
        kept: ["product_id", "status", "expires_date"],
        written: ["product_id", "status", "expires_at"]
    ) { row in
        let words = ["1": "active", "2": "expired", "3": "past_due", "4": "grace", "5": "refunded"]
        let isTrial = row["status"] == "1" && row.index.isMultiple(of: 2)
        let time = row["expires_date"].replacing("T", with: " ").replacing("Z", with: "+00:00")
        return [
            [
                "user_id": "\(row.customer)", "product_id": row["product_id"],
                "original_transaction_id": row["original_transaction_id"],
                "expires_at": time.isEmpty ? nil : time,
                "status": isTrial ? "trialing" : words[row["status"]] ?? "",
            ]
        ]
    }

    private static let bigintIDs = MappingExample(
        name: "bigint-ids", table: "apple_subscriptions", identity: "otid", original: "otid",
        kept: [
            "product_id", "status", "expires_date", "auto_renew_status", "latest_transaction_id",
        ],
        written: [
            "product", "apple_status", "expires", "auto_renew", "last_transaction", "lock_version",
        ],
        keepsSeconds: true, takesInserts: true
    ) { row in
        [
            [
                "account_id": "\(row.customer)", "otid": row["original_transaction_id"],
                "product": row.known("product_id"), "apple_status": row.known("status"),
                "expires": row.expires().map { "\($0 / 1000)" },
                "auto_renew": row.known("auto_renew_status"),
                "last_transaction": row.known("latest_transaction_id"), "source": "shop",
            ]
        ]
    }

    /// Two periods that are over stand before the current one.
    private static let rowPerTransaction = MappingExample(
        name: "row-per-transaction", table: "purchases", identity: "transaction_id",
        original: "original_id",
        kept: [
            "bundle_id", "environment", "product_id", "status", "expires_date",
            "latest_transaction_id",
        ],
        written: ["product", "expires_ms", "state"],
        statuses: twoWords, takesInserts: true, hasRowsOfTransactions: true, isOfOneApp: false
    ) { row in
        let isKnown = !row["status"].isEmpty
        return (isKnown ? [2, 1, 0] : [0]).map { before in
            [
                "user_id": "\(row.customer)", "app": row["bundle_id"],
                "store_environment": row["environment"] == "Sandbox" ? "test" : "prod",
                "original_id": row["original_transaction_id"],
                "transaction_id": before == 0 ? row.transactionID : "9\(before)\(row.index)",
                "product": row["product_id"],
                "expires_ms": row.expires(monthsBefore: before).map { "\($0)" },
                "state": isKnown ? ["1", "4"].contains(row["status"]) ? "active" : "expired" : "",
            ]
        }
    }

    private static let mysqlPurchases = MappingExample(
        name: "mysql-purchases", table: "ios_purchases", identity: "transaction_id",
        original: "original_transaction_id",
        kept: [
            "product_id", "status", "expires_date", "revocation_date", "latest_transaction_id",
            "web_order_line_item_id",
        ],
        written: ["product_id", "expires_at", "cancelled_at", "web_order_line_item_id", "status"],
        statuses: twoWords, keepsSeconds: true, takesInserts: true, hasRowsOfTransactions: true
    ) { row in
        let isKnown = !row["status"].isEmpty
        return (isKnown ? [2, 1, 0] : [0]).map { before in
            [
                "user_id": "\(row.customer)",
                "original_transaction_id": row["original_transaction_id"],
                "transaction_id": before == 0 ? row.transactionID : "9\(before)\(row.index)",
                "product_id": row["product_id"],
                "web_order_line_item_id": row.known("web_order_line_item_id"),
                "expires_at": row.expires(monthsBefore: before).map(Self.dateTime),
                "cancelled_at": SeedRow.date(row["revocation_date"]).map(Self.dateTime),
                "status": isKnown ? ["1", "4"].contains(row["status"]) ? "active" : "expired" : "",
            ]
        }
    }

    /// A time as MySQL writes it, without its fraction.
    private static func dateTime(_ milliseconds: Int) -> String {
        let date = Date(timeIntervalSince1970: Double(milliseconds / 1000))
        return String(date.formatted(.iso8601).dropLast()).replacing("T", with: " ")
    }

    private static let jsonPayload = MappingExample(
        name: "json-payload", table: "memberships", identity: "apple_id", original: "apple_id",
        kept: ["status", "expires_date", "product_id", "auto_renew_product_id"],
        readOnly: ["product_id", "auto_renew_product_id"],
        written: ["status", "paid_until"],
        statuses: twoWords
    ) { row in
        let isKnown = !row["status"].isEmpty
        let time = row["expires_date"].replacing("T", with: " ").replacing("Z", with: "")
        let number = String(row.customer)
        let digits = String(repeating: "0", count: 12 - number.count) + number
        let payload = """
            {"productId": "\(row["product_id"])", "renewal": {"autoRenewProductId": \
            "\(row["auto_renew_product_id"])", "x": 1.50}}
            """
        return [
            [
                "member": "00000000-0000-4000-8000-\(digits)",
                "apple_id": row["original_transaction_id"],
                "status": isKnown ? ["1", "4"].contains(row["status"]) ? "active" : "lapsed" : "",
                "paid_until": time.isEmpty ? nil : time, "last_payload": isKnown ? payload : nil,
            ]
        ]
    }
}

extension SeedRow {
    /// A value; `nil` for none.
    func known(_ column: String) -> String? { self[column].isEmpty ? nil : self[column] }
}

extension MappingExample {
    enum Dialect {
        case sqlite, postgresql, mysql
    }

    /// The lines of the example's file.
    private func lines() throws -> [Substring] {
        // …/Tests/EndToEndTests/Examples/MappingExample.swift
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        let file = root.appendingPathComponent("docs/mappings/\(name).yaml")
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
    }

    /// `store` of the settings.
    ///
    /// - Parameters:
    ///   - url: The company's database.
    ///   - books: Where the books are; their file or its copy is `trueup.sqlite`.
    /// - Returns: The lines.
    /// - Throws: When the example cannot be read.
    func store(url: String, books: String = "books: sqlite:trueup.sqlite") throws -> String {
        let mapping = try lines().filter { !$0.hasPrefix("#") }.map { "    \($0)\n" }.joined()
        return "store:\n  url: \(url)\n  \(books)\n  subscriptions:\n" + mapping
    }

    /// The table as the example's comment makes it, with columns that nothing is said of, and the
    /// rows in it.
    func sql(_ rows: [SeedRow], for dialect: Dialect) throws -> String {
        var made = try lines().filter { $0.hasPrefix("# ") }.map { $0.dropFirst(2) }
            .joined(separator: "\n")
        if dialect == .postgresql {
            made.replace("id INTEGER PRIMARY KEY", with: "id BIGSERIAL PRIMARY KEY")
        }
        let bytes = dialect == .postgresql ? "BYTEA DEFAULT '\\x00ff10'" : "BLOB DEFAULT x'00ff10'"
        made += """

            ALTER TABLE \(table) ADD COLUMN note TEXT DEFAULT 'ours  ';
            ALTER TABLE \(table) ADD COLUMN raw \(bytes);
            ALTER TABLE \(table) ADD COLUMN score REAL DEFAULT 0.1;
            ALTER TABLE \(table) ADD COLUMN seen_at TIMESTAMP;

            """
        if dialect == .mysql { made = Self.inMySQL(made) }
        for row in rows {
            for var values in self.rows(row) {
                values["seen_at"] = "2026-01-02 03:04:05.678\(row.index)"
                let names = values.keys.sorted()
                let literals = names.map { name in
                    (values[name] ?? nil).map { value in
                        // MariaDB takes no offset; its session is one of UTC.
                        "'\(dialect == .mysql ? value.replacing("+00:00", with: "") : value)'"
                    } ?? "NULL"
                }
                made +=
                    "INSERT INTO \(table) (\(names.joined(separator: ", "))) VALUES ("
                    + literals.joined(separator: ", ") + ");\n"
            }
        }
        return made
    }

    /// The table with MySQL's types.
    private static func inMySQL(_ made: String) -> String {
        let types = [
            ("id INTEGER PRIMARY KEY", "id BIGINT AUTO_INCREMENT PRIMARY KEY"),
            (" TEXT", " VARCHAR(255)"), (" JSONB", " JSON"), (" TIMESTAMPTZ", " POINT"),
            (" TIMESTAMP", " DATETIME(6)"), (" POINT", " TIMESTAMP(3) NULL"),
        ]
        let text = types.reduce(made) { $0.replacing($1.0, with: $1.1) }
        return "SET time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES';\n" + text
    }
}
