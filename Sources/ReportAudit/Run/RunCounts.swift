import JSONWebSignature

/// The counts from the line files of a run, to be compared with its summary.
struct RunCounts {
    var findings = 0
    /// By kind, then by severity.
    var severities: [String: [String: Int]] = [:]
    /// By kind, then by state.
    var states: [String: [String: Int]] = [:]
    /// By direction and currency; `nil` after an overflow.
    private(set) var money: [String: (amount: Int64, findings: Int)]? = [:]
    private var prices = PeriodPrices()
    var corrections = 0
    var undecided: [String: Int] = [:]
    /// Rows that the plan only fills in, including their periods, without correcting a finding.
    var filled: Int { filledBefore + (fill?.isFillOnly == true ? 1 : 0) }
    private var filledBefore = 0
    /// The current row, and whether it is only filled in; the corrections of a row are adjacent.
    private var fill: (row: [String?], isFillOnly: Bool)?
    /// The planned corrections by fate.
    var fates: [String: Int] = [:]
    var planned = 0
    /// What the run's own corrections change of the control totals.
    var corrected = CorrectedTotals()
    /// Events of `business.jsonl` by day, app, environment and kind.
    var business: [[String]: Int64] = [:]
    /// The identity that `plan.json` states; `nil` when it states none.
    var plan: String?

    mutating func take(finding: JSONRecord) {
        findings += 1
        let kind = finding.text("kind") ?? "?"
        severities[kind, default: [:]][finding.text("severity") ?? "?", default: 0] += 1
        states[kind, default: [:]][finding.text("state") ?? "?", default: 0] += 1
        for price in prices.take(finding) { add(price.amount, to: price.name) }
    }

    mutating func take(planned item: JSONRecord) {
        planned += 1
        let fate = item.text("fate") ?? "?"
        fates[fate, default: 0] += 1
        if ["planned", "applied"].contains(fate), item.text("action") == "update",
            !item.states("undo_of")
        {
            take(
                update: ["app", "environment", "original_transaction_id"].map { item.text($0) },
                fills: item["kinds"]?.elements.isEmpty ?? false)
        }
    }

    private mutating func take(update row: [String?], fills: Bool) {
        if let known = fill, known.row == row {
            fill = (row, known.isFillOnly && fills)
        } else {
            filledBefore = filled
            fill = (row, fills)
        }
    }

    /// Adds the prices of the last subscription at the end of the file.
    mutating func finishFindings() {
        for price in prices.finish() { add(price.amount, to: price.name) }
    }

    private mutating func add(_ amount: Int64, to name: String) {
        let known = money?[name] ?? (0, 0)
        let (sum, overflow) = known.amount.addingReportingOverflow(amount)
        if overflow { money = nil } else { money?[name] = (sum, known.findings + 1) }
    }
}

/// The list prices of one subscription's findings, each period once per direction.
///
/// Written from docs/report-files.md (a period's price counts once per direction in the totals, in
/// its most severe finding). The findings of one subscription are adjacent in the file.
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

    /// Adds a finding's amount; returns the amounts that are now final, by direction and currency.
    mutating func take(_ finding: JSONRecord) -> [(name: String, amount: Int64)] {
        let concerned = [finding.text("app"), finding.text("original_transaction_id")]
        let done = concerned == subscription ? [] : finish()
        subscription = concerned
        guard let amount = finding.integer("amount"), let currency = finding.text("currency"),
            let direction = finding.text("direction")
        else { return done }
        // A difference of price is not a period's price; a finding without a period counts
        // separately.
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

    /// The amounts of the last subscription.
    mutating func finish() -> [(name: String, amount: Int64)] {
        defer { periods = [:] }
        return periods.map { ($0.key.direction + " " + $0.key.currency, $0.value.amount) }
    }
}
