import Foundation
import Testing

/// A row of the simulated company's table, which every example keeps in its own way.
struct SeedRow {
    /// By our columns; empty where nothing is known.
    let values: [String: String]
    /// Its place in the file.
    let index: Int
    /// Apple's id of the current period, which no other row has.
    let transactionID: String

    /// The rows of a file in the form of `import`.
    ///
    /// - Parameters:
    ///   - file: The path.
    ///   - isBare: Whether only what a list of purchases knows is kept: no state, no time.
    /// - Returns: The rows in the order of the file.
    /// - Throws: When there is no such file.
    static func all(of file: String, isBare: Bool) throws -> [SeedRow] {
        var lines = try String(contentsOfFile: file, encoding: .utf8).split(
            whereSeparator: \.isNewline)
        let header = lines.removeFirst().split(separator: ",").map(String.init)
        var taken: Set<String> = []
        return try lines.enumerated().map { index, line in
            let fields = line.split(separator: ",", omittingEmptySubsequences: false)
            try #require(fields.count == header.count)
            var values = Dictionary(uniqueKeysWithValues: zip(header, fields.map(String.init)))
            if isBare { values = values.filter { Self.known.contains($0.key) } }
            var id = values["latest_transaction_id"] ?? ""
            if id.isEmpty { id = "8\(values["original_transaction_id"] ?? "")" }
            if !taken.insert(id).inserted { id = "7\(id)" }
            return SeedRow(values: values, index: index, transactionID: id)
        }
    }

    private static let known: Set = [
        "original_transaction_id", "environment", "bundle_id", "customer_id",
        "latest_transaction_id",
    ]

    /// The rows as a file for `import`.
    static func file(of rows: [SeedRow]) -> String {
        let header = (rows.first?.values.keys.sorted() ?? [])
        let lines = rows.map { row in header.map { row[$0] }.joined(separator: ",") }
        return ([header.joined(separator: ",")] + lines).joined(separator: "\n") + "\n"
    }

    subscript(column: String) -> String { values[column] ?? "" }

    /// The number at the end of the customer's name; 0 for none.
    var customer: Int { Int(self["customer_id"].split(separator: "-").last ?? "") ?? 0 }

    /// The end of the current period, of which `months` lie behind it.
    func expires(monthsBefore months: Int = 0) -> Int? {
        guard let days = Self.date(self["expires_date"]) else { return nil }
        return days - months * 30 * 86_400_000
    }

    /// A time of the file in milliseconds.
    static func date(_ text: String) -> Int? {
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        guard let date = try? style.parse(text) else { return nil }
        return Int((date.timeIntervalSince1970 * 1000).rounded())
    }
}
