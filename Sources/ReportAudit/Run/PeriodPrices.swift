/// The list prices of one subscription's findings, each period once for each direction.
///
/// Written from docs/report-files.md (a period's price counts once per direction in the totals,
/// in its most severe finding). The findings of one subscription stand together in the file.
struct PeriodPrices {
    private struct Period: Hashable {
        let environment: String?
        let transactionID: String
        let direction: String
        let currency: String
    }

    private struct Price {
        var rank: Int
        var amount: Int64
    }

    private static let severities = ["info", "low", "medium", "high", "critical"]

    private var subscription: [String?] = []
    private var periods: [Period: Price] = [:]

    /// Takes a finding's amount; returns what counts by now for good, by direction and currency.
    mutating func take(_ finding: JSONRecord) -> [(name: String, amount: Int64)] {
        let concerned = [finding.text("app"), finding.text("original_transaction_id")]
        let done = concerned == subscription ? [] : finish()
        subscription = concerned
        guard let amount = finding.integer("amount"), let currency = finding.text("currency"),
            let direction = finding.text("direction")
        else { return done }
        // A difference of price is no period's price, and what names no period counts for itself.
        guard finding.text("kind") != "price", concerned[1] != nil,
            let transactionID = finding.text("transaction_id")
        else { return done + [(direction + " " + currency, amount)] }
        let period = Period(
            environment: finding.text("environment"), transactionID: transactionID,
            direction: direction, currency: currency)
        let rank = Self.severities.firstIndex(of: finding.text("severity") ?? "") ?? -1
        // Sorted by kind and field: of equally severe ones the first counts.
        if periods[period].map({ rank > $0.rank }) ?? true {
            periods[period] = Price(rank: rank, amount: amount)
        }
        return done
    }

    /// What counts of the last subscription.
    mutating func finish() -> [(name: String, amount: Int64)] {
        defer { periods = [:] }
        return periods.map { ($0.key.direction + " " + $0.key.currency, $0.value.amount) }
    }
}
