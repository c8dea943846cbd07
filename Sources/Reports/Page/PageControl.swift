import Subscriptions

/// Control totals: how one count of the company's tables comes to the next, and both sides of what
/// was checked.
extension Page {
    func control(_ page: inout Markup) {
        guard let control = summary.control else {
            page.element(
                "p",
                summary.header.filters.isEmpty
                    ? "Control totals were not counted: the run only read notifications, or it is of a "
                        + "version that did not count them."
                    : "Control totals are not counted for a partial run.")
            return
        }
        for app in control.apps {
            if control.apps.count > 1 {
                page.element("h3", heading(of: app))
            }
            append(app, to: &page)
        }
    }

    /// Rows of apps that are not configured are in our tables as well.
    private func heading(of app: AppControlTotals) -> String {
        let isConfigured = summary.header.apps.contains {
            $0.bundleID == app.bundleID && $0.environment.rawValue == app.environment
        }
        if isConfigured { return "\(app.bundleID) (\(app.environment))" }
        guard app.bundleID.isEmpty, app.environment.isEmpty else {
            return "\(app.bundleID) (\(app.environment)), not configured"
        }
        return "All apps that are not configured"
    }

    private func append(_ app: AppControlTotals, to page: inout Markup) {
        for sentence in app.sentences { page.element("p", sentence) }
        page.table(
            "Stored rows by status: from one count to the next",
            Self.statusColumns(first: "rows")
        ) { table in
            for step in app.steps {
                Self.statuses(
                    step.name, step.sums, isChange: step.isChange, isSum: !step.isChange, to: &table
                )
            }
        }
        prices(of: app, to: &page)
        guard app.judged.before.rows > 0 else {
            page.element("p", [.named("soft")], "The run checked no row of this app itself.")
            return
        }
        judged(app.judged, to: &page)
        latestPrices(app.judged, holdsPeriods: app.holdsPeriods, to: &page)
    }

    // MARK: Rows

    private static func statusColumns(first: String) -> [Markup.Column] {
        [Markup.Column(first)] + ControlSums.statusGroups.map { .number(name(ofStatus: $0)) }
            + [.number("all")]
    }

    private static func name(ofStatus group: Int) -> String {
        switch group {
        case 1: "1 active"
        case 2: "2 expired"
        case 3: "3 billing retry"
        case 4: "4 grace period"
        case 5: "5 revoked"
        default: "none"
        }
    }

    private static func statuses(
        _ name: String, _ sums: ControlSums, isChange: Bool = false, isSum: Bool = false,
        to table: inout Markup
    ) {
        let numbers = ControlSums.statusGroups.map { sums.statuses[$0] ?? 0 } + [sums.rows]
        table.row(
            [name] + numbers.map { isChange ? $0.signed : $0.grouped },
            statusColumns(first: ""), named: isSum ? "sum" : nil)
    }

    private func judged(_ judged: JudgedTotals, to page: inout Markup) {
        page.table(
            "Rows checked: stored and Apple’s, each side counted by itself",
            Self.statusColumns(first: "rows")
        ) { table in
            Self.statuses("stored, when they were checked", judged.before, to: &table)
            Self.statuses("Apple states", judged.apple, to: &table)
            Self.statuses("stored, at the end", judged.after, to: &table)
            Self.statuses(
                "stored at the end less Apple’s", judged.after - judged.apple, isChange: true,
                isSum: true, to: &table)
        }
        if let silent = judged.apple.statuses[0], silent > 0 {
            page.element(
                "p", [.named("soft")],
                "Apple states nothing about \(silent.of("row")): their ids "
                    + "are not found, or belong to another row, app or environment.")
        }
    }

    // MARK: Prices

