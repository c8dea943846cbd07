import JSONWebSignature

/// Compares `summary.json` with the manifest and with the counts of the other files.
struct SummaryCheck {
    static let name = "summary.json"
    private static let limitBytes = 1 << 26
    /// The members that both files have.
    private static let shared = [
        "ended", "job", "ledger_head", "mode", "outcome", "run_id", "scope", "settings_digest",
        "started", "tool_version", "totals",
    ]

    let manifest: ManifestRecord
    let counts: RunCounts
    /// The control totals of the runs before at their ends, by run id.
    let earlier: [String: CountedApps]
    let report: (_ file: String, _ text: String) -> Void

    /// Reads the summary in a folder; `nil` where it is not a JSON object.
    static func summary(in folder: String) throws(UnreadableFile) -> JSONRecord? {
        JSONRecord(try PlainFile.contents(of: folder + "/" + name, limit: limitBytes))
    }

    /// Checks the summary in a folder.
    ///
    /// - Parameter folder: The run's.
    /// - Returns: What the run counted at its end, by app.
    func check(folder: String) -> CountedApps {
        let read: JSONRecord?
        do throws(UnreadableFile) {
            read = try Self.summary(in: folder)
        } catch {
            // `FileCheck` reports that it is missing.
            return [:]
        }
        guard let summary = read else {
            report(Self.name, "it is not a JSON object")
            return [:]
        }
        for name in Self.shared where !JSONValue.areSame(summary[name], manifest.record[name]) {
            report(Self.name, "its \(name) is another than manifest.json's")
        }
        checkTotals(summary)
        checkPurchases(summary)
        checkFindings(summary)
        checkCorrections(summary)
        checkMoney(summary)
        checkPlan(summary)
        if manifest.files[BusinessCheck.name] != nil,
            !(summary.record("business").map(counts.agreeWith(business:)) ?? false)
        {
            report(Self.name, "its business is not what \(BusinessCheck.name) has of that day")
        }
        return ControlCheck(corrected: counts.corrected, earlier: earlier) {
            report(Self.name, $0)
        }.check(summary)
    }

    /// The plan that the summary names is the one in `plan.json`.
    private func checkPlan(_ summary: JSONRecord) {
        let stated = summary.record("plan")
        let digest = stated?.text("sha256")
        guard digest != nil || counts.plan != nil else { return }
        if counts.plan?.isSame(as: digest) != true {
            report(Self.name, "its plan is another than plan.json's")
        } else {
            compare("plan.changes", stated?.integer("changes"), counts.planned, in: PlanCheck.name)
        }
    }

    private func compare(_ what: String, _ stated: Int64?, _ counted: Int, in file: String) {
        guard stated != Int64(counted) else { return }
        report(
            Self.name,
            "its \(what) is \(stated.map(String.init) ?? "missing"), \(file) has \(counted)")
    }

    /// Checks that in_scope = matched + discrepant + undecided + excluded.
    private func checkTotals(_ summary: JSONRecord) {
        let totals = summary.record("totals")
        let parts = ["matched", "discrepant", "undecided", "excluded"]
            .map { totals?.integer($0) ?? -1 }
        let sum = parts.reduce(0) { $0 &+ $1 }
        if parts.contains(where: { $0 < 0 }) || totals?.integer("in_scope") != sum {
            report(
                Self.name,
                "its totals do not add up: in_scope is "
                    + "\(totals?.integer("in_scope").map(String.init) ?? "missing"), the parts are "
                    + "\(sum)")
        }
        compare(
            "totals.undecided", totals?.integer("undecided"),
            counts.undecided.values.reduce(0, +), in: "undecided.csv")
        if totals?.states("filled") ?? false {
            compare("totals.filled", totals?.integer("filled"), counts.filled, in: "plan.json")
        }
        compare("undecided_reasons", summary["undecided_reasons"], with: counts.undecided)
        let excluded = summary["excluded_reasons"]?.members.compactMap(\.value.integer) ?? []
        if excluded.reduce(0, &+) != totals?.integer("excluded") ?? 0 {
            report(Self.name, "its excluded_reasons do not add up to totals.excluded")
        }
    }

    /// Checks that stored = matched + discrepant + undecided + not_checked, and that findings and corrections
    /// tell of as many.
    ///
    /// Summaries of older versions, and of runs without one-time purchases, have no such counts.
    private func checkPurchases(_ summary: JSONRecord) {
        guard let purchases = summary.record("purchases") else { return }
        let names = [
            "matched", "discrepant", "undecided", "not_checked", "stored", "corrected", "inserted",
            "missing",
        ]
        let counts = names.map { purchases.integer($0) ?? -1 }
        let sum = counts.prefix(4).reduce(0, &+)
        if counts.contains(where: { $0 < 0 }) || counts[4] != sum {
            report(
                Self.name,
                "its purchases do not add up: stored is \(counts[4]), the parts are \(sum)")
        }
        if counts[5] > counts[1] || counts[6] > counts[5] {
            report(Self.name, "its purchases count more corrected ones than discrepant ones")
        }
        // A partial run may leave out kinds of findings.
        guard !summary.states("scope") else { return }
        let kinds = summary.record("findings")
        let found = ["purchase_missing", "purchase_refund_missed", "purchase_unknown"]
            .compactMap { kinds?.record($0) }
            .flatMap { kind in kind.names.compactMap { kind.integer($0) } }.reduce(0, &+)
        if counts[1] &+ counts[7] > found {
            report(
                Self.name,
                "its purchases count \(counts[1] &+ counts[7]) that differ or are missing, but only "
                    + "\(found) findings are about purchases")
        }
    }

