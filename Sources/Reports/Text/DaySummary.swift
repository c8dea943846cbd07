package import Subscriptions

/// The runs of one UTC day as one summary: a line a run, and their sums.
package struct DaySummary: Sendable {
    /// A run of the day.
    package struct Run: Sendable {
        package var listing: RunListing
        /// `nil` where the run was killed, or its lists are past their retention.
        package var figures: RunSums?
        /// For which apps and by whom, where several workers share the day.
        package var share: Share?

        package init(listing: RunListing, summary: RunSummary?) {
            self.listing = listing
            figures = summary?.sums
        }

        /// A run of another worker.
        package init(_ run: WorkerRun) {
            listing = run.listing
            figures = run.figures
            share = Share(worker: run.worker, apps: run.apps)
        }
    }

    /// The part of a day that one worker has done.
    package struct Share: Hashable, Sendable {
        package var worker: String
        /// As `--app` takes them.
        package var apps: [String]

        package init(worker: String, apps: [String]) {
            self.worker = worker
            self.apps = apps
        }
    }

    private let day: String
    private let runs: [Run]
    /// The reason why runs of other workers may be missing; `nil` where none is.
    private let gap: String?

    /// - Parameters:
    ///   - day: As `yyyy-MM-dd`.
    ///   - runs: In the order in which they began.
    ///   - gap: Why runs of other workers may be missing, as a sentence.
    package init(day: String, runs: [Run], gap: String? = nil) {
        self.day = day
        self.runs = runs
        self.gap = gap
    }

    /// For people.
    package var lines: [String] {
        let headline =
            "\(day) (UTC): \(runs.count.of("run"))"
            + (mostSevere.map { ", the most severe end is \($0.name) (exit status \($0.code))" }
                ?? "")
            + (killed > 0 ? ", \(killed.grouped) killed" : "") + "."
            + (gap.map { " " + $0 } ?? "")
        let blocks =
            [headline.wrapped(to: SummaryText.columns)]
            + [table, money].filter {
                !$0.isEmpty
            }.map { $0.lines(Palette(isColoured: false)) }
        return Array(blocks.joined(separator: [""]))
    }

    /// For machines.
    package var json: CanonicalJSON {
        var members: [String: CanonicalJSON] = [
            "corrections_applied": .count(sum { $0.corrected }),
            "date": .string(day),
            "exit_status": mostSevere.map { .integer(Int64($0.code)) } ?? .null,
            "findings_new": .count(sum { $0.new }),
            "findings_open": .count(sum { $0.open }),
            "runs": .array(runs.map(\.json)),
            "totals": totals.json,
        ]
        if let gap { members["gap"] = .string(gap) }
        return .object(members)
    }

    /// The exit status that decides, of all runs that ended.
    private var mostSevere: ExitStatus? {
        let ends = runs.compactMap(\.listing.exitStatus)
        return ends.isEmpty ? nil : .decisive(of: ends)
    }

    private var killed: Int { runs.filter { $0.listing.ended == nil }.count }

    /// Of the runs whose figures are known; `nil` where there are runs and none of them is known.
    private func sum(_ count: (RunSums) -> Int) -> Int? {
        let known = runs.compactMap(\.figures)
        return known.isEmpty && !runs.isEmpty ? nil : known.reduce(0) { $0 + count($1) }
    }

    private var isShared: Bool { runs.contains { $0.share != nil } }

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
            ] + (isShared ? ["apps"] : []),
            numbers: Set(3...8))
        for run in runs {
            let (listing, figures) = (run.listing, run.figures)
            let totals = listing.totals
            section.add(
                [
                    name(of: listing),
                    listing.job + (listing.mode == .apply ? "" : " \(listing.mode.rawValue)"),
                    listing.exitStatus.map { $0 == .output ? "no report" : $0.name } ?? "killed",
                    totals.inScope.grouped, totals.discrepant.grouped,
                    totals.undecidedCount.grouped, figures?.corrected.grouped ?? "–",
                    figures?.open.grouped ?? "–", figures?.new.grouped ?? "–",
                ] + (isShared ? [run.share?.text ?? ""] : []))
        }
        let all = totals
        section.add(
            [
                "all", "", "", all.inScope.grouped, all.discrepant.grouped,
                all.undecidedCount.grouped, sum { $0.corrected }?.grouped ?? "–",
                sum { $0.open }?.grouped ?? "–", sum { $0.new }?.grouped ?? "–",
            ] + (isShared ? [""] : []), isSum: true)
        if runs.count > 1 {
            section.sentences.append(
                "The sums add up the runs: a row or finding that two runs saw counts twice.")
        }
        if runs.contains(where: { $0.listing.exitStatus == .output }) {
            section.sentences.append(
                "\"no report\": it could not be written (exit status \(ExitStatus.output.code)). The next "
                    + "report shows the run's corrections and findings.")
        }
        if runs.contains(where: { $0.figures == nil }) {
            section.sentences.append(
                "A dash: the run was killed, or its records are past retention."
                    + (runs.contains { $0.figures != nil }
                        ? " The sums leave it out, so the true ones may be larger." : ""))
        }
        return section
    }

    /// The money of all runs by direction and currency; sums that a number cannot hold stop at its
    /// end.
    private var money: Section {
        var sums: [MoneyTotal] = []
        for total in runs.compactMap(\.figures).flatMap(\.money) {
            guard let place = sums.firstIndex(where: { $0.isSummed(with: total) }) else {
                sums.append(total)
                continue
            }
            sums[place].amount = sums[place].amount.addingClamped(total.amount)
            sums[place].findings += total.findings
        }
        guard !sums.isEmpty else { return Section(title: "") }
        return Section.money(sums)
    }
}

extension DaySummary.Share {
    /// Its only app, or how many; no list, which would be wider than a line.
    package var text: String {
        apps.count == 1 ? apps.first ?? "" : apps.count.of("app")
    }
}

extension RunSummary {
    /// The run's totals, in numbers that can be added to those of other runs.
    package var sums: RunSums {
        RunSums(
            corrected: corrections[.applied] ?? 0, open: count(of: WorstFindings.openStates),
            new: count(of: [.new]), money: money.sortedForReading)
    }

    /// The first line of its summary.
    package var headline: String { Headline(self).text }

    /// Findings in any of the states.
    func count(of states: Set<FindingState>) -> Int {
        count { states.contains($0.state) }
    }

    /// Findings of certain kinds, severities or states.
    func count(where isCounted: (FindingCount) -> Bool) -> Int {
        findings.filter(isCounted).reduce(0) { $0 + $1.findings }
    }

    /// All findings.
    var findingCount: Int { count { _ in true } }
}

extension DaySummary.Run {
    fileprivate var json: CanonicalJSON {
        var members: [String: CanonicalJSON] = [
            "corrections_applied": .count(figures?.corrected),
            "ended": .time(listing.ended),
            "exit_status": listing.exitStatus.map { .integer(Int64($0.code)) } ?? .null,
            "findings_new": .count(figures?.new),
            "findings_open": .count(figures?.open),
            "job": .string(listing.job),
            "mode": .string(listing.mode.rawValue),
            "run_id": .string(listing.runID),
            "started": .time(listing.started),
            "totals": listing.totals.json,
        ]
        if let share {
            members["apps"] = .array(share.apps.map(CanonicalJSON.string))
            members["worker"] = .string(share.worker)
        }
        return .object(members)
    }
}