    /// Where no period is held there is nothing to compare: a difference would look like lost
    /// money.
    private func latestPrices(
        _ judged: JudgedTotals, holdsPeriods: Bool, to page: inout Markup
    ) {
        var columns: [Markup.Column] = [
            "currency", .number("rows, Apple’s"), .number("Apple states"),
        ]
        if holdsPeriods {
            columns += [
                .number("rows, stored"), .number("stored, at the end"), .number("difference"),
            ]
        }
        let sides = holdsPeriods ? [judged.apple, judged.after] : [judged.apple]
        page.table(
            holdsPeriods
                ? "Rows checked: list price of the period that each side names as the latest"
                : "Rows checked: list price of the period that Apple names as the latest", columns,
            rows: ControlSums.currencies(of: sides).map { currency in
                let (apple, ours) = (judged.apple.price(currency), judged.after.price(currency))
                let cells = [
                    currency.currencyName, apple.periods.grouped,
                    apple.amount.amount(in: currency),
                ]
                guard holdsPeriods else { return cells }
                let difference = (judged.after - judged.apple).price(currency).amount
                return cells + [
                    ours.periods.grouped, ours.amount.amount(in: currency),
                    difference.signedAmount(in: currency),
                ]
            })
    }

    private func prices(of app: AppControlTotals, to page: inout Markup) {
        let steps = app.steps
        let currencies = ControlSums.currencies(of: steps.map(\.sums))
        guard app.holdsPeriods else {
            page.element(
                "p", [.named("soft")], "No period of this app is stored, so there are no prices.")
            return
        }
        page.table(
            "Stored periods: sum of prices by currency",
            ["currency", .number("periods at the end")] + steps.map { .number($0.name) },
            rows: currencies.map { currency in
                let amounts = steps.map { step in
                    let amount = step.sums.price(currency).amount
                    return step.isChange
                        ? amount.signedAmount(in: currency) : amount.amount(in: currency)
                }
                return [currency.currencyName, app.after.price(currency).periods.grouped] + amounts
            })
    }
}

extension AppControlTotals {
    /// Whether a period of the app was in the table at any count.
    var holdsPeriods: Bool { !ControlSums.currencies(of: steps.map(\.sums)).isEmpty }

    /// The way from the end of the run before, where one was counted, to the end of this one.
    ///
    /// A change is added to the lines before it; every other line is their sum, and was counted.
    var steps: [(name: String, sums: ControlSums, isChange: Bool)] {
        var steps: [(name: String, sums: ControlSums, isChange: Bool)] = []
        if let previous, let othersSince {
            steps.append(("end of the run before", previous.sums, false))
            if !uncounted.isNothing {
                steps.append(("corrections of runs not counted", uncounted, true))
            }
            steps.append(("written by others since", othersSince, true))
        }
        steps += [
            ("as this run began", before, false),
            ("corrections of this run", corrections, true),
            ("written by others meanwhile", othersMeanwhile, true),
            ("as this run ended", after, false),
        ]
        return steps
    }

    /// Whether the counts tie with each other and with the run before, in words.
    var sentences: [String] {
        var sentences: [String] = []
        if let previous, let othersSince {
            sentences.append(
                othersSince.isNothing
                    ? "Ties with run \(previous.runID): this run began with the totals with which that run "
                        + "ended"
                        + (uncounted.isNothing
                            ? "."
                            : ", except for what killed or partial runs corrected in between.")
                    : "Other programs have written to the tables since run \(previous.runID) ended. The "
                        + "table below shows how that changed the totals.")
        } else {
            sentences.append(
                "No earlier run has counted these tables, so there is nothing to compare with yet.")
        }
        if !othersMeanwhile.isNothing {
            sentences.append("Other programs also wrote during this run.")
        }
        return sentences
    }
}

extension ControlSums {
    fileprivate func price(_ currency: String) -> Price {
        prices[currency] ?? Price(periods: 0, amount: 0)
    }

    /// Every currency of some sums, periods without one last.
    fileprivate static func currencies(of sums: [ControlSums]) -> [String] {
        let codes = sums.reduce(into: Set<String>()) { codes, sums in
            codes.formUnion(sums.prices.keys)
        }
        return codes.filter { !$0.isEmpty }.sorted() + (codes.contains("") ? [""] : [])
    }
}

