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
