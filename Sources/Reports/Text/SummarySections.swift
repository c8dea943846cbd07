import Subscriptions

/// The sections of the summary, each from the summary alone.
extension Section {
    /// Which run this is; always there.
    static func run(
        _ summary: RunSummary, notice: String?, columns: Int
    ) -> [String] {
        let header = summary.header
        let ended = summary.conclusion.ended
        var facts = [
            ("Run", "\(header.runID), job \(header.job), mode \(header.mode.rawValue)"),
            (
                "Time",
                "\(header.started.readable) to \(ended.readable) UTC, "
                    + header.started.duration(until: ended)
            ),
        ]
        let apps = header.apps.sorted().map { "\($0.bundleID) (\($0.environment.rawValue))" }
        if !apps.isEmpty {
            facts.append((apps.count == 1 ? "App" : "Apps", apps.joined(separator: ", ")))
        }
        if !header.filters.isEmpty {
            let scope = header.filters.joined(separator: ", ")
            // The words of `--only` begin like this themselves.
            facts.append(("Scope", scope.hasPrefix("only ") ? scope : "only " + scope))
        }
        if let notice { facts.append(("Roots", notice)) }
        if let earlier = summary.resumedFrom {
            facts.append(
                ("Resumed", "continues run \(earlier), which was stopped; its rows count here"))
        }
        if let plan = summary.plan, plan.changes > 0 {
            facts.append(("Plan", "\(plan.sha256): \(plan.changes.of("change"))"))
            if plan.head.plannedBy != header.runID {
                facts.append(("", "made by run \(plan.head.plannedBy)"))
            }
        }
        if let undone = summary.undoOf { facts.append(("Undo of", "run \(undone)")) }
        let others = summary.conclusion.flags.dropFirst()
        if !others.isEmpty {
            let named = others.map { "\($0.name) (\($0.code)): \(summary.meaning(of: $0))" }
            facts.append(("Also", named.joined(separator: "; ")))
        }
        return facts.flatMap { name, fact in
            fact.wrapped(
                to: columns, firstMargin: name.padded(to: 9),
                margin: String(repeating: " ", count: 9))
        }
    }

    /// In scope = matched + discrepant + undecided + excluded, so that a reader can add it up.
    static func tieOut(_ totals: RunTotals) -> Section {
        var section = Section(title: "TIE-OUT", headings: ["rows", ""], numbers: [1])
        section.add(["matched", totals.matched.grouped, "agree with Apple"])
        section.add(["discrepant", totals.discrepant.grouped, "differ from Apple"])
        section.add(
            ["undecided", totals.undecidedCount.grouped, "not checked; never counted as a match"],
            ink: totals.undecidedCount > 0 ? .notable : .plain)
        section.addExcluded(totals)
        section.add(["in scope", totals.inScope.grouped, "the sum of the four"], isSum: true)
        if totals.filled > 0 {
            section.add([
                "filled", totals.filled.grouped,
                "of these had empty values that Apple states: no differences",
            ])
        }
        return section
    }

    /// Rows of no configured app were left out although no one asked for it.
    private mutating func addExcluded(_ totals: RunTotals) {
        let unconfigured = totals.excluded[.appNotConfigured] ?? 0
        let found = ExclusionReason.allCases.filter { totals.excluded[$0] ?? 0 > 0 }
        let meaning =
            switch found.first {
            case nil: "in flight, of seat members, or of no configured app"
            case .inFlight? where found.count == 1: "in flight: Apple signed them too recently"
            case .appNotConfigured? where found.count == 1: "of no configured app: never checked"
            case .seatMember? where found.count == 1:
                "of seat members: Apple is not asked about them"
            default:
                found.map { "\((totals.excluded[$0] ?? 0).grouped) \($0.inWords)" }
                    .joined(separator: ", ")
            }
        add(
            ["excluded", totals.excludedCount.grouped, meaning],
            ink: unconfigured > 0 ? .notable : .plain)
    }

    /// Shows why rows were not checked, or were excluded.
    static func undecided(_ summary: RunSummary) -> Section {
        var section = Section(title: "NOT CHECKED", headings: ["rows", "why"], numbers: [1])
        for reason in UndecidedReason.allCases {
            guard let rows = summary.totals.undecided[reason], rows > 0 else { continue }
            section.add([reason.rawValue, rows.grouped, reason.meaning])
        }
        for reason in ExclusionReason.allCases {
            guard let rows = summary.totals.excluded[reason], rows > 0 else { continue }
            section.add(["excluded: " + reason.rawValue, rows.grouped, reason.meaning])
        }
        return section
    }

