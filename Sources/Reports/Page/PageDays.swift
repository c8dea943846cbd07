import Subscriptions

/// The days before: drawings over 30 of them, and a calendar of 90.
extension Page {
    private var history: PageHistory { facts.history }
    /// The most drawings of money; one for each currency and direction.
    private static let mostMoney = 8

    func charts(_ page: inout Markup) {
        let nights = history.recent
        page.element(
            "p",
            "The \(nights.count.grouped) days to \(nights.last?.day ?? ""), with one bar for each day. "
                + "Each chart has its own scale. A mark below the line is a day, since the first run in "
                + "\(PageHistory.calendarDays) days, without a complete run of the whole job, or whose "
                + "run did not count this. A day with "
                + "several runs shows the last one.")
        page.element("h3", "Findings by kind")
        let kinds = FindingKind.allCases.filter { kind in
            nights.contains { ($0.run?.figures?.kinds[kind.rawValue] ?? 0) > 0 }
        }
        if kinds.isEmpty { page.element("p", "None on these days.") }
        var number = 0
        draw(
            kinds.map { kind in
                chart(kind.rawValue) { run in
                    run.figures.map { Int64($0.kinds[kind.rawValue] ?? 0) }
                }
            }, &number, &page)
        page.element("h3", "Coverage and calls")
        draw(
            [
                chart("age of Apple’s oldest statement, in days") { run in
                    run.coverage?.oldestCheck.map {
                        max(0, run.started.milliseconds(since: $0) / Milliseconds.perDay)
                    }
                },
                chart("rows asked") { run in
                    run.coverage.map { Int64($0.askedRows) }
                },
                chart("rows not checked") { Int64($0.totals.undecidedCount) },
                chart("calls to Apple") { Int64($0.calls) },
            ] + forecasts(), &number, &page)
        measures(&number, &page)
        money(&number, &page)
    }

    /// Calls by endpoint against the quota, and how late notifications came, once that is measured.
    private func measures(_ number: inout Int, _ page: inout Markup) {
        let runs = history.recent.compactMap(\.run)
        let endpoints = Set(runs.flatMap(\.callsByEndpoint.keys)).sorted()
        if !endpoints.isEmpty {
            page.element("h3", "Calls against Apple’s quota")
            draw(
                endpoints.map { endpoint in
                    chart("calls to \(endpoint)") {
                        Int64(clamping: $0.callsByEndpoint[endpoint] ?? 0)
                    }
                } + [
                    chart(
                        "busiest hour of any endpoint, in % of Apple’s limit", text: Self.percent
                    ) { $0.measures?.effort.map { $0.peaks.map(\.perMille).max() ?? 0 } },
                    chart("waited before calls", text: Self.length) {
                        $0.measures?.effort.map { $0.waited / 1000 }
                    },
                ], &number, &page)
        }
        guard runs.contains(where: { $0.measures?.delivery != nil }) else { return }
        page.element("h3", "How late notifications came")
        draw(
            [
                chart("notifications that came: half took no longer than", text: Self.length) {
                    $0.measures?.delivery?.arrived?.medianSeconds
                },
                chart("notifications that came: the latest", text: Self.length) {
                    $0.measures?.delivery?.arrived?.worstSeconds
                },
                chart(
                    "notifications brought by the run: half took no longer than", text: Self.length
                ) { $0.measures?.delivery?.recovered?.medianSeconds },
                chart("notifications brought by the run: the latest", text: Self.length) {
                    $0.measures?.delivery?.recovered?.worstSeconds
                },
            ], &number, &page)
    }

    /// Calls against what was forecast, where any run has a forecast.
    private func forecasts() -> [DayBars] {
        guard history.recent.contains(where: { $0.run?.coverage?.forecast != nil }) else {
            return []
        }
        return [
            chart("calls in % of the forecast") { run in
                guard let forecast = run.coverage?.forecast else { return nil }
                let expected = forecast.calls.values.reduce(0, +)
                guard expected > 0 else { return nil }
                let percent = (Double(run.calls) / Double(expected) * 100).rounded()
                return Int64(min(percent, 1_000_000))
            }
        ]
    }

