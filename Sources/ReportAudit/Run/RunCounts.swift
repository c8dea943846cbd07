/// What was counted in the line files of a run, to be held against its summary.
struct RunCounts {
    var findings = 0
    /// By kind, then by severity.
    var severities: [String: [String: Int]] = [:]
    /// By kind, then by state.
    var states: [String: [String: Int]] = [:]
    /// By direction and currency; `nil` once a sum went over.
    var money: [String: (amount: Int64, findings: Int)]? = [:]
    var corrections = 0
    var undecided: [String: Int] = [:]
    /// By how the planned corrections ended.
    var fates: [String: Int] = [:]

    mutating func take(finding: JSONRecord) {
        findings += 1
        let kind = finding.text("kind") ?? "?"
        severities[kind, default: [:]][finding.text("severity") ?? "?", default: 0] += 1
        states[kind, default: [:]][finding.text("state") ?? "?", default: 0] += 1
        guard let amount = finding.integer("amount"), let currency = finding.text("currency"),
            let direction = finding.text("direction")
        else { return }
        let name = direction + " " + currency
        let known = money?[name] ?? (0, 0)
        let (sum, overflow) = known.amount.addingReportingOverflow(amount)
        if overflow { money = nil } else { money?[name] = (sum, known.findings + 1) }
    }
}
