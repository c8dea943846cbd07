import JSONWebSignature

/// Numbers of a count by status or by currency: `rows 1`, `periods EUR`, `amount EUR`.
///
/// Only what is not zero is in it, so that equal counts are equal.
typealias ControlNumbers = [String: Int64]

/// The counts of each app at the end of a run, by bundle id and environment.
typealias CountedApps = [[String]: ControlNumbers]

/// Checks the control totals of a summary.
///
/// Whether each count comes to the next, and whether they are what the other files say. Reports of
/// older versions, and of runs that counted nothing, have none.
struct ControlCheck {
    static let name = "control_totals"

    /// The changes of the run's own lines of `corrections.jsonl`, by app.
    let corrected: CorrectedTotals
    /// The counts at the end of the runs before, by run id.
    let earlier: [String: CountedApps]
    let report: (_ text: String) -> Void

    /// Checks a summary.
    ///
    /// - Parameter summary: The whole file.
    /// - Returns: What was counted at the end, by app, for the runs behind this one.
    func check(_ summary: JSONRecord) -> CountedApps {
        guard summary.states(Self.name) else { return [:] }
        var ended: CountedApps = [:]
        var judged: Int64 = 0
        for element in summary[Self.name]?.elements ?? [] {
            guard let app = JSONRecord(element), let bundle = app.text("app"),
                let environment = app.text("environment")
            else {
                report("its \(Self.name) are not of an app")
                continue
            }
            let key = [bundle, environment]
            let known = ended[key]
            guard known == nil, let after = Self.numbers(app.record("after")) else {
                report("its \(Self.name) name \(Self.words(key)) twice, or without an end")
                continue
            }
            ended[key] = after
            check(app, key)
            judged = judged.addingReportingOverflow(checkJudged(app, key)).partialValue
        }
        let totals = summary.record("totals")
        let both = (totals?.integer("matched") ?? 0).addingReportingOverflow(
            totals?.integer("discrepant") ?? 0)
        if judged > both.partialValue {
            report(
                "its \(Self.name) count \(judged) checked rows, but only \(both.partialValue) match "
                    + "or differ")
        }
        return ended
    }

    private func check(_ app: JSONRecord, _ key: [String]) {
        let names = ["uncounted_corrections", "before", "corrections", "others_meanwhile", "after"]
        let counts = names.compactMap { Self.numbers(app.record($0)) }
        guard counts.count == names.count else {
            report("its \(Self.name) of \(Self.words(key)) lack one of \(names)")
            return
        }
        let (uncounted, before, corrections) = (counts[0], counts[1], counts[2])
        let (meanwhile, after) = (counts[3], counts[4])
        if ![before, after].allSatisfy({ !$0.contains(where: Self.isBelowNothing) }) {
            report("its \(Self.name) of \(Self.words(key)) have a negative count")
        }
        if !Self.isSum([before, corrections, meanwhile], after) {
            report(
                "its \(Self.name) of \(Self.words(key)) do not add up: before, corrections and "
                    + "others_meanwhile are not after")
        }
        if app.states("previous") || app.states("others_since") {
            let (previous, since) = (
                Self.numbers(app.record("previous")), Self.numbers(app.record("others_since"))
            )
            if let previous, let since, Self.isSum([previous, uncounted, since], before) {
                checkPrevious(app, key, previous)
            } else {
                report(
                    "its \(Self.name) of \(Self.words(key)) do not add up: previous, "
                        + "uncounted_corrections and others_since are not before")
            }
        }
        let lines = corrected.numbers[key] ?? [:]
        let isKnown = { (name: String) in
            guard !name.hasPrefix("rows ") else { return true }
            return !corrected.leavesPricesOpen && !corrected.meetsTheEnd
                && Self.isExact(corrections[name] ?? 0)
        }
        if lines.filter({ isKnown($0.key) && $0.value != 0 })
            != corrections.filter({ isKnown($0.key) })
        {
            report(
                "its \(Self.name) of \(Self.words(key)) have other corrections than "
                    + CorrectionCheck.name)
        }
    }

    /// The run that counted before it, if its report is at hand, counted the same at its end.
    private func checkPrevious(_ app: JSONRecord, _ key: [String], _ previous: ControlNumbers) {
        // Apps that are counted as one may have been counted each by itself before.
        guard key != ["", ""], let runID = app.text("previous_run_id"),
            let counted = earlier[runID]?[key]
        else { return }
        if counted != previous {
            report(
                "its \(Self.name) of \(Self.words(key)) begin with other numbers than run \(runID) "
                    + "ended with")
        }
    }