    /// Stored = matched + discrepant + undecided + not checked; below it, parts and what is not stored.
    static func purchases(_ summary: RunSummary) -> Section {
        var section = Section(title: "PURCHASES", headings: ["number", ""], numbers: [1])
        guard let purchases = summary.measures?.purchases else { return section }
        section.add([
            "matched", purchases.matched.grouped, "one-time purchases that agree with Apple",
        ])
        section.add([
            "discrepant", purchases.discrepant.grouped,
            "differ from Apple, were not stored, or Apple does not know them",
        ])
        section.add(
            [
                "undecided", purchases.undecided.grouped,
                "could not be compared; never counted as a match",
            ], ink: purchases.undecided > 0 ? .notable : .plain)
        section.add([
            "not checked", purchases.notChecked.grouped,
            "no notification, history or refund list of this run shows them",
        ])
        section.add(
            ["stored", purchases.stored.grouped, "the sum of the four, as the run ended"],
            isSum: true)
        for (name, number, meaning) in [
            ("corrected", purchases.corrected, "of the discrepant, each with its ledger entry"),
            ("inserted", purchases.inserted, "of the corrected were not stored before"),
            ("missing", purchases.missing, "more that Apple signed are not stored"),
        ] where number > 0 {
            section.add([name, number.grouped, meaning], ink: name == "missing" ? .notable : .good)
        }
        return section
    }

    /// Counts the purchases whose owner is not known, by reason.
    static func unowned(_ summary: RunSummary) -> Section {
        var section = Section(
            title: "OWNER UNKNOWN", headings: ["purchases", "why"], numbers: [1])
        for reason in UnownedPurchase.Reason.allCases {
            guard let purchases = summary.measures?.unowned?[reason.rawValue], purchases > 0 else {
                continue
            }
            section.add([reason.rawValue, purchases.grouped, reason.meaning + ": unowned.csv"])
        }
        return section
    }

    /// Kinds by severity, worst first, with how many are in each state.
    static func findings(_ summary: RunSummary) -> Section {
        let states = FindingState.allCases.filter { state in
            state != .acknowledged || summary.findings.contains { $0.state == state }
        }
        var section = Section(
            title: "FINDINGS", headings: ["severity", "total"] + states.map(\.rawValue),
            numbers: Set(2..<(3 + states.count)))
        for severity in Severity.allCases.reversed() {
            for kind in FindingKind.allCases {
                let total = summary.count { $0.severity == severity && $0.kind == kind }
                guard total > 0 else { continue }
                let cells = states.map { state in
                    summary.count {
                        $0.severity == severity && $0.kind == kind && $0.state == state
                    }
                }
                section.add(
                    [kind.rawValue, severity.rawValue, total.grouped] + cells.map(\.grouped),
                    ink: severity.ink)
            }
        }
        guard !section.rows.isEmpty else { return section }
        let sums = states.map { summary.count(of: [$0]) }
        let all = sums.reduce(0, +)
        section.add(["all", "", all.grouped] + sums.map(\.grouped), isSum: true)
        return section
    }

    /// How the planned corrections ended.
    static func corrections(_ summary: RunSummary) -> Section {
        var section = Section(title: "CORRECTIONS", headings: ["rows", ""], numbers: [1])
        for fate in CorrectionFate.allCases.sorted(by: { $0 == .applied && $1 != .applied }) {
            guard let rows = summary.corrections[fate], rows > 0 else { continue }
            section.add(
                [fate.rawValue, rows.grouped, fate.meaning],
                ink: fate == .applied ? .good : .notable)
            guard let fills = summary.fills[fate] else { continue }
            for (count, name, what) in [
                (fills.filled, "fills", "of these only fill empty values, and fix no finding"),
                (fills.periods, "new periods", "of these insert periods with a first fill"),
            ] where count > 0 {
                section.add(["  " + name, count.grouped, what])
            }
        }
        if summary.reportedBefore > 0 {
            section.add([
                "before", summary.reportedBefore.grouped,
                "written by a run before; the report of that run or of the next one lists them",
            ])
        }
        return section
    }
}