    private func money(_ number: inout Int, _ page: inout Markup) {
        // One total of each direction and currency.
        var groups: [MoneyTotal] = []
        for total in history.recent.compactMap({ $0.run?.figures?.money }).joined()
        where !groups.contains(where: { $0.isSummed(with: total) }) {
            groups.append(total)
        }
        guard !groups.isEmpty else { return }
        page.element("h3", "List prices of periods concerned")
        draw(
            groups.sortedForReading.prefix(Self.mostMoney).map { group in
                chart(
                    "\(group.currency) \(group.direction.meaning)",
                    text: { "\($0.amount(in: group.currency)) \(group.currency)" }
                ) { run in
                    run.figures.map { figures in
                        figures.money.first { $0.isSummed(with: group) }?.amount ?? 0
                    }
                }
            }, &number, &page)
        let more = groups.count - Self.mostMoney
        if more > 0 {
            page.element(
                "p", "\(more.grouped) more; summary.json of each run has all currencies.")
        }
    }

    private func draw(_ charts: [DayBars], _ number: inout Int, _ page: inout Markup) {
        guard !charts.isEmpty else { return }
        page.element("div", [.named("charts")]) { part in
            for chart in charts {
                number += 1
                chart.append(number: number, to: &part)
            }
        }
        page.lineFeed()
    }

    /// A drawing of a number of the runs; `text` is how it is written.
    private func chart(
        _ title: String, text: @escaping (Int64) -> String = { Int(clamping: $0).grouped },
        _ value: (EarlierRun) -> Int64?
    ) -> DayBars {
        let values = history.recent.map { night in
            let run = night.run.flatMap {
                $0.isWhole || $0.runID == summary.header.runID ? $0 : nil
            }
            return (night.day, run.flatMap(value))
        }
        return DayBars(title: title, values: values, first: history.first, text: text)
    }

    // MARK: The calendar

    func calendar(_ page: inout Markup) {
        let first = history.first
        page.element(
            "p",
            "\(history.nights.count.grouped) days: \(history.held.grouped) with a run of this job, and "
                + "\(history.missing.grouped) without one since the first of these, on \(first). Each day "
                + "says how the run that began on it (UTC) ended.")
        let days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
        let columns = (["week of"] + days).map { Markup.Column($0) }
        page.table("How each day ended", columns, named: "calendar") { table in
            for week in weeks {
                table.element("tr") { row in
                    row.element("th", [.init("scope", "row")], week.first?.day ?? "")
                    for (day, night) in week { append(night, to: &row, isSince: day >= first) }
                }
                table.lineFeed()
            }
        }
    }

    /// Seven days each, from Monday on; `night` is `nil` outside the days that are shown.
    private var weeks: [[(day: String, night: PageHistory.Night?)]] {
        let own = summary.header.started
        let (today, _) = own.unixMilliseconds.floorDivided(by: Milliseconds.perDay)
        // 1970-01-01 was a Thursday.
        let sinceMonday = Int(today.floorDivided(by: 7).remainder + 3) % 7
        let shown = history.nights.count
        let count = (shown - sinceMonday - 1 + 6) / 7 + 1
        let byDay = Dictionary(history.nights.map { ($0.day, $0) }) { first, _ in first }
        return (0..<count).map { week in
            (0..<7).map { weekday in
                let age = sinceMonday + (count - 1 - week) * 7 - weekday
                let day = own.adding(milliseconds: -Int64(age) * Milliseconds.perDay).utcDay
                return (day, byDay[day])
            }
        }
    }

