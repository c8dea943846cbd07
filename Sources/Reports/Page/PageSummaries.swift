import Subscriptions

/// What the summary says, in the words of `summary.txt`.
struct PageSummaries {
    let facts: PageFacts

    private var summary: RunSummary { facts.summary }

    func append(_ section: PageSection, to page: inout Markup) {
        switch section {
        case .coverage: coverage(&page)
        case .findings: findings(&page)
        case .causes: causes(&page)
        case .money: money(&page)
        case .decisions: decisions(&page)
        case .calls: calls(&page)
        case .next: page.list(SummarySections.next(summary).sentences)
        default: break
        }
    }

    private func coverage(_ page: inout Markup) {
        let questions = SummarySections.coverage(summary)
        guard !questions.isEmpty else {
            page.element(
                "p",
                "What was asked and why was not counted: the run judged no rows itself, or is of a "
                    + "version that did not count it.")
            return
        }
        page.table(questions, "Questions to Apple, by reason", first: "reason", last: "why")
        let risk = SummarySections.remainingRisk(summary)
        if !risk.isEmpty { page.element("h3", "What may still be wrong") }
        page.list(risk.sentences)
    }

    private func findings(_ page: inout Markup) {
        let counts = SummarySections.findings(summary)
        if counts.isEmpty { page.element("p", "There are no findings.") }
        page.table(counts, "Findings by kind and state", first: "kind")
        guard !facts.statuses.isEmpty else { return }
        let columns = [
            Markup.Column("ours"), Markup.Column("Apple’s"),
            Markup.Column("findings", .number),
        ]
        page.table("Where the status differs: both sides", columns) { table in
            let pairs = facts.statuses.sorted {
                ($0.key.ours, $0.key.apples) < ($1.key.ours, $1.key.apples)
            }
            for (pair, count) in pairs {
                table.row([pair.ours, pair.apples, count.grouped], columns)
            }
        }
    }

    private func causes(_ page: inout Markup) {
        let causes = CauseLines(summary)
        guard !causes.told.isEmpty else {
            page.element("p", "No causes were searched for, or there is nothing to explain.")
            return
        }
        let columns = [
            Markup.Column("findings", .number), Markup.Column("cause"),
            Markup.Column("what they have in common"),
        ]
        let all = causes.causes.reduce(0) { $0 + $1.findings }
        page.table("Causes of \(all.of("finding"))", columns, named: "stack") { table in
            for cause in causes.told {
                table.element("tr") { row in
                    row.element(
                        "td", [.named("n"), .init("data-label", "findings")],
                        cause.findings.grouped)
                    row.element("th", [.init("scope", "row"), .named(cause.ink.name)], cause.title)
                    row.element("td") { cell in
                        for sentence in cause.sentences { cell.element("p", sentence) }
                    }
                }
                table.lineFeed()
            }
        }
        if let others = causes.others { page.element("p", others) }
    }

    private func money(_ page: inout Markup) {
        let money = SummarySections.money(summary.money)
        guard !money.isEmpty else {
            page.element("p", "No finding names the price of a period.")
            return
        }
        page.table(money, "List prices of periods concerned", first: "harm")
        page.element(
            "p", [.named("soft")],
            "Each currency in its own digits, each period once for each direction. These are list "
                + "prices: what was really paid is known to the accounts only.")
    }

    private func decisions(_ page: inout Markup) {
        let limits = SummarySections.limits(summary)
        let messages = SummarySections.messages(summary)
        let lifted = SummarySections.liftedGuards(summary)
        let known = SummarySections.acknowledged(summary)
        if limits.isEmpty, messages.isEmpty, lifted.isEmpty, known.isEmpty {
            page.element(
                "p",
                "No limit was reached, no guard was lifted and no finding is acknowledged; the run "
                    + "had nothing to say.")
        }
        if !limits.isEmpty { page.element("h3", "Limits reached") }
        page.list(limits.sentences)
        if !messages.isEmpty { page.element("h3", "Messages") }
        page.list(messages.sentences)
        page.table(lifted, "Guards lifted for this run", first: "guard")
        let would = summary.liftedGuards.compactMap { lift in
            lift.breach.map { "\(lift.name.rawValue) would have said: \($0)" }
        }
        page.list(would)
        page.table(known, "Acknowledged findings", first: "finding")
    }

    private func calls(_ page: inout Markup) {
        let calls = SummarySections.calls(summary)
        if calls.isEmpty { page.element("p", "Apple was not called.") }
        page.table(calls, "Calls to Apple, by endpoint", first: "endpoint")
        let measures = PageMeasures(measures: summary.measures)
        measures.appendEffort(to: &page)
        if !facts.notifications.isEmpty {
            let columns = [
                Markup.Column("became of it"), Markup.Column("notifications", .number),
            ]
            page.table("Apple’s notifications against the inbox", columns) { table in
                for (verdict, count) in facts.notifications.sorted(by: { $0.key < $1.key }) {
                    table.row([verdict, count.grouped], columns)
                }
            }
        }
        measures.appendDelays(to: &page)
        page.table(SummarySections.evidence(summary), "Evidence kept", first: "statements are")
    }
}