extension Severity {
    var ink: Ink {
        switch self {
        case .critical: .alarming
        case .high: .notable
        case .medium, .low, .info: .plain
        }
    }
}

extension Section {
    /// From how many purchases on that are not in the table it is likely that the table holds only
    /// a part of them, and from which share of the checked rows.
    private static let partialTable = (findings: 5, share: 0.05)

    /// Returns advice where many purchases of known customers are not in the table; `nil` where
    /// they are few.
    static func importAdvice(_ summary: RunSummary) -> String? {
        let missing = summary.count {
            $0.kind == .missingLocally && $0.state != .corrected && $0.state != .acknowledged
        }
        let judged = summary.totals.matched + summary.totals.discrepant
        guard missing >= partialTable.findings,
            Double(missing) >= Double(judged) * partialTable.share
        else { return nil }
        return
            "\(missing.of("purchase")) of your customers \(missing == 1 ? "is" : "are") not in the "
            + "table (missing_locally). If the table holds only a part of your subscriptions, import "
            + "the rest first: `trueup import FILE`. Then they all have one cause; do not work through "
            + "them one by one. If the table is complete, a run that writes inserts those whose customer "
            + "a checked row tells; link the others by hand."
    }

    /// Returns the advice for the exit status.
    ///
    /// A run is incomplete for several reasons, and only rows that were undecided are asked again
    /// by themselves.
    static func advice(_ summary: RunSummary) -> [String] {
        let status = summary.conclusion.exitStatus
        // An empty table does not make what Apple's history shows of it any less.
        if status == .empty, summary.conclusion.statuses.contains(.findings) {
            return [status, .findings].compactMap(\.advice)
        }
        if status == .guarded, summary.conclusion.limits.contains("guard hooks.before") {
            return [
                "MESSAGES say why the program of hooks.before refused the run. Remove the reason, or "
                    + "correct the program, and run the job again: it checks the rows that this run "
                    + "did not reach."
            ]
        }
        // MESSAGES say when this is a success.
        if status == .empty, summary.hasOnlyReadNotifications { return [] }
        guard status == .incomplete else { return [status.advice].compactMap(\.self) }
        if summary.undoOf != nil {
            return [
                "Run the same command again: it reverts what is left. MESSAGES say what that is."
            ]
        }
        if let plan = summary.plan, plan.head.plannedBy != summary.header.runID {
            return [
                "Run the same command again: it writes what is left of the plan. For changes whose "
                    + "evidence is no longer stored, make a new plan (\"trueup check\"). MESSAGES say "
                    + "which these are."
            ]
        }
        let totals = summary.totals
        var sentences: [String] = []
        if totals.undecidedCount > 0 {
            sentences.append(
                "Run the job again: it checks the rows that were not checked. undecided.csv names them."
            )
        }
        if let unconfigured = totals.excluded[.appNotConfigured], unconfigured > 0 {
            let (they, their) = unconfigured == 1 ? ("it", "its") : ("they", "their")
            sentences.append(
                "\(unconfigured.of("row")) \(unconfigured == 1 ? "belongs" : "belong") to no configured "
                    + "app, and no run checks \(unconfigured == 1 ? "it" : "them"). Add \(their) "
                    + "app (bundle_id and environment) to apps in the settings, or correct these "
                    + "columns where \(they) \(unconfigured == 1 ? "names" : "name") the wrong one. The "
                    + "job stays incomplete until then.")
        }
        return sentences.isEmpty ? [status.advice].compactMap(\.self) : sentences
    }
}

extension RunSummary {
    /// Whether the whole job reads notifications and does not walk the table, which it then does not
    /// count.
    fileprivate var hasOnlyReadNotifications: Bool {
        control == nil && header.filters.isEmpty
            && conclusion.calls.contains { $0.endpoint == "notification_history" }
    }

    /// The answers about ids, where the list of those that Apple does not find is empty.
    var answersAboutIDs: String {
        let questions = conclusion.calls.filter {
            $0.endpoint != "notification_history" && $0.calls > 0
        }
        guard !questions.isEmpty else { return "Apple was asked for no id." }
        guard questions.contains(where: { ["ok", "not_found"].contains($0.result) }) else {
            return "Apple answered no question about an id, so nothing is known of them."
        }
        return "Apple found every id that it answered about."
    }
}

