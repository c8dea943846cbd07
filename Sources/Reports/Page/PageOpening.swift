import Subscriptions

/// The first screen: the verdict, the tie-out, the numbers, and what was not looked at.
struct PageOpening {
    let facts: PageFacts

    private var summary: RunSummary { facts.summary }
    private var header: RunHeader { facts.summary.header }

    func append(to page: inout Markup) {
        page.element("header") { head in
            head.element(
                "p", [.named("kicker")],
                "Reconciliation of subscriptions with Apple · job \(header.job) · "
                    + "\(header.mode.rawValue) · \(header.started.utcDay)")
            let headline = Headline(summary)
            head.element("h1", [.named(headline.ink.name)], headline.text)
            for sentence in verdict { head.element("p", [.named("verdict")], sentence) }
            if let notice = facts.notice {
                head.element("p", [.named("caution")]) { box in
                    box.element("strong", "Before you rely on it: ")
                    box.text(notice)
                }
            }
            contents(&head)
        }
        page.lineFeed()
    }

    /// Directly below the verdict, in the main part.
    func appendFigures(to page: inout Markup) {
        page.element("section", [.init("aria-label", "The run in numbers")]) { part in
            part.element("dl", [.named("figures")]) { list in
                for (name, value, more) in figures {
                    list.element("div") { item in
                        item.element("dt", name)
                        item.element("dd") { number in
                            number.text(value)
                            if let more { number.element("span", [.named("more")], more) }
                        }
                    }
                }
            }
            part.lineFeed()
            part.element("div", [.named("pair")]) { pair in
                pair.element("div") { tieOut(&$0) }
                pair.element("div") { leftOut(&$0) }
            }
        }
        page.lineFeed()
    }

    private func contents(_ head: inout Markup) {
        head.element("nav", [.init("aria-label", "Contents")]) { nav in
            nav.element("ul") { list in
                for section in facts.sections {
                    list.element("li") { item in
                        item.element(
                            "a", [.init("href", "#" + section.rawValue)], section.title)
                    }
                }
            }
        }
    }

    // MARK: The verdict

    private var open: Int { states(WorstFindings.openStates) }
    private var new: Int { states([.new]) }

    private func states(_ states: Set<FindingState>) -> Int { summary.count(of: states) }

    private var verdict: [String] {
        var sentences: [String] = []
        let totals = summary.totals
        if totals.inScope > 0 {
            sentences.append(
                "\(totals.judged.grouped) of \(totals.inScope.of("row")) judged: "
                    + "\(totals.matched.grouped) agree with Apple, \(totals.discrepant.grouped) "
                    + "\(totals.discrepant == 1 ? "differs" : "differ").")
        }
        let found = states(Set(FindingState.allCases))
        if found > 0 {
            let known = states([.acknowledged])
            sentences.append(
                "\(found.of("finding")): \(mended), \(open.grouped) open, of these \(new.grouped) new"
                    + (known > 0 ? "; \(known.grouped) acknowledged" : "") + ".")
        }
        sentences += [
            harm(facts.withheld, "Access that Apple grants was withheld from"),
            harm(facts.unpaid, "Access that Apple has ended was given to"),
        ].compactMap(\.self)
        return sentences
    }

    /// A notification that was recovered is no row that was written.
    private var mended: String {
        let recovered = summary.findings.filter {
            $0.state == .corrected && [.notificationMissed, .notificationLost].contains($0.kind)
        }.reduce(0) { $0 + $1.findings }
        let corrected = states([.corrected]) - recovered
        let parts = [(corrected, "corrected"), (recovered, "recovered")].filter { $0.0 > 0 }
            .map { "\($0.grouped) \($1)" }
        return parts.isEmpty ? "0 corrected" : parts.joined(separator: ", ")
    }

    private func harm(_ harm: AccessHarm, _ what: String) -> String? {
        guard harm.subscriptions > 0 else { return nil }
        let kinds = FindingKind.allCases.compactMap { kind in
            harm.kinds[kind].map { "\(kind.rawValue) \($0.grouped)" }
        }
        var parts = [
            "\(what) \(harm.subscriptions.of("subscription")) (\(kinds.joined(separator: ", ")))"
        ]
        if harm.dated > 0 {
            let days = harm.days > 0 ? harm.days.of("day") : "less than a day"
            parts.append(
                "\(days) in all since it began at Apple or, where that is later, Apple signed what the row rests on"
                    + (harm.dated < harm.subscriptions
                        ? ", as far as dated (\(harm.dated.grouped) of them)" : ""))
        }
        if let first = harm.firstSeen { parts.append("the longest known since \(first.utcDay)") }
        parts.append("\(harm.corrected.grouped) corrected")
        return parts.joined(separator: "; ") + "."
    }

