package import Subscriptions

/// The runs of one UTC day as one summary: a line a run, and their sums.
package struct NightSummary: Sendable {
    /// A run of the day.
    package struct Run: Sendable {
        package var listing: RunListing
        /// `nil` where the run was killed, or its lists are past their retention.
        package var summary: RunSummary?

        package init(listing: RunListing, summary: RunSummary?) {
            self.listing = listing
            self.summary = summary
        }
    }

    private let day: String
    private let runs: [Run]

    /// - Parameters:
    ///   - day: As `yyyy-MM-dd`.
    ///   - runs: In the order in which they began.
    package init(day: String, runs: [Run]) {
        self.day = day
        self.runs = runs
    }

    /// For people.
    package var text: String {
        let headline =
            "\(day) (UTC): \(runs.count.of("run"))"
            + (gravest.map { ", the gravest end is \($0.name) (exit status \($0.code))" } ?? "")
            + (killed > 0 ? ", \(killed.grouped) killed" : "") + "."
        let blocks =
            [headline.wrapped(to: SummaryText.columns)]
            + [table, money].filter {
                !$0.isEmpty
            }.map { $0.lines(Palette(isColoured: false)) }
        return blocks.map { $0.joined(separator: "\n") + "\n" }.joined(separator: "\n")
    }

    /// For machines.
    package var json: CanonicalJSON {
        .object([
            "corrections_applied": .integer(sum { $0.applied }),
            "date": .string(day),
            "exit_status": gravest.map { .integer(Int64($0.code)) } ?? .null,
            "findings_new": .integer(sum { $0.new }),
            "findings_open": .integer(sum { $0.open }),
            "runs": .array(runs.map(\.json)),
            "totals": totals.json,
        ])
    }

    /// The exit status that decides, of all runs that ended.
    private var gravest: ExitStatus? {
        let ends = runs.compactMap(\.listing.exitStatus)
        return ends.isEmpty ? nil : .decisive(of: ends)
    }

    private var killed: Int { runs.filter { $0.listing.ended == nil }.count }

    private func sum(_ count: (RunSummary) -> Int) -> Int {
        runs.compactMap(\.summary).reduce(0) { $0 + count($1) }
    }

    private var totals: RunTotals {
        runs.reduce(into: RunTotals()) { sum, run in
            let totals = run.listing.totals
            sum.matched += totals.matched
            sum.discrepant += totals.discrepant
            sum.undecided.merge(totals.undecided, uniquingKeysWith: +)
            sum.excluded.merge(totals.excluded, uniquingKeysWith: +)
        }
    }

    /// The end of its id, by which every command knows it: the headline states the day.
    private func name(of listing: RunListing) -> String {
        let day = day.filter { $0 != "-" } + "T"
        let id = listing.runID
        return id.hasPrefix(day) ? String(id.dropFirst(day.count)) : id
    }

    private var table: Section {
        var section = Section(
            title: "RUN",
            headings: [
                "job", "end", "rows", "differ", "undecided", "corrected", "open", "new",
            ],
            numbers: Set(3...8))
        for run in runs {
            let (listing, summary) = (run.listing, run.summary)
            let totals = listing.totals
            section.rows.append(
                .init([
                    name(of: listing),
                    listing.job + (listing.mode == .apply ? "" : " \(listing.mode.rawValue)"),
                    listing.exitStatus?.name ?? "killed", totals.inScope.grouped,
                    totals.discrepant.grouped, totals.undecidedCount.grouped,
                    summary?.applied.grouped ?? "–", summary?.open.grouped ?? "–",
                    summary?.new.grouped ?? "–",
                ]))
        }
        let all = totals
        section.rows.append(
            .init(
                [
                    "all", "", "", all.inScope.grouped, all.discrepant.grouped,
                    all.undecidedCount.grouped, sum { $0.applied }.grouped,
                    sum { $0.open }.grouped, sum { $0.new }.grouped,
                ], isSum: true))
        if runs.count > 1 {
            section.sentences.append(
                "The sums add the runs: a row or finding that two of them saw counts twice.")
        }
        if runs.contains(where: { $0.summary == nil }) {
            section.sentences.append(
                "A dash: the run was killed, or what it listed is past retention.")
        }
        return section
    }

    /// The money of all runs by direction and currency; sums that a number cannot hold stop at its end.
    private var money: Section {
        struct Group: Hashable {
            let direction: Direction
            let currency: String
        }
        var sums: [Group: MoneyTotal] = [:]
        for total in runs.compactMap(\.summary).flatMap(\.money) {
            let group = Group(direction: total.direction, currency: total.currency)
            guard var sum = sums[group] else {
                sums[group] = total
                continue
            }
            let (amount, overflow) = sum.amount.addingReportingOverflow(total.amount)
            sum.amount = overflow ? (total.amount > 0 ? .max : .min) : amount
            sum.findings += total.findings
            sums[group] = sum
        }
        guard let first = runs.compactMap(\.summary).first, !sums.isEmpty else {
            return Section(title: "")
        }
        var summary = first
        summary.money = Array(sums.values)
        return SummarySections.money(summary)
    }
}

extension RunSummary {
    fileprivate var applied: Int { corrections[.applied] ?? 0 }
    fileprivate var open: Int { count(of: WorstFindings.openStates) }
    fileprivate var new: Int { count(of: [.new]) }

    /// Findings in any of the states.
    func count(of states: Set<FindingState>) -> Int {
        findings.filter { states.contains($0.state) }.reduce(0) { $0 + $1.findings }
    }
}

extension NightSummary.Run {
    fileprivate var json: CanonicalJSON {
        .object([
            "corrections_applied": summary.map { .integer($0.applied) } ?? .null,
            "ended": .time(listing.ended),
            "exit_status": listing.exitStatus.map { .integer(Int64($0.code)) } ?? .null,
            "findings_new": summary.map { .integer($0.new) } ?? .null,
            "findings_open": summary.map { .integer($0.open) } ?? .null,
            "job": .string(listing.job),
            "mode": .string(listing.mode.rawValue),
            "run_id": .string(listing.runID),
            "started": .time(listing.started),
            "totals": listing.totals.json,
        ])
    }
}