    private func checkFindings(_ summary: JSONRecord) {
        if manifest.record.integer("findings") != Int64(counts.findings) {
            report(
                FileCheck.manifest,
                "its findings are \(manifest.record.integer("findings") ?? 0), "
                    + "discrepancies.jsonl has \(counts.findings)")
        }
        compare("findings", summary["findings"], withNested: counts.severities)
        compare("finding_states", summary["finding_states"], withNested: counts.states)
    }

    private func checkCorrections(_ summary: JSONRecord) {
        let stated = summary.record("corrections")
        compare(
            "corrections.applied", stated?.integer("applied"), counts.corrections,
            in: "corrections.jsonl")
        if manifest.record.integer("corrections_applied") != Int64(counts.corrections) {
            report(
                FileCheck.manifest,
                "its corrections_applied are "
                    + "\(manifest.record.integer("corrections_applied") ?? 0), "
                    + "corrections.jsonl has \(counts.corrections)")
        }
        for fate in ["planned", "stale", "rejected"] where stated?[fate] != nil {
            compare(
                "corrections.\(fate)", stated?.integer(fate), counts.fates[fate] ?? 0,
                in: "plan.json")
        }
    }

    private func checkMoney(_ summary: JSONRecord) {
        guard let counted = counts.money else { return }
        var stated: [String: [Int64]] = [:]
        for entry in summary["money"]?.elements ?? [] {
            let total = JSONRecord(entry)
            let name = (total?.text("direction") ?? "?") + " " + (total?.text("currency") ?? "?")
            stated[name] = [total?.integer("amount") ?? 0, total?.integer("findings") ?? 0]
        }
        if stated != counted.mapValues({ [$0.amount, Int64($0.findings)] }) {
            report(Self.name, "its money is not the sum of the amounts in discrepancies.jsonl")
        }
    }

    private func compare(_ what: String, _ value: JSONValue?, with counted: [String: Int]) {
        if Self.counts(value) != counted {
            report(Self.name, "its \(what) are not what the files count")
        }
    }

    private func compare(
        _ what: String, _ value: JSONValue?, withNested counted: [String: [String: Int]]
    ) {
        var stated: [String: [String: Int]] = [:]
        for (name, inner) in value?.members ?? [] {
            stated[name.text ?? "?"] = Self.counts(inner)
        }
        for kind in Set(stated.keys).union(counted.keys).sorted()
        where stated[kind] != counted[kind] {
            report(Self.name, "its \(what) of \(kind) are not what discrepancies.jsonl counts")
        }
    }

    private static func counts(_ value: JSONValue?) -> [String: Int] {
        Dictionary(
            (value?.members ?? []).map { ($0.name.text ?? "?", Int($0.value.integer ?? -1)) }
        ) { first, _ in first }
    }
}

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
            report(key, "lack one of \(names)")
            return
        }
        let (uncounted, before, corrections) = (counts[0], counts[1], counts[2])
        let (meanwhile, after) = (counts[3], counts[4])
        if ![before, after].allSatisfy({ !$0.contains(where: Self.isBelowNothing) }) {
            report(key, "have a negative count")
        }
        if !Self.isSum([before, corrections, meanwhile], after) {
            report(
                key, "do not add up: before, corrections and others_meanwhile are not after")
        }
        if app.states("previous") || app.states("others_since") {
            let (previous, since) = (
                Self.numbers(app.record("previous")), Self.numbers(app.record("others_since"))
            )
            if let previous, let since, Self.isSum([previous, uncounted, since], before) {
                checkPrevious(app, key, previous)
            } else {
                report(
                    key,
                    "do not add up: previous, uncounted_corrections and others_since are not before"
                )
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
            report(key, "have other corrections than \(CorrectionCheck.name)")
        }
    }

    /// The run that counted before it, if its report is at hand, counted the same at its end.
    private func checkPrevious(_ app: JSONRecord, _ key: [String], _ previous: ControlNumbers) {
        // Apps that are counted as one may have been counted each by itself before.
        guard key != ["", ""], let runID = app.text("previous_run_id"),
            let counted = earlier[runID]?[key]
        else { return }
        if counted != previous {
            report(key, "begin with other numbers than run \(runID) ended with")
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
            report(key, "count different numbers of checked rows on the two sides")
            return 0
        }
        return first
    }

    private func report(_ app: [String], _ problem: String) {
        report("its \(Self.name) of \(Self.words(app)) \(problem)")
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
