import Subscriptions

/// Figures for the business from Apple's signed notifications: the last whole day, and the days
/// before it.
extension BusinessView {
    /// The most products of an app in a table of their own rows.
    private static let mostProducts = 40
    /// The drawings of the runs are numbered from 1.
    private static let firstDrawing = 1_000

    func append(to page: inout Markup) {
        page.element(
            "p",
            "Counted from the notifications of Apple’s history, each once, by the UTC day on which Apple "
                + "signed it, and only where the signature holds. What was not read is left empty, never "
                + "zero. The last whole day is \(lastDay.calendarDay), a "
                + "\(lastDay.weekday); business.csv has \(BusinessRecord.shownDays) days.")
        let falls = falls
        if !falls.isEmpty { page.element("h3", "What fell sharply") }
        page.list(falls.map { $0.sentence(in: self) })
        if apps.isEmpty { page.element("p", "The run had no app.") }
        var number = Self.firstDrawing
        for app in apps { append(app, &number, to: &page) }
    }

    private func append(_ app: AppIdentity, _ number: inout Int, to page: inout Markup) {
        if apps.count > 1 {
            page.element("h3", "\(app.bundleID) (\(app.environment.rawValue))")
        }
        switch reading(of: lastDay, app) {
        case .whole: break
        case .partly:
            page.element(
                "p",
                "Only a part of that day was read, so its numbers are too small and are not compared."
            )
        case .not:
            page.element(
                "p",
                "That day was not read: the job has no step recover, the run did not reach its end, or the "
                    + "job only checks and no earlier run has read it.")
        }
        let kinds = kinds(of: app)
        guard !kinds.isEmpty else {
            page.element("p", "No event was counted in the days before either.")
            return
        }
        kindTable(kinds, to: &page)
        productTable(app, kinds, to: &page)
        page.element("h3", "The days before, all products")
        page.element("div", [.named("charts")]) { part in
            for series in kinds {
                number += 1
                chart(series).append(number: number, to: &part)
            }
        }
        page.lineFeed()
    }

    /// All products together: a row a kind, with what the same weekday had before.
    private func kindTable(
        _ kinds: [Series], to page: inout Markup
    ) {
        let last = lastDay
        page.table(
            "Events of \(last.calendarDay), all products",
            [
                "event", .number(last.calendarDay), .number("\(last.weekday) before"),
                .number("mean of \(last.weekday)s"),
            ], named: "narrow",
            rows: kinds.map { series in
                let compared = compared(series, on: last)
                return [
                    series.kind.words, text(events(series, on: last)),
                    text(compared.weekBefore), text(compared.mean),
                ]
            })
    }

    /// A row a product: the day, and in brackets the same weekday a week before.
    private func productTable(
        _ app: AppIdentity, _ kinds: [Series], to page: inout Markup
    ) {
        let series = series.filter { $0.app == app }
        var volumes: [String: Int] = [:]
        for line in series {
            volumes[line.productID ?? "", default: 0] += days.reduce(0) {
                $0 + (events(line, on: $1) ?? 0)
            }
        }
        let products = volumes.sorted {
            $0.value == $1.value ? $0.key < $1.key : $0.value > $1.value
        }.map(\.key)
        let shown = products.prefix(Self.mostProducts)
        let last = lastDay
        page.table(
            "The same by product, in brackets the \(last.weekday) before",
            ["product"] + kinds.map { .number($0.kind.words) }, named: "narrow"
        ) { table in
            for product in shown {
                let held = Dictionary(
                    series.filter { $0.productID == product }.map { ($0.kind, $0) }
                ) { first, _ in first }
                table.element("tr") { row in
                    row.element("th", [.init("scope", "row")]) { cell in
                        cell.kept(product.isEmpty ? "not named" : product)
                    }
                    for whole in kinds {
                        row.element("td", [.named("n")]) { cell in
                            guard let line = held[whole.kind] else { return }
                            let before = compared(line, on: last).weekBefore
                            cell.kept("\(text(events(line, on: last))) (\(text(before)))")
                        }
                    }
                }
                table.lineFeed()
            }
        }
        let more = products.count - shown.count
        if more > 0 {
            page.element(
                "p", "\(more.of("more product")) with fewer events: business.csv has them.")
        }
    }

    private func text(_ events: Int?) -> String { events?.grouped ?? "?" }

    /// All products; the run's own day is not over and left out.
    private func chart(_ series: Series) -> DayBars {
        let days = days.dropLast()
        let read = days.first { reading(of: $0, series.app) != .not }
        return DayBars(
            title: series.kind.words,
            values: days.map { day in
                let isWhole = reading(of: day, series.app) == .whole
                let count = isWhole ? events(series, on: day) : nil
                return (day.calendarDay, count.map(Int64.init))
            },
            first: (read ?? lastDay).calendarDay
        ) { Int(clamping: $0).grouped }
    }
}

extension BusinessEventKind {
    /// The name as words, which a narrow heading may break.
    fileprivate var words: String { String(rawValue.map { $0 == "_" ? " " : $0 }) }
}