    private func append(_ night: PageHistory.Night?, to row: inout Markup, isSince: Bool) {
        guard let night else {
            row.element("td", "")
            return
        }
        let isToday = night.day == summary.header.started.utcDay
        let number = String(night.day.suffix(2))
        guard let run = night.run else {
            row.element("td", isSince ? [.named("missing")] : []) { day in
                day.element("b", number)
                day.text(isSince ? " no run" : " –")
            }
            return
        }
        row.element("td", isToday ? [.named("today")] : []) { day in
            day.element("b", number)
            day.text(" ")
            day.element("span", [.named(run.ink.name)], run.word)
        }
    }
}

extension EarlierRun {
    /// How the run ended, in a word.
    fileprivate var word: String {
        guard let exitStatus else { return "killed" }
        return exitStatus.name + (isPartial ? ", in part" : "")
    }

    fileprivate var ink: Ink {
        switch exitStatus {
        case nil: .alarming
        case .ok: .good
        case .findings, .incomplete, .empty, .stale: .notable
        default: .alarming
        }
    }
}

/// A drawing of one number over the days, with the same in words.
struct DayBars {
    /// The name of the counted thing, as the caption has it.
    let title: String
    /// The oldest first; `nil` where nothing ran or nothing was counted.
    let values: [(day: String, value: Int64?)]
    /// The day of the first run in the calendar's days; days before it have no mark.
    let first: String
    /// How a value is written.
    let text: (Int64) -> String

    private static let slot = 10

    /// Adds the drawing; `number` tells those of the page apart.
    func append(number: Int, to page: inout Markup) {
        let highest = values.compactMap(\.value).max() ?? 0
        page.drawing(
            title, caption: ": " + words(highest), description: description,
            ids: ("t\(number)", "d\(number)"), width: values.count * Self.slot
        ) { drawing in
            for (index, night) in values.enumerated() where night.day >= first {
                let left = index * Self.slot + 1
                guard let value = night.value else {
                    // A short mark below the line, so that it is not a zero.
                    drawing.line(
                        from: left, to: left + Self.slot - 2, at: Markup.drawingHeight + 3,
                        named: "gap")
                    continue
                }
                drawing.bar(
                    value, of: highest, from: left, width: Self.slot - 2,
                    named: index == values.count - 1 ? "last" : "bar")
            }
        }
    }

    private func words(_ highest: Int64) -> String {
        let now = values.last?.value.map(text) ?? "not counted"
        guard let peak = values.last(where: { $0.value == highest }), highest > 0 else {
            return now + " this time"
        }
        return "\(now) this time; most \(text(highest)) on \(peak.day)"
    }

    /// Every value, for those who do not see the drawing.
    private var description: String {
        let held = values.filter { $0.day >= first }
        let before = held.count < values.count ? ["no run on the days before \(first)"] : []
        return (before + held.map { "\($0.day): \($0.value.map(text) ?? "not counted")" })
            .joined(separator: "; ")
    }
}

/// Drawings of numbers by day.
extension Markup {
    /// The height of a drawing down to its base line.
    static let drawingHeight = 48

    /// A drawing with its caption, and the same in words for those who do not see it.
    ///
    /// - Parameters:
    ///   - title: The name of the counted thing.
    ///   - caption: What follows it in the caption.
    ///   - description: Every value.
    ///   - ids: Of title and description; no other drawing of the page has them.
    ///   - width: Of the base line.
    ///   - shapes: Adds what is drawn above it.
    mutating func drawing(
        _ title: String, caption: String, description: String,
        ids: (title: String, description: String), width: Int,
        _ shapes: (inout Markup) -> Void
    ) {
        element("figure") { figure in
            figure.element("figcaption") { text in
                text.element("b", title)
                text.text(caption)
            }
            figure.element(
                "svg",
                [
                    .init("viewBox", "0 0 \(width) \(Self.drawingHeight + 4)"),
                    .init("role", "img"), .init("preserveAspectRatio", "none"),
                    .init("aria-labelledby", "\(ids.title) \(ids.description)"),
                ]
            ) { drawing in
                drawing.element("title", [.init("id", ids.title)], title)
                drawing.element("desc", [.init("id", ids.description)], description)
                shapes(&drawing)
                drawing.line(from: 0, to: width, at: Self.drawingHeight, named: "base")
            }
        }
        lineFeed()
    }

