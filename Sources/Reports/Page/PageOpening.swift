import Subscriptions

/// The first screen: the verdict, the tie-out, the numbers, and what was not looked at.
extension Page {
    private func opening(_ page: inout Markup) {
        let header = summary.header
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
    private func numbers(_ page: inout Markup) {
        page.element("section", [.init("aria-label", "The run in numbers")]) { part in
            part.element("dl", [.named("figures by\(Self.columns(of: figures.count))")]) { list in
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

    /// Columns that leave no figure alone in a row.
    static func columns(of figures: Int) -> Int {
        switch figures {
        case ...6: 3
        case 7, 8: 4
        default: 5
        }
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

    private var open: Int { summary.count(of: WorstFindings.openStates) }
    private var new: Int { summary.count(of: [.new]) }

    private var verdict: [String] {
        var sentences: [String] = []
        let totals = summary.totals
        if summary.judgesNothing {
            sentences.append(
                "The run checked no row itself"
                    + (totals.inScope > 0
                        ? "; the rows below are those of the plan, as they were checked before it."
                        : "."))
        } else if totals.inScope > 0 {
            sentences.append(
                "\(totals.judged.grouped) of \(totals.inScope.of("row")) checked: "
                    + "\(totals.matched.grouped) agree with Apple, \(totals.discrepant.grouped) "
                    + "\(totals.discrepant == 1 ? "differs" : "differ").")
        }
        if let purchases = summary.measures?.purchases {
            sentences.append(
                "\(purchases.checked.grouped) of \(purchases.stored.of("stored one-time purchase")) checked: "
                    + "\(purchases.matched.grouped) agree with Apple, \(purchases.discrepant.grouped) "
                    + "\(purchases.discrepant == 1 ? "differs" : "differ"), "
                    + "\(purchases.corrected.grouped) corrected.")
        }
        let found = summary.findingCount
        if found > 0 {
            let known = summary.count(of: [.acknowledged])
            sentences.append(
                "\(found.of("finding")): \(resolved), \(open.grouped) open, of these \(new.grouped) new"
                    + (known > 0 ? "; \(known.grouped) acknowledged" : "") + ".")
        }
        sentences += [
            harm(facts.withheld, "Access that Apple grants was withheld from"),
            harm(facts.unpaid, "Access that Apple has ended was given to"),
        ].compactMap(\.self)
        return sentences
    }

    /// A notification that was recovered is not a row that was written.
    private var resolved: String {
        let recovered = summary.count {
            $0.state == .corrected && [.notificationMissed, .notificationLost].contains($0.kind)
        }
        let corrected = summary.count(of: [.corrected]) - recovered
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
        if let first = harm.firstSeen { parts.append("first seen on \(first.utcDay)") }
        parts.append("\(harm.corrected.grouped) corrected")
        return parts.joined(separator: "; ") + "."
    }

    // MARK: The numbers

    private var figures: [(name: String, value: String, more: String?)] {
        let ofRows = rowFigures
        // A company with one-time purchases alone has no rows to count.
        let hasRows = summary.measures?.purchases == nil || ofRows.contains { $0.value != "0" }
        return (hasRows ? ofRows : []) + purchaseFigures + commonFigures
    }

    private var purchaseFigures: [(name: String, value: String, more: String?)] {
        guard let purchases = summary.measures?.purchases else { return [] }
        return [
            (
                "purchases stored", purchases.stored.grouped,
                purchases.inserted > 0 ? "\(purchases.inserted.grouped) inserted by the run" : nil
            ),
            (
                "purchases agree", purchases.matched.grouped,
                purchases.notChecked > 0 ? "\(purchases.notChecked.grouped) not checked" : nil
            ),
            (
                "purchases differ", purchases.discrepant.grouped,
                "\(purchases.corrected.grouped) of them corrected"
            ),
        ]
    }

    private var rowFigures: [(name: String, value: String, more: String?)] {
        let totals = summary.totals
        var figures: [(name: String, value: String, more: String?)] = []
        if let coverage = summary.conclusion.coverage {
            figures.append(
                (
                    "asked", coverage.askedRows.grouped,
                    coverage.settledByNotification > 0
                        ? "\(coverage.settledByNotification.grouped) settled without a call" : nil
                ))
            if let unasked = coverage.unasked {
                figures.append(("not asked", unasked.grouped, "no reason to ask"))
            }
        }
        if let apps = summary.control?.apps {
            let (before, after) = apps.reduce(into: (0, 0)) { sums, app in
                sums.0 = sums.0.addingClamped(app.before.rows)
                sums.1 = sums.1.addingClamped(app.after.rows)
            }
            figures.append(("rows stored", after.grouped, "\(before.grouped) as the run began"))
        }
        return figures + [
            ("agree", totals.matched.grouped, nil),
            ("differ", totals.discrepant.grouped, nil),
        ]
    }

    private var commonFigures: [(name: String, value: String, more: String?)] {
        let totals = summary.totals
        let planned = summary.corrections[.planned] ?? 0
        var figures: [(name: String, value: String, more: String?)] = [
            (
                "corrections written", (summary.corrections[.applied] ?? 0).grouped,
                planned > 0 ? "\(planned.grouped) planned, not written" : nil
            ),
            ("findings open", open.grouped, "\(new.grouped) of them new"),
            ("not checked", totals.undecidedCount.grouped, "never counted as a match"),
        ]
        // No option left these out, so they also make the run incomplete.
        if let unconfigured = totals.excluded[.appNotConfigured], unconfigured > 0 {
            figures.append(("of no configured app", unconfigured.grouped, "never checked"))
        }
        return figures
    }

    private func tieOut(_ part: inout Markup) {
        let own = Section.tieOut(summary.totals)
        guard let previous = facts.history.previous else {
            part.table(own, "Tie-out", first: "rows are")
            part.element(
                "p", [.named("soft")],
                "There is no complete earlier run of the job"
                    + (summary.header.isForAppsAlone ? " for the same apps" : "")
                    + " within \(PageHistory.calendarDays) days to compare with.")
            return
        }
        let before = Section.tieOut(previous.totals).rows
        let columns: [Markup.Column] = [
            "rows are", .number("this run"), .number("run before"), "meaning",
        ]
        part.table("Tie-out, next to the run before", columns) { table in
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
        let purchases = Section.purchases(summary)
        if !purchases.isEmpty {
            part.table(purchases, "One-time purchases", first: "purchases are")
        }
        let reasons = Section.undecided(summary)
        part.table(reasons, "Not checked or excluded, and why", first: "reason")
        if reasons.isEmpty {
            part.element("p", "No row in scope was left without a verdict.")
        }
        let unowned = Section.unowned(summary)
        if !unowned.isEmpty {
            part.table(unowned, "Purchases whose owner is not known, and why", first: "reason")
        }
        part.list(summary.header.filters.map { "This was a partial run: only \($0)." })
        if let unasked = summary.conclusion.coverage?.unasked, unasked > 0 {
            part.element("p") { line in
                line.text(
                    "Apple was not asked about \(unasked.of("row")) of the table, because there was no "
                        + "reason to: ")
                line.element(
                    "a", [.init("href", "#" + PageSection.coverage.rawValue)],
                    "what was checked, and what may still be wrong")
                line.text(".")
            }
        }
    }
}

extension FixedWidthInteger {
    /// The sum, or the nearest number that can be held.
    func addingClamped(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other > 0 ? .max : .min) : sum
    }
}

extension RunCoverage {
    /// Rows that no one asked about; `nil` where that was not counted.
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

extension ReportFile {
    static let page = ReportFile(
        name: "report.html",
        purpose: "the whole run on one page, for a browser or on paper; needs no network",
        statesEnd: true
    ) { source, file in
        var facts = try source.pageFacts ?? PageFacts(source)
        facts.summary = source.summary
        let page = Page(facts: facts).document
        try file.append { $0.append(contentsOf: page) }
    }
}

/// The report as one page that loads nothing: no script, no picture, no address.
///
/// Its size is bounded, because every list is, so it is made in memory and then written. It says
/// the same as `summary.txt`, in the same words, and nothing that changes after the run.
struct Page {
    let facts: PageFacts

    var summary: RunSummary { facts.summary }

    var document: [UInt8] {
        let header = summary.header
        return Markup.page(
            titled:
                "\(header.started.utcDay) \(header.job): \(summary.conclusion.exitStatus.name), "
                + "run \(header.runID)", body)
    }

    private func body(_ body: inout Markup) {
        opening(&body)
        body.element("main") { main in
            numbers(&main)
            for section in facts.sections {
                main.element("section", [.init("aria-labelledby", section.rawValue)]) { part in
                    part.heading(section)
                    content(of: section, &part)
                }
                main.lineFeed()
            }
        }
        body.lineFeed()
        body.element("footer") { footer in
            let header = summary.header
            footer.element(
                "p",
                "Run \(header.runID) of the job \(header.job), begun \(header.started.readable) UTC. "
                    + "All times are UTC. Some ids and digests are shortened; the files next to this "
                    + "page have every line.")
            if let notice = facts.notice { footer.element("p", notice) }
        }
        body.lineFeed()
    }

    private func content(of section: PageSection, _ part: inout Markup) {
        switch section {
        case .control: control(&part)
        case .coverage: coverage(&part)
        case .findings: findings(&part)
        case .causes: causes(&part)
        case .money: money(&part)
        case .open: openFindings(&part)
        case .examples: examples(&part)
        case .corrections: corrections(&part)
        case .absent: absent(&part)
        case .undecided: undecided(&part)
        case .decisions: decisions(&part)
        case .calls: calls(&part)
        case .business: BusinessView(summary).append(to: &part)
        case .nights: charts(&part)
        case .calendar: calendar(&part)
        case .next: part.list(Section.next(summary).sentences)
        case .check: check(&part)
        case .sign: signatures(&part)
        }
    }
}

/// The parts of the summary, in the words of `summary.txt`.
extension Page {
    private func coverage(_ page: inout Markup) {
        let questions = Section.coverage(summary)
        guard !questions.isEmpty else {
            page.element(
                "p",
                "The run did not count which rows it checked and why: it checked no rows itself, or an "
                    + "earlier version wrote it.")
            return
        }
        page.table(questions, "Questions to Apple, by reason", first: "reason", last: "why")
        let risk = Section.remainingRisk(summary)
        if !risk.isEmpty { page.element("h3", "What may still be wrong") }
        page.list(risk.sentences)
    }

    private func findings(_ page: inout Markup) {
        let counts = Section.findings(summary)
        if counts.isEmpty { page.element("p", "There are no findings.") }
        page.table(counts, "Findings by kind and state", first: "kind")
        guard !facts.statuses.isEmpty else { return }
        page.table(
            "Where the status differs: both sides", ["stored", "Apple’s", .number("findings")],
            rows: facts.statuses.sorted { $0.key < $1.key }.flatMap { stored, counts in
                counts.sorted { $0.key < $1.key }.map { [stored, $0, $1.grouped] }
            })
    }

    private func causes(_ page: inout Markup) {
        let causes = CauseLines(summary)
        guard !causes.shown.isEmpty else {
            page.element("p", "The run did not search for causes, or there is nothing to explain.")
            return
        }
        let all = causes.causes.reduce(0) { $0 + $1.findings }
        page.table(
            "Causes of \(all.of("finding"))",
            [.number("findings"), "cause", "what they have in common"], named: "stack"
        ) { table in
            for cause in causes.shown {
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
        if let rest = causes.withoutCause { page.element("p", rest) }
    }

    private func money(_ page: inout Markup) {
        let money = Section.money(summary.money)
        guard !money.isEmpty else {
            page.element("p", "No finding names the price of a period.")
            return
        }
        page.table(money, "List prices of periods concerned", first: "harm")
        page.element(
            "p", [.named("soft")],
            "Each period counts once for each direction. Each finding “price” counts in addition, with "
                + "the difference of the two prices. The others are list prices: Apple’s financial "
                + "reports say what customers really paid.")
    }

    private func decisions(_ page: inout Markup) {
        let limits = Section.limits(summary)
        let messages = Section.messages(summary)
        let lifted = Section.liftedGuards(summary)
        let known = Section.acknowledged(summary)
        if limits.isEmpty, messages.isEmpty, lifted.isEmpty, known.isEmpty {
            page.element(
                "p",
                "No limit was reached, no guard was lifted, no finding is acknowledged, and there are no "
                    + "messages.")
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
        let calls = Section.calls(summary)
        if calls.isEmpty { page.element("p", "Apple was not called.") }
        page.table(calls, "Calls to Apple, by endpoint", first: "endpoint")
        effort(&page)
        if !facts.notifications.isEmpty {
            page.table(
                "Apple’s notifications against the inbox",
                ["became of it", .number("notifications")],
                rows: facts.notifications.sorted { $0.key < $1.key }
                    .map { verdict, count in [verdict, count.grouped] })
        }
        delays(&page)
        page.table(Section.evidence(summary), "Evidence kept", first: "statements are")
    }
}
