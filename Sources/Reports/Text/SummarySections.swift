import Subscriptions

/// The sections of the summary, each from the summary alone.
enum SummarySections {
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
        if !header.narrowing.isEmpty {
            facts.append(("Scope", "only " + header.narrowing.joined(separator: ", ")))
        }
        if let notice { facts.append(("Roots", notice)) }
        if let earlier = summary.resumedFrom {
            facts.append(
                ("Resumed", "goes on where run \(earlier) was stopped; its rows count here"))
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
        section.rows = [
            .init(["matched", totals.matched.grouped, "agree with Apple"]),
            .init(["discrepant", totals.discrepant.grouped, "differ from Apple"]),
            .init(
                [
                    "undecided", totals.undecidedCount.grouped,
                    "not judged, never taken for a match",
                ],
                ink: totals.undecidedCount > 0 ? .notable : .plain),
            excluded(totals),
            .init(["in scope", totals.inScope.grouped, "the sum of the four"], isSum: true),
        ]
        if totals.filled > 0 {
            section.rows.append(
                .init(["filled", totals.filled.grouped, "of them had something not known yet"]))
        }
        return section
    }

    /// Rows of no configured app were left out although nobody asked for it.
    private static func excluded(_ totals: RunTotals) -> Section.Row {
        let strangers = totals.excluded[.appNotConfigured] ?? 0
        let meaning =
            switch strangers {
            case 0: "left out on purpose"
            case totals.excludedCount: "of no configured app: never asked about"
            default: "left out on purpose, but \(strangers.grouped) of no configured app"
            }
        return .init(
            ["excluded", totals.excludedCount.grouped, meaning],
            ink: strangers > 0 ? .notable : .plain)
    }

    /// Why rows were not judged, or left out.
    static func undecided(_ summary: RunSummary) -> Section {
        var section = Section(title: "NOT JUDGED", headings: ["rows", "why"], numbers: [1])
        for reason in UndecidedReason.allCases {
            guard let rows = summary.totals.undecided[reason], rows > 0 else { continue }
            section.rows.append(.init([reason.rawValue, rows.grouped, reason.meaning]))
        }
        for reason in ExclusionReason.allCases {
            guard let rows = summary.totals.excluded[reason], rows > 0 else { continue }
            section.rows.append(
                .init(["excluded: " + reason.rawValue, rows.grouped, reason.meaning]))
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
                let counts = summary.findings.filter { $0.severity == severity && $0.kind == kind }
                let total = counts.reduce(0) { $0 + $1.findings }
                guard total > 0 else { continue }
                let cells = states.map { state in
                    counts.filter { $0.state == state }.reduce(0) { $0 + $1.findings }
                }
                section.rows.append(
                    .init(
                        [kind.rawValue, severity.rawValue, total.grouped] + cells.map(\.grouped),
                        ink: severity.ink))
            }
        }
        guard !section.rows.isEmpty else { return section }
        let sums = states.map { state in
            summary.findings.filter { $0.state == state }.reduce(0) { $0 + $1.findings }
        }
        let all = sums.reduce(0, +)
        section.rows.append(
            .init(["all", "", all.grouped] + sums.map(\.grouped), isSum: true))
        return section
    }

    /// How the planned corrections ended.
    static func corrections(_ summary: RunSummary) -> Section {
        var section = Section(title: "CORRECTIONS", headings: ["rows", ""], numbers: [1])
        for fate in CorrectionFate.allCases.sorted(by: { $0 == .applied && $1 != .applied }) {
            guard let rows = summary.corrections[fate], rows > 0 else { continue }
            section.rows.append(
                .init(
                    [fate.rawValue, rows.grouped, fate.meaning],
                    ink: fate == .applied ? .good : .notable))
            guard let fills = summary.fills[fate] else { continue }
            for (count, name, what) in [
                (fills.filled, "fills", "of these only fill what was empty, and mend no finding"),
                (fills.periods, "new periods", "of these take in periods with a first fill"),
            ] where count > 0 {
                section.rows.append(.init(["  " + name, count.grouped, what]))
            }
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