extension String {
    fileprivate var currencyName: String { isEmpty ? "none stated" : self }
}

extension Int {
    /// With a sign, unless it is nothing.
    fileprivate var signed: String { (self > 0 ? "+" : "") + grouped }
}

extension Int64 {
    fileprivate func signedAmount(in currency: String) -> String {
        (self > 0 ? "+" : "") + amount(in: currency)
    }
}

/// How a reader checks the page, what to write down, and where to sign.
extension Page {
    func check(_ page: inout Markup) {
        page.element(
            "p",
            "You can check what Apple signed, and that no file was changed, without trusting the program. "
                + "What your own table held before the run is the program’s record: only your own backups "
                + "and logs can confirm it. Work in the run’s report folder; README.txt has every command, "
                + "down to Apple’s signature with openssl.")
        page.element("ol") { list in
            step("The files are as they were written:", "sha256sum -c SHA256SUMS", &list)
            step(
                "Signatures, hash chain, totals and this page’s own digest hold:",
                "trueup verify .",
                &list)
            appendAnchor(to: &list)
            step(
                "This page is made from the stored run alone, and can be made again:",
                "trueup report \(summary.header.runID) --file report.html | sha256sum", &list)
        }
        page.table("The run", ["what", "value"], rows: identity.map { [$0, $1] })
    }

    /// Appends the digest to write down: an empty ledger has no head yet, and the value that
    /// represents one is in every chain.
    private func appendAnchor(to list: inout Markup) {
        let isEmpty = summary.ledgerHead == LedgerEntry.firstPreviousHash
        let opening =
            "A report cannot show that it was replaced as a whole. A number that you wrote down in another "
            + "place on the day can. It is "
        let digest = "the digest of the manifest, which the next run’s manifest repeats:"
        step(
            opening + (isEmpty ? digest : "one of these two: the ledger’s head, and " + digest),
            (isEmpty ? "" : summary.ledgerHead + "\n") + "sha256sum manifest.json", &list)
        step(
            "Later, from the folder with all runs, that number must still be in the chain:",
            "trueup verify --anchor " + (isEmpty ? "DIGEST" : summary.ledgerHead), &list)
    }

    private func step(_ text: String, _ command: String, _ list: inout Markup) {
        list.element("li") { item in
            item.element("p", text)
            item.element("pre", [.init("tabindex", "0")]) { block in
                for (index, line) in command.split(separator: "\n").enumerated() {
                    if index > 0 { block.lineFeed() }
                    block.element("code", String(line))
                }
            }
        }
        list.lineFeed()
    }

    private var identity: [(String, String)] {
        let header = summary.header
        let ended = summary.conclusion.ended
        var facts = [
            ("run", header.runID),
            ("job and mode", "\(header.job), \(header.mode.rawValue)"),
            ("by", header.actor),
            ("began", header.started.rfc3339),
            ("ended", "\(ended.rfc3339), after \(header.started.duration(until: ended))"),
        ]
        facts += header.apps.sorted().map { ("app", "\($0.bundleID), \($0.environment.rawValue)") }
        facts += self.facts.trustedRoots.map {
            ("trusted root", $0.fingerprint + ($0.isApple ? " (Apple’s)" : " (not Apple’s)"))
        }
        facts += [
            ("settings digest", header.settingsDigest), ("ledger head", summary.ledgerHead),
            ("program", "trueup \(header.toolVersion)"),
        ]
        if let plan = summary.plan { facts.append(("plan", plan.sha256)) }
        if let earlier = summary.resumedFrom { facts.append(("continues", earlier)) }
        if let undone = summary.undoOf { facts.append(("reverts", undone)) }
        return facts
    }

    func signatures(_ page: inout Markup) {
        page.element(
            "p",
            "Before you sign, write the anchor down in another place, and make the checks above "
                + "yourself.")
        page.table(
            "Seen and checked", ["who", "name", "date", "anchor written down in", "signature"],
            named: "sign",
            rows: ["prepared by", "reviewed by", "auditor"].map { [$0, "", "", "", ""] })
    }
}