    mutating func line(from left: Int, to right: Int, at height: Int, named name: String) {
        shape(
            "line",
            [
                .named(name), .init("x1", "\(left)"), .init("y1", "\(height)"),
                .init("x2", "\(right)"), .init("y2", "\(height)"),
            ])
    }

    /// A bar as tall as its share of the highest value; none for a value of 0.
    mutating func bar(
        _ value: Int64, of highest: Int64, from left: Int, width: Int, named name: String
    ) {
        guard value > 0, highest > 0 else { return }
        let share = Double(value) / Double(highest)
        let tall = max(1, Int((share * Double(Self.drawingHeight - 2)).rounded()))
        shape(
            "rect",
            [
                .named(name), .init("x", "\(left)"), .init("y", "\(Self.drawingHeight - tall)"),
                .init("width", "\(width)"), .init("height", "\(tall)"),
            ])
    }
}

/// The days of a job up to a run, a run a day.
struct PageHistory {
    /// A UTC day and what ran; `nil` where nothing did.
    typealias Night = (day: String, run: EarlierRun?)

    static let calendarDays = 90
    static let chartDays = 30

    /// The oldest first; the last one is the run's own.
    let nights: [Night]
    /// The newest complete run before on these days, with which totals are compared.
    let previous: EarlierRun?

    init(_ source: ReportSource) throws {
        let own = EarlierRun(source.summary)
        let days = (0..<Self.calendarDays).reversed().map { age in
            own.started.adding(milliseconds: -Int64(age) * Milliseconds.perDay)
        }
        let first = days.first?.startOfDay() ?? own.started
        var byDay: [String: EarlierRun] = [:]
        var previous: EarlierRun?
        try source.record.forEachEarlierRun(since: first) { run in
            let day = run.started.utcDay
            if run.weight >= byDay[day]?.weight ?? 0 { byDay[day] = run }
            if run.isWhole { previous = run }
        }
        byDay[own.started.utcDay] = own
        nights = days.map { ($0.utcDay, byDay[$0.utcDay]) }
        self.previous = previous
    }

    /// The last days for a chart.
    var recent: ArraySlice<Night> { nights.suffix(Self.chartDays) }

    /// Days without a run since the first that has one.
    var missing: Int { nights.drop { $0.run == nil }.filter { $0.run == nil }.count }
    /// The first day with a run; the run's own where there is no earlier one.
    var first: String { nights.first { $0.run != nil }?.day ?? "" }
    /// Days with a run.
    var held: Int { nights.filter { $0.run != nil }.count }
}

extension EarlierRun {
    /// The run itself, as a later one will see it.
    init(_ summary: RunSummary) {
        var kinds: [String: Int] = [:]
        for count in summary.findings { kinds[count.kind.rawValue, default: 0] += count.findings }
        self.init(
            runID: summary.header.runID, started: summary.header.started,
            exitStatus: summary.conclusion.exitStatus,
            isPartial: !summary.header.leavesOutNothingOfItsApps, totals: summary.totals,
            calls: summary.conclusion.calls.reduce(0) { $0 + $1.calls },
            coverage: summary.conclusion.coverage,
            figures: RunFigures(kinds: kinds, money: summary.money))
        for count in summary.conclusion.calls {
            callsByEndpoint[count.endpoint, default: 0] += count.calls
        }
        measures = summary.measures
    }

    /// Whether it came to the end of the whole job, for the same apps, so that its numbers can be held
    /// against others.
    var isWhole: Bool {
        guard let exitStatus, !isPartial, !isOfOtherApps else { return false }
        return [.ok, .findings, .incomplete, .guarded, .empty, .stale].contains(exitStatus)
    }

    /// Of several runs of a day a whole one represents it, otherwise one that came to its end.
    fileprivate var weight: Int { isWhole ? 2 : exitStatus != nil ? 1 : 0 }
}
