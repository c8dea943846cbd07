import GRDB
import Subscriptions

/// Adds up the company's tables by app: each table read once, in its own order, in a transaction that
/// only reads.
///
/// SQLite would sort all periods to group them by currency, which costs several times what reading does.
struct TableSums {
    let db: Database
    let groups: ControlGroups

    /// What stands in both tables now.
    func count() throws -> GroupedSums {
        var sums = GroupedSums(groups)
        try read("SELECT x.bundle_id, x.environment, x.status FROM subscriptions AS x") { row in
            sums.add(status: row.integer(at: 2), of: row)
        }
        try read(
            "SELECT x.bundle_id, x.environment, x.currency, x.price FROM transactions AS x"
        ) { row in
            sums.add(price: Self.price(row, currency: 2, price: 3), of: row)
        }
        return sums
    }

    /// Both sides of the rows that the pass has judged.
    func judged(inPass passID: Int64) throws -> [[String]: JudgedTotals] {
        var before = GroupedSums(groups)
        var apple = GroupedSums(groups)
        var after = GroupedSums(groups)
        try read(
            """
            SELECT p.bundle_id, p.environment, p.our_status, p.apple_status, s.status,
                p.apple_currency, p.apple_price, x.currency, x.price
            FROM trueup_pass_rows AS p
            LEFT JOIN subscriptions AS s ON s.bundle_id = p.bundle_id
                AND s.environment = p.environment
                AND s.original_transaction_id = p.original_transaction_id
            LEFT JOIN transactions AS x ON x.bundle_id = s.bundle_id
                AND x.environment = s.environment AND x.transaction_id = s.latest_transaction_id
            WHERE p.pass_id = ? AND p.verdict IN (
                \(VerdictCode.match.rawValue), \(VerdictCode.discrepancy.rawValue))
                AND p.our_status IS NOT NULL
            """, [passID]
        ) { row in
            before.add(status: row.integer(at: 2), of: row)
            apple.add(status: row.integer(at: 3), of: row)
            after.add(status: row.integer(at: 4), of: row)
            guard row.kind(at: 3) != .null else { return }
            apple.add(price: Self.price(row, currency: 5, price: 6), of: row)
            after.add(price: Self.price(row, currency: 7, price: 8), of: row)
        }
        let (ours, stated, standing) = (before.sums, apple.sums, after.sums)
        return ours.reduce(into: [:]) { totals, app in
            totals[app.key] = JudgedTotals(
                before: app.value, apple: stated[app.key] ?? ControlSums(),
                after: standing[app.key] ?? ControlSums())
        }
    }

    private func read(
        _ sql: String, _ arguments: StatementArguments = [],
        _ body: (ColumnsInPlace) throws -> Void
    ) throws {
        let statement = try db.cachedStatement(sql: sql)
        let cursor = try Row.fetchCursor(statement, arguments: arguments)
        let columns = ColumnsInPlace(of: statement)
        while try cursor.next() != nil { try body(columns) }
    }

    private static func price(
        _ row: ColumnsInPlace, currency: Int, price: Int
    ) -> (currency: CurrencyCode, amount: Int64) {
        let code =
            row.kind(at: currency) == .text
            ? row.withText(at: currency) { CurrencyCode($0) } : CurrencyCode.none
        return (code, row.kind(at: price) == .integer ? row.integer(at: price) ?? 0 : 0)
    }
}

/// Three capital letters in one number, or none.
struct CurrencyCode: Hashable {
    private let letters: UInt32

    static let none = CurrencyCode(letters: 0)

    private init(letters: UInt32) { self.letters = letters }

    init(_ bytes: Span<UInt8>) {
        var letters: UInt32 = 0
        for index in bytes.indices {
            let isLetter = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(bytes[index])
            guard isLetter, bytes.count == 3 else {
                self = .none
                return
            }
            letters = letters << 8 | UInt32(bytes[index])
        }
        self.letters = letters
    }

    /// Empty for none.
    var text: String {
        guard letters != 0 else { return "" }
        let bytes = [letters >> 16, letters >> 8, letters].map { UInt8(truncatingIfNeeded: $0) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
