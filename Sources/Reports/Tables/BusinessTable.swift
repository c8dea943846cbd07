import Subscriptions

extension Table where Record == BusinessView.Line {
    /// The table of events that Apple's notifications report.
    static func business(in runID: String) -> Table {
        Table([
            ("run_id", { _ in .own(runID) }),
            ("app", { .text($0.series.app.bundleID) }),
            ("environment", { .own($0.series.app.environment.rawValue) }),
            ("day", { .own($0.day.calendarDay) }),
            ("product_id", { .text($0.series.productID) }),
            ("event", { .own($0.series.kind.rawValue) }),
            ("events", { Cell($0.events) }),
            ("day_read", { .own($0.reading.rawValue) }),
            ("week_before", { Cell($0.compared.weekBefore) }),
            ("weekdays_before", { Cell($0.compared.weekdays > 0 ? $0.compared.events : nil) }),
            ("weekdays_read", { Cell($0.compared.weekdays) }),
            ("falls_sharply", { Cell($0.falls.map { $0 ? 1 : 0 }) }),
        ])
    }
}

extension Int64 {
    /// A day since 1970-01-01 as `yyyy-MM-dd`.
    var calendarDay: String {
        Timestamp(
            unixMilliseconds: multipliedReportingOverflow(by: Milliseconds.perDay).partialValue
        ).utcDay
    }

    /// The weekday of such a day.
    var weekday: String {
        // 1970-01-01 was a Thursday.
        switch floorDivided(by: 7).remainder {
        case 0: "Thursday"
        case 1: "Friday"
        case 2: "Saturday"
        case 3: "Sunday"
        case 4: "Monday"
        case 5: "Tuesday"
        default: "Wednesday"
        }
    }
}
