import Foundation
import Subscriptions

/// Rows of the table `subscriptions`, each value as text; times are UNIX milliseconds.
struct TableRows {
    static let columns = [
        "original_transaction_id", "environment", "bundle_id", "customer_id", "app_account_token",
        "product_id", "status", "expires_date", "grace_period_expires_date", "auto_renew_status",
        "auto_renew_product_id", "revocation_date", "in_app_ownership_type",
        "latest_transaction_id", "web_order_line_item_id", "signed_date",
    ]
    /// What Apple states; the other columns are the company's own.
    static let compared = [
        "product_id", "status", "expires_date", "grace_period_expires_date", "auto_renew_status",
        "auto_renew_product_id", "revocation_date", "in_app_ownership_type",
        "latest_transaction_id", "web_order_line_item_id",
    ].compactMap { columns.firstIndex(of: $0) }
    private static let times = Set(columns.indices.filter { columns[$0].hasSuffix("_date") })

    /// By original transaction id; the values in the order of `columns`.
    var rows: [String: [String]] = [:]

    init(rows: [String: [String]] = [:]) { self.rows = rows }

    /// Reads CSV as the simulator writes it: no value needs quotes.
    init(csv: Data) throws {
        var lines = String(decoding: csv, as: UTF8.self).split(whereSeparator: \.isNewline)[...]
        guard let header = lines.popFirst() else { throw UnreadableTable(line: "") }
        let names = header.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        let places = Self.columns.compactMap { names.firstIndex(of: $0) }
        guard places.count == Self.columns.count else {
            throw UnreadableTable(line: String(header))
        }
        rows.reserveCapacity(lines.count)
        for line in lines {
            let values = line.split(separator: ",", omittingEmptySubsequences: false)
            guard values.count == names.count else { throw UnreadableTable(line: String(line)) }
            let row = places.enumerated().map { column, place in
                Self.times.contains(column)
                    ? Timestamp(rfc3339: values[place]).map { String($0.unixMilliseconds) } ?? ""
                    : String(values[place])
            }
            rows[row[0]] = row
        }
    }

    /// A value of a row; empty where there is none.
    func value(_ column: String, of id: String) -> String {
        guard let row = rows[id], let place = Self.columns.firstIndex(of: column) else { return "" }
        return row[place]
    }

    /// The ids of rows that differ in what Apple states, those missing on one side included.
    func differing(from other: TableRows) -> Set<String> {
        var found = Set(other.rows.keys).subtracting(rows.keys)
        for (id, row) in rows {
            guard let theirs = other.rows[id] else {
                found.insert(id)
                continue
            }
            if Self.compared.contains(where: { row[$0] != theirs[$0] }) { found.insert(id) }
        }
        return found
    }
}

/// A line of a table that is not as expected.
struct UnreadableTable: Error {
    let line: String
}