extension Section {
    /// List prices by currency and by who is harmed, each currency with its total; what was really
    /// paid is known to the accounts only.
    static func money(_ totals: [MoneyTotal]) -> Section {
        var section = Section(
            title: "LIST PRICES OF PERIODS CONCERNED", headings: ["amount", "currency", "periods"],
            numbers: [1, 3])
        func add(_ name: String, _ amount: Int64, _ currency: String, _ periods: Int, isSum: Bool) {
            section.add(
                [name, amount.amount(in: currency), currency, periods.grouped], isSum: isSum)
        }
        let currencies = Dictionary(grouping: totals.sortedForReading, by: \.currency)
        for (currency, parts) in currencies.sorted(by: { $0.key < $1.key }) {
            for part in parts {
                add(part.direction.meaning, part.amount, currency, part.findings, isSum: false)
            }
            guard parts.count > 1 else { continue }
            // Of the amounts as they are shown, so that the column adds up.
            let sum = parts.reduce(Int64(0)) {
                $0.addingClamped(
                    DecimalAmount(milliunits: $1.amount, currency: currency).milliunits)
            }
            add(
                "total in \(currency)", sum, currency,
                parts.reduce(0) { $0 + $1.findings }, isSum: true)
        }
        return section
    }

    /// Calls to Apple by endpoint, with every result that is not the usual one.
    static func calls(_ summary: RunSummary) -> Section {
        let forecast = summary.conclusion.coverage?.forecast
        let unknown = "unknown"
        var section = Section(
            title: "CALLS TO APPLE",
            headings: ["calls"] + (forecast == nil ? [] : ["forecast"]) + ["by result"],
            numbers: forecast == nil ? [1] : [1, 2])
        var endpoints: [String: [String: Int]] = [:]
        for count in summary.conclusion.calls {
            endpoints[count.endpoint, default: [:]][count.result, default: 0] += count.calls
        }
        for endpoint in (forecast?.calls ?? [:]).keys where endpoints[endpoint] == nil {
            endpoints[endpoint] = [:]
        }
        for (endpoint, results) in endpoints.sorted(by: { $0.key < $1.key }) {
            let total = results.values.reduce(0, +)
            let expected = forecast?.calls[endpoint]
            guard total > 0 || expected ?? 0 > 0 else { continue }
            let named = results.filter { $0.value > 0 }
                .sorted { ($0.key == "ok" ? 0 : 1, $0.key) < ($1.key == "ok" ? 0 : 1, $1.key) }
                .map { "\($0.key) \($0.value.grouped)" }
            section.add(
                [endpoint, total.grouped] + (forecast == nil ? [] : [expected?.grouped ?? unknown])
                    + [named.joined(separator: ", ")])
        }
        if section.rows.count > 1 {
            let all = summary.conclusion.calls.reduce(0) { $0 + $1.calls }
            // A sum of what is known is not a forecast of all.
            let isWhole = section.rows.allSatisfy { !$0.cells.contains(unknown) }
            var expected: [String] = []
            if let known = forecast?.calls.values.reduce(0, +) {
                expected = [known.grouped + (isWhole ? "" : " or more")]
            }
            section.add(["all", all.grouped] + expected + [""], isSum: true)
        }
        if let milliseconds = forecast?.milliseconds {
            let started = summary.header.started
            let taken = started.duration(until: summary.conclusion.ended)
            let expected = started.duration(until: started.adding(milliseconds: milliseconds))
            section.sentences.append(
                "The run took \(taken). At the rate that the settings allow, the forecast calls take "
                    + "\(expected).")
        }
        return section
    }

    /// Shows the size of the evidence: bytes for each signed statement, as stored and as Apple sent
    /// it.
    static func evidence(_ summary: RunSummary) -> Section {
        let cost = summary.evidence
        var section = Section(
            title: "EVIDENCE KEPT", headings: ["statements", "bytes each", "as received"],
            numbers: [1, 2, 3])
        guard cost.statements > 0 else { return section }
        let statements = Int64(cost.statements)
        section.add([
            "signed by Apple", cost.statements.grouped, Int(cost.storedBytes / statements).grouped,
            Int(cost.receivedBytes / statements).grouped,
        ])
        return section
    }

