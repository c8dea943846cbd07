import Subscriptions

/// The nights before: drawings over 30 of them, and a calendar of 90.
struct PageNights {
    let facts: PageFacts

    private var history: PageHistory { facts.history }
    /// The most drawings of money; one for each currency and direction.
    private static let mostMoney = 8

    func appendCharts(to page: inout Markup) {
        let nights = history.recent
        page.element(
            "p",
            "The \(nights.count.grouped) nights to \(nights.last?.day ?? ""), a bar a night, each "
                + "drawing with a scale of its own. A mark below the line is a night since the first run "
                + "without a complete run of the whole job, or one that did not count this. Of several "
                + "runs of a day the last one stands.")
        page.element("h3", "Findings by kind")
        let kinds = FindingKind.allCases.filter { kind in
            nights.contains { ($0.run?.figures?.kinds[kind.rawValue] ?? 0) > 0 }
        }
        if kinds.isEmpty { page.element("p", "None in these nights.") }
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
                chart("age of Apple’s oldest word, in days") { run in
                    run.coverage?.oldestCheck.map {
                        max(0, run.started.milliseconds(since: $0) / Milliseconds.perDay)
                    }
                },
                chart("rows asked about") { run in
                    run.coverage.map { Int64($0.askedRows) }
                },
                chart("rows not judged") { Int64($0.totals.undecidedCount) },
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
            draw(drawings(PageMeasures.calls(of: endpoints)), &number, &page)
        }
        guard runs.contains(where: { $0.measures?.delivery != nil }) else { return }
        page.element("h3", "How late notifications came")
        draw(drawings(PageMeasures.delays), &number, &page)
    }

    private func drawings(_ charts: [PageMeasures.Chart]) -> [NightBars] {
        charts.map { chart in
            NightBars(
                title: chart.title, values: values(chart.value), first: history.first,
                text: chart.text)
        }
    }

    /// Calls against what was forecast, where any run has a forecast.
    private func forecasts() -> [NightBars] {
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
        var groups: [(direction: Direction, currency: String)] = []
        for total in history.recent.compactMap({ $0.run?.figures?.money }).joined()
        where !groups.contains(where: { $0 == (total.direction, total.currency) }) {
            groups.append((total.direction, total.currency))
        }
        let order = Direction.allCases
        groups.sort { left, right in
            (order.firstIndex(of: left.direction) ?? 0, left.currency)
                < (order.firstIndex(of: right.direction) ?? 0, right.currency)
        }
        guard !groups.isEmpty else { return }
        page.element("h3", "List prices of periods concerned")
        draw(
            groups.prefix(Self.mostMoney).map { direction, currency in
                NightBars(
                    title: "\(currency) \(direction.meaning)",
                    values: values { run in
                        run.figures.map { figures in
                            figures.money.first {
                                $0.direction == direction && $0.currency == currency
                            }?.amount ?? 0
                        }
                    },
                    first: history.first, text: { "\($0.amount(in: currency)) \(currency)" })
            }, &number, &page)
        let more = groups.count - Self.mostMoney
        if more > 0 {
            page.element(
                "p", "\(more.grouped) more; summary.json of each night has all currencies.")
        }
    }

    private func draw(_ charts: [NightBars], _ number: inout Int, _ page: inout Markup) {
        guard !charts.isEmpty else { return }
        page.element("div", [.named("charts")]) { part in
            for chart in charts {
                number += 1
                chart.append(number: number, to: &part)
            }
        }
        page.lineFeed()
    }

    private func chart(_ title: String, _ value: (EarlierRun) -> Int64?) -> NightBars {
        NightBars(title: title, values: values(value), first: history.first) {
            Int(clamping: $0).grouped
        }
    }

    private func values(_ value: (EarlierRun) -> Int64?) -> [(day: String, value: Int64?)] {
        let own = facts.summary.header.runID
        return history.recent.map { night in
            let run = night.run.flatMap { $0.isWhole || $0.runID == own ? $0 : nil }
            return (night.day, run.flatMap(value))
        }
    }

    // MARK: The calendar

    func appendCalendar(to page: inout Markup) {
        let first = history.first
        page.element(
            "p",
            "\(history.nights.count.grouped) nights: \(history.held.grouped) with a run of this job, "
                + "\(history.missing.grouped) without one since the first of them on \(first). Each "
                + "says how its run ended, by the UTC day on which it began.")
        let days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
        let columns = (["week of"] + days).map { Markup.Column($0) }
        page.table("How each night ended", columns, named: "calendar") { table in
            for week in weeks {
                table.element("tr") { row in
                    row.element("th", [.init("scope", "row")], week.first?.day ?? "")
                    for cell in week { append(cell, to: &row, isSince: cell.day >= first) }
                }
                table.lineFeed()
            }
        }
    }

    /// A day of the calendar; `night` is `nil` outside the nights that are shown.
    private struct Cell {
        let day: String
        let night: PageHistory.Night?
    }

    /// Seven days each, from Monday on.
    private var weeks: [[Cell]] {
        let own = facts.summary.header.started
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
                return Cell(day: day, night: byDay[day])
            }
        }
    }

    private func append(_ cell: Cell, to row: inout Markup, isSince: Bool) {
        guard let night = cell.night else {
            row.element("td", "")
            return
        }
        let isToday = night.day == facts.summary.header.started.utcDay
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
        return exitStatus.name + (isNarrowed ? ", in part" : "")
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
