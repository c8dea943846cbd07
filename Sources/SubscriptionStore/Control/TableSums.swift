import GRDB
import Subscriptions

/// Adds up the company's tables for an app: each table once, in a transaction that only reads.
struct TableSums {
    let db: Database
    let app: AppIdentity

    private var key: StatementArguments { [app.bundleID, app.environment.rawValue] }

    /// What stands in both tables now.
    func count() throws -> ControlSums {
        var sums = ControlSums()
        let isOfApp = "x.bundle_id = ? AND x.environment = ?"
        let statuses = try Row.fetchOne(
            db,
            sql: """
                SELECT \(Self.groups(of: "x.status")) FROM subscriptions AS x WHERE \(isOfApp)
                """, arguments: key)
        sums.add(Self.statuses(statuses, at: 0))
        try addPrices(
            "transactions AS x WHERE \(isOfApp)", currency: "x.currency", price: "x.price",
            arguments: key, to: &sums)
        return sums
    }

    /// Both sides of the rows that the pass has judged.
    func judged(inPass passID: Int64) throws -> JudgedTotals {
        var totals = JudgedTotals(
            before: ControlSums(), apple: ControlSums(), after: ControlSums())
        let arguments: StatementArguments = [passID] + key
        let isJudged = """
            p.pass_id = ? AND p.bundle_id = ? AND p.environment = ? AND p.verdict IN (
                \(VerdictCode.match.rawValue), \(VerdictCode.discrepancy.rawValue))
                AND p.our_status IS NOT NULL
            """
        let standing = """
            LEFT JOIN subscriptions AS s ON s.bundle_id = p.bundle_id
                AND s.environment = p.environment
                AND s.original_transaction_id = p.original_transaction_id
            """
        let columns = ["p.our_status", "p.apple_status", "s.status"].map(Self.groups)
        let statuses = try Row.fetchOne(
            db,
            sql: """
                SELECT \(columns.joined(separator: ", "))
                FROM trueup_pass_rows AS p \(standing) WHERE \(isJudged)
                """, arguments: arguments)
        let width = ControlSums.statusGroups.count
        totals.before.add(Self.statuses(statuses, at: 0))
        totals.apple.add(Self.statuses(statuses, at: width))
        totals.after.add(Self.statuses(statuses, at: 2 * width))
        let isStated = "\(isJudged) AND p.apple_status IS NOT NULL"
        try addPrices(
            "trueup_pass_rows AS p WHERE \(isStated)", currency: "p.apple_currency",
            price: "p.apple_price", arguments: arguments, to: &totals.apple)
        try addPrices(
            """
            trueup_pass_rows AS p \(standing)
            LEFT JOIN transactions AS x ON x.bundle_id = s.bundle_id
                AND x.environment = s.environment AND x.transaction_id = s.latest_transaction_id
            WHERE \(isStated)
            """, currency: "x.currency", price: "x.price", arguments: arguments,
            to: &totals.after)
        return totals
    }

    /// How many rows stand in each group: sums, for which nothing must be sorted.
    private static func groups(of column: String) -> String {
        ControlSums.statusGroups.map { group in
            group == 0
                ? "ifnull(sum(\(column) IS NULL OR \(column) NOT IN (1, 2, 3, 4, 5)), 0)"
                : "ifnull(sum(\(column) IS \(group)), 0)"
        }.joined(separator: ", ")
    }

    private static func statuses(_ row: Row?, at first: Int) -> [Int: Int] {
        var statuses: [Int: Int] = [:]
        for (index, group) in ControlSums.statusGroups.enumerated() {
            let rows = row?.number(at: first + index) ?? 0
            if rows > 0 { statuses[group] = rows }
        }
        return statuses
    }

    /// In two halves of 32 bits: a sum that overflows would end the run with an error of SQLite's.
    private func addPrices(
        _ source: String, currency: String, price: String, arguments: StatementArguments,
        to sums: inout ControlSums
    ) throws {
        let code = "CASE WHEN \(currency) GLOB '[A-Z][A-Z][A-Z]' THEN \(currency) ELSE '' END"
        let whole = "CASE WHEN typeof(\(price)) = 'integer' THEN \(price) ELSE 0 END"
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT \(code) AS code, count(*), sum((\(whole)) >> 32), sum((\(whole)) & 4294967295)
                FROM \(source) GROUP BY code
                """, arguments: arguments)
        while let row = try rows.next() {
            let (high, overflows) = (row.integer(at: 2) ?? 0)
                .multipliedReportingOverflow(by: 1 << 32)
            let (sum, overflow) = high.addingReportingOverflow(row.integer(at: 3) ?? 0)
            let isNegative = (row.integer(at: 2) ?? 0) < 0
            sums.add(
                periods: row.number(at: 1) ?? 0,
                amount: overflows || overflow ? (isNegative ? .min : .max) : sum,
                in: row.requiredText(at: 0))
        }
    }
}

extension ControlSums {
    fileprivate mutating func add(_ counted: [Int: Int]) {
        for (group, rows) in counted { add(rows: rows, ofStatus: group) }
    }
}