    static func limits(_ summary: RunSummary) -> Section {
        Section(title: "LIMITS REACHED", sentences: summary.conclusion.limits)
    }

    /// Which guards were lifted, and why.
    static func liftedGuards(_ summary: RunSummary) -> Section {
        var section = Section(title: "GUARDS LIFTED", headings: ["by", "why"])
        for lift in summary.liftedGuards {
            section.add(
                [
                    lift.name.rawValue, lift.actor,
                    lift.reason + (lift.breach == nil ? " (not necessary)" : ""),
                ], ink: .notable)
        }
        return section
    }

    private static let mostAcknowledged = 20

    /// Acknowledged findings: they no longer count; by whom and why.
    static func acknowledged(_ summary: RunSummary) -> Section {
        var section = Section(
            title: "ACKNOWLEDGED", headings: ["kind", "id", "by", "until", "why"])
        for finding in summary.acknowledged.prefix(mostAcknowledged) {
            section.add([
                finding.findingID, finding.kind.rawValue, (finding.originalTransactionID ?? ""),
                finding.actor, finding.until?.endInWords ?? "",
                finding.reason,
            ])
        }
        let more = summary.acknowledged.count - mostAcknowledged
        if more > 0 { section.sentences = ["\(more.grouped) more: summary.json has all of them"] }
        return section
    }

    static func messages(_ summary: RunSummary) -> Section {
        Section(title: "MESSAGES", sentences: summary.conclusion.messages)
    }

    /// Shows what to do next, as far as the exit status says.
    static func next(_ summary: RunSummary) -> Section {
        var sentences: [String] = []
        if let sentence = importAdvice(summary) { sentences.append(sentence) }
        sentences += advice(summary)
        let count = summary.count { $0.kind == .notFound }
        if count > 0 {
            let new = summary.count { $0.kind == .notFound && $0.state == .new }
            sentences.append(
                "Apple does not find \(count.of("id")), \(new.grouped) of them new: not_found.csv "
                    + "says since when. No run removes access because of that; check them before you decide."
            )
        }
        // What is corrected every run comes back every run, until its cause is corrected.
        for cause in summary.conclusion.causes where cause.isFixedAgain {
            sentences.append(
                "\(cause.cause): also on \(cause.earlierDays) of the 7 days before. Fix the cause: if runs "
                    + "only correct the rows, it stays hidden.")
        }
        if summary.corrections[.applied, default: 0] > 0 {
            sentences.append(
                "corrections.jsonl has every change with its evidence, corrections.csv the changed values, "
                    + "and undo.json the inverse.")
        }
        return Section(title: "NEXT", sentences: sentences)
    }
}

extension CauseCluster {
    /// Whether a recurring failure, of delivery or of our own, is only corrected row by row.
    fileprivate var isFixedAgain: Bool {
        guard earlierDays > 0, let delivery, delivery != .unknown else { return false }
        return corrections + notifications > 0
    }
}

extension Section {
    /// Shows why Apple was asked, how many rows needed no question, and how many are left.
    static func coverage(_ summary: RunSummary) -> Section {
        var section = Section(
            title: "QUESTIONS", headings: ["rows", "left", "why"], numbers: [1, 2])
        guard let coverage = summary.conclusion.coverage else { return section }
        for reason in QuestionReason.allCases {
            let (asked, left) = (coverage.asked[reason] ?? 0, coverage.left[reason] ?? 0)
            guard asked > 0 || left > 0 else { continue }
            section.add(
                [reason.rawValue, asked.grouped, left.grouped, reason.meaning],
                ink: left > 0 ? .notable : .plain)
        }
        func add(_ name: String, _ rows: Int, _ meaning: String) {
            guard rows != 0 else { return }
            section.add([name, rows.grouped, "", meaning])
        }
        add("beside", coverage.askedBeside ?? 0, "checked by the answer for another row")
        add(
            "settled", coverage.settledByNotification,
            "by a notification that agrees, without a call")
        guard let table = coverage.table else {
            if let unasked = coverage.unasked {
                add("not asked", unasked, "there was no reason to ask")
            }
            return section
        }
        let totals = summary.totals
        add("no question", coverage.withoutQuestion(totals), "checked without asking Apple")
        add("excluded", totals.excludedCount, "\"NOT CHECKED\" says why")
        add("not reached", coverage.notReached(totals), "the run ended before")
        add("before", table.judgedBefore, "checked by earlier runs of the same full scan")
        add(
            "not asked", table.notAsked,
            summary.header.filters.isEmpty
                ? "there was no reason to ask" : "no reason to ask, or left out by a filter")
        add("inserted", table.inserted, "by this run")
        if table.gone > 0 {
            section.add(["gone", "-" + table.gone.grouped, "", "deleted from the table meanwhile"])
        }
        section.add(
            ["table", table.rows.grouped, "", "the sum: rows as the run ended"], isSum: true)
        return section
    }

