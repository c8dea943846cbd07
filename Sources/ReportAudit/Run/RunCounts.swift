import JSONWebSignature

/// What was counted in the line files of a run, to be held against its summary.
struct RunCounts {
    var findings = 0
    /// By kind, then by severity.
    var severities: [String: [String: Int]] = [:]
    /// By kind, then by state.
    var states: [String: [String: Int]] = [:]
    /// By direction and currency; `nil` once a sum went over.
    private(set) var money: [String: (amount: Int64, findings: Int)]? = [:]
    private var prices = PeriodPrices()
    var corrections = 0
    var undecided: [String: Int] = [:]
    /// Rows that the plan only fills in, their periods included, mending nothing that has a name.
    var filled: Int { filledBefore + (fill?.isFillOnly == true ? 1 : 0) }
    private var filledBefore = 0
    /// What the plan does to the row at hand: the corrections of a row stand one after the other.
    private var fill: (row: [String?], isFillOnly: Bool)?
    /// By how the planned corrections ended.
    var fates: [String: Int] = [:]
    var planned = 0
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

    /// Counts what only the end of the file settles.
    mutating func finishFindings() {
        for price in prices.finish() { add(price.amount, to: price.name) }
    }

    private mutating func add(_ amount: Int64, to name: String) {
        let known = money?[name] ?? (0, 0)
        let (sum, overflow) = known.amount.addingReportingOverflow(amount)
        if overflow { money = nil } else { money?[name] = (sum, known.findings + 1) }
    }
}