    /// Each checked row stands once on each side; how many there are.
    private func checkJudged(_ app: JSONRecord, _ key: [String]) -> Int64 {
        let judged = app.record("judged")
        let rows = ["ours_before", "apple", "ours_after"].map { side in
            Self.numbers(judged?.record(side))?.reduce(Int64(0)) { sum, number in
                guard number.key.hasPrefix("rows ") else { return sum }
                return sum.addingReportingOverflow(number.value).partialValue
            }
        }
        guard let first = rows[0], rows.allSatisfy({ $0 == first }), first >= 0 else {
            report(
                "its \(Self.name) of \(Self.words(key)) count different numbers of checked rows "
                    + "on the two sides")
            return 0
        }
        return first
    }

    private static func words(_ app: [String]) -> String {
        app == ["", ""] ? "the apps that are not configured" : "\(app[0]) (\(app[1]))"
    }

    /// An amount may be below zero, a number of rows or periods not.
    private static func isBelowNothing(_ number: ControlNumbers.Element) -> Bool {
        number.value < 0 && !number.key.hasPrefix("amount ")
    }

    /// The numbers of a count; `nil` for what is none.
    private static func numbers(_ record: JSONRecord?) -> ControlNumbers? {
        guard let record, let rows = record.record("rows"), let prices = record.record("prices")
        else { return nil }
        var numbers: ControlNumbers = [:]
        for status in rows.names {
            guard let count = rows.integer(status) else { return nil }
            numbers["rows " + status] = count
        }
        for currency in prices.names {
            guard let price = prices.record(currency), let amount = price.integer("amount"),
                let periods = price.integer("periods")
            else { return nil }
            numbers["amount " + currency] = amount
            numbers["periods " + currency] = periods
        }
        return numbers.filter { $0.value != 0 }
    }

    /// Whether several counts come to another; an amount at the end of what 64 bits hold is not
    /// checked.
    private static func isSum(_ parts: [ControlNumbers], _ whole: ControlNumbers) -> Bool {
        let names = parts.reduce(into: Set(whole.keys)) { $0.formUnion($1.keys) }
        return names.allSatisfy { name in
            let values = parts.map { $0[name] ?? 0 }
            let expected = whole[name] ?? 0
            guard (values + [expected]).allSatisfy(isExact) else { return true }
            return values.reduce(Int64(0), &+) == expected
        }
    }

    /// Whether neither this number nor a sum of a few such can have met the end of what 64 bits
    /// hold, where the run that added up stops.
    fileprivate static func isExact(_ number: Int64) -> Bool {
        (-(Int64(1) << 60)...(Int64(1) << 60)).contains(number)
    }
}

/// The changes of the control totals by the corrections of a run, from the lines of
/// `corrections.jsonl`.
struct CorrectedTotals {
    private(set) var numbers: CountedApps = [:]
    /// Whether a period's price or currency was changed and the other left: that one is in the row.
    private(set) var leavesPricesOpen = false
    /// Whether a sum came near the end of what 64 bits hold, where the order of adding up counts.
    private(set) var meetsTheEnd = false

    /// Adds a line that the run itself wrote.
    mutating func take(_ entry: JSONRecord) {
        let app = [entry.text("app") ?? "", entry.text("environment") ?? ""]
        let (before, after) = (entry.record("before"), entry.record("after"))
        let action = entry.text("action") ?? entry.unstatedAction
        if entry.text("table") == "subscriptions" {
            guard action != "update" || (after?.names.contains("status") ?? false) else { return }
            if action != "insert" { add(-1, "rows " + Self.group(status: before), to: app) }
            if action != "delete" { add(1, "rows " + Self.group(status: after), to: app) }
            return
        }
        // The totals are of subscriptions and their periods.
        guard entry.text("table") != "purchases" else { return }
        let changed = after?.names ?? []
        if action == "update" {
            guard changed.contains("price") || changed.contains("currency") else { return }
            guard changed.contains("price"), changed.contains("currency") else {
                leavesPricesOpen = true
                return
            }
        }
        for (side, sign, isMeant) in [
            (before, Int64(-1), action != "insert"), (after, 1, action != "delete"),
        ] where isMeant {
            let currency = Self.group(currency: side?.text("currency"))
            add(sign, "periods " + currency, to: app)
            let amount = side?.integer("price") ?? 0
            add(
                amount.multipliedReportingOverflow(by: sign).partialValue, "amount " + currency,
                to: app)
        }
    }

    private mutating func add(_ number: Int64, _ name: String, to app: [String]) {
        let known = numbers[app]?[name] ?? 0
        let (sum, overflow) = known.addingReportingOverflow(number)
        if overflow || ![number, sum].allSatisfy(ControlCheck.isExact) { meetsTheEnd = true }
        numbers[app, default: [:]][name] = sum
    }

    private static func group(status side: JSONRecord?) -> String {
        guard let status = side?.integer("status"), (1...5).contains(status) else { return "none" }
        return String(status)
    }

    private static func group(currency: String?) -> String {
        guard let currency, currency.utf8.count == 3,
            currency.utf8.allSatisfy({ (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) })
        else { return "none" }
        return currency
    }
}