    /// Shows the bound of the sample for the rows that were not checked.
    static func remainingRisk(_ summary: RunSummary) -> Section {
        var section = Section(title: "REMAINING RISK")
        guard let coverage = summary.conclusion.coverage, let quiet = coverage.quiet else {
            return section
        }
        if let sample = coverage.sample {
            section.sentences.append(
                "With 95 % confidence at most \(sample.bound.grouped) of the "
                    + "\(quiet.grouped) rows that no reason named differ from Apple: of "
                    + "\(sample.drawn.grouped) drawn at random \(sample.outcome). This holds for the moment "
                    + "of the run and for rows for which Apple gives an answer.")
            if let tie = sample.tieOut { section.sentences.append(tie) }
        } else if quiet > 0 {
            section.sentences.append(
                "\((coverage.unasked ?? quiet).of("row")) \(coverage.unasked == 1 ? "was" : "were") not "
                    + "checked, and no sample shows how many of them differ.")
        }
        if let oldest = coverage.oldestCheck {
            section.sentences.append(
                "Apple's oldest signed statement about a row is of \(oldest.readable) UTC.")
        }
        return section
    }
}

extension RunCoverage {
    /// Rows that the run did not reach before it ended.
    func notReached(_ totals: RunTotals) -> Int { totals.undecided[.deadline] ?? 0 }

    /// Rows with a verdict for which Apple was not asked, and no notification spoke.
    func withoutQuestion(_ totals: RunTotals) -> Int {
        totals.inScope - askedRows - settledByNotification - totals.excludedCount
            - notReached(totals)
    }
}

extension RunCoverage.Sample {
    /// How many of the drawn rows the sample itself had to ask about, and what became of the
    /// others; `nil` where all were checked, or it is not stored.
    fileprivate var tieOut: String? {
        guard let judgedBy, judgedBy.otherQuestion > 0 || judgedBy.notification > 0 else {
            return nil
        }
        var parts = ["\(judgedBy.ownQuestion.grouped) checked by a call for the sample"]
        if judgedBy.otherQuestion > 0 {
            parts.append(
                "\(judgedBy.otherQuestion.grouped) by the answer for another row, such as one of the "
                    + "same customer")
        }
        if judgedBy.notification > 0 {
            parts.append("\(judgedBy.notification.grouped) by a notification, without a call")
        }
        if let notJudged, notJudged > 0 { parts.append("\(notJudged.grouped) not checked") }
        return "Of the \(drawn.grouped) drawn: " + parts.joined(separator: ", ") + "."
    }

    /// The result for the drawn rows, as the end of a sentence.
    fileprivate var outcome: String {
        let differ = "\(differing.grouped) \(differing == 1 ? "differs" : "differ")"
        guard let notJudged else {
            // Earlier versions counted both together.
            return "\(differ) or \(differing == 1 ? "was" : "were") not checked"
        }
        guard notJudged > 0 else { return differ }
        return "\(differ) and \(notJudged.grouped) \(notJudged == 1 ? "was" : "were") not checked; "
            + "the bound counts \(notJudged == 1 ? "it as if it" : "those as if they") differed"
    }
}

extension QuestionReason {
    /// In a few words, for people.
    var meaning: String {
        switch self {
        case .notification: "a notification has a newer statement"
        case .heldBack: "undecided before, or its correction was not written"
        case .changed: "the row was written to since its last check"
        case .clock: "its period, grace or retry day has passed"
        case .never: "never checked before"
        case .sample: "drawn at random from the rest"
        case .sweep: "Apple's last statement is getting old"
        case .round: "full scan: every row"
        }
    }
}