    // MARK: The numbers

    private var figures: [(name: String, value: String, more: String?)] {
        let totals = summary.totals
        var figures: [(name: String, value: String, more: String?)] = []
        if let coverage = summary.conclusion.coverage {
            figures.append(
                (
                    "asked about", coverage.askedRows.grouped,
                    coverage.settledByNotification > 0
                        ? "\(coverage.settledByNotification.grouped) settled without a call" : nil
                ))
            if let unasked = coverage.unasked {
                figures.append(("not asked about", unasked.grouped, "no reason to ask"))
            }
        }
        if let apps = summary.control?.apps {
            let (before, after) = apps.reduce(into: (0, 0)) { sums, app in
                sums.0 = sums.0.addingClamped(app.before.rows)
                sums.1 = sums.1.addingClamped(app.after.rows)
            }
            figures.append(("rows held", after.grouped, "\(before.grouped) as the run began"))
        }
        let planned = summary.corrections[.planned] ?? 0
        figures += [
            ("agree", totals.matched.grouped, nil),
            ("differ", totals.discrepant.grouped, nil),
            (
                "corrections written", (summary.corrections[.applied] ?? 0).grouped,
                planned > 0 ? "\(planned.grouped) planned, not written" : nil
            ),
            ("findings open", open.grouped, "\(new.grouped) of them new"),
            ("not judged", totals.undecidedCount.grouped, "never taken for a match"),
        ]
        // Nobody asked for these to be left out, so the run is incomplete by them, too.
        if let strangers = totals.excluded[.appNotConfigured], strangers > 0 {
            figures.append(("of no configured app", strangers.grouped, "left out, not judged"))
        }
        return figures
    }

    private func tieOut(_ part: inout Markup) {
        let own = SummarySections.tieOut(summary.totals)
        guard let previous = facts.history.previous else {
            part.table(own, "Tie-out", first: "rows are")
            part.element(
                "p", [.named("soft")],
                "There is no complete earlier run of the job to compare with.")
            return
        }
        let before = SummarySections.tieOut(previous.totals).rows
        let columns = [
            Markup.Column("rows are"), Markup.Column("this run", .number),
            Markup.Column("run before", .number), Markup.Column("meaning"),
        ]
        part.table("Tie-out, beside the run before", columns) { table in
            for row in own.rows {
                let other = before.first { $0.cells.first == row.cells.first }?.cells ?? []
                let cells = [
                    row.cells.first ?? "", row.cells.count > 1 ? row.cells[1] : "",
                    other.count > 1 ? other[1] : "–", row.cells.count > 2 ? row.cells[2] : "",
                ]
                table.row(cells, columns, named: row.isSum ? "sum" : nil)
            }
        }
        part.element(
            "p", [.named("soft")],
            "The run before is \(previous.runID), begun \(previous.started.readable) UTC.")
    }

    private func leftOut(_ part: inout Markup) {
        let reasons = SummarySections.undecided(summary)
        part.table(reasons, "Not judged or left out, and why", first: "reason")
        if reasons.isEmpty {
            part.element("p", "No row in scope was left without a verdict.")
        }
        part.list(header.narrowing.map { "The run was narrowed: only \($0)." })
        if let unasked = summary.conclusion.coverage?.unasked, unasked > 0 {
            part.element("p") { line in
                line.text(
                    "\(unasked.of("row")) of the table \(unasked == 1 ? "was" : "were") not asked "
                        + "about, as there was no reason to: ")
                line.element(
                    "a", [.init("href", "#" + PageSection.coverage.rawValue)],
                    "what was asked, and what is left at risk")
                line.text(".")
            }
        }
    }
}

extension Int {
    fileprivate func addingClamped(_ other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}

extension RunCoverage {
    /// Rows that nobody asked about; `nil` where that was not counted.
    ///
    /// What earlier versions stored tells only of rows that no reason named.
    var unasked: Int? { table?.notAsked ?? quiet.map { max(0, $0 - (sample?.drawn ?? 0)) } }
}

extension Ink {
    /// The class of the page's style.
    var name: String {
        switch self {
        case .plain, .heading: "plain"
        case .good: "good"
        case .notable: "notable"
        case .alarming: "alarming"
        }
    }
}
