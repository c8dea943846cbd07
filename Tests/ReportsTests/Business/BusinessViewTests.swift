import Subscriptions
import Testing

@testable import Reports

@Suite struct `The business of a run` {
    private static let today = Samples.started.dayNumber
    private static let other = AppIdentity(bundleID: "com.example.other", environment: .sandbox)

    private static func count(
        _ age: Int64, _ events: Int, _ kind: BusinessEventKind = .renewal,
        of product: String = "monthly", _ app: AppIdentity = Samples.app
    ) -> EventCount {
        EventCount(app: app, day: today - age, productID: product, kind: kind, events: events)
    }

    /// From the beginning of a day to the end of another one, both told by their age in days.
    private static func read(
        _ first: Int64, _ last: Int64, _ app: AppIdentity = Samples.app
    ) -> EventRead {
        EventRead(
            app: app,
            from: Timestamp(unixMilliseconds: (today - first) * Milliseconds.perDay),
            through: Timestamp(
                unixMilliseconds: (today - last + 1) * Milliseconds.perDay - 1))
    }

    static func summary(_ counts: [EventCount], _ reads: [EventRead]) -> RunSummary {
        var summary = Samples.summary()
        summary.business = BusinessRecord(counts: counts, reads: reads)
        return summary
    }

    /// 40 renewals a day on all days before, and so many yesterday.
    static func night(yesterday: Int, reads: [EventRead]? = nil) -> RunSummary {
        var counts = (2...60).map { count($0, 40) }
        if yesterday > 0 { counts.append(count(1, yesterday)) }
        return summary(counts, reads ?? [read(63, 1)])
    }

    private func lines(_ view: BusinessView) -> [BusinessView.Line] {
        var lines: [BusinessView.Line] = []
        view.forEachLine { lines.append($0) }
        return lines
    }

    @Test func `a day that was not read has no number, and one that was read has a zero`() throws {
        let view = BusinessView(
            Self.summary([Self.count(3, 5), Self.count(9, 2)], [Self.read(4, 1)]))
        let series = try #require(view.series.first)
        #expect(view.events(series, on: Self.today - 1) == 0)
        #expect(view.events(series, on: Self.today - 3) == 5)
        #expect(view.events(series, on: Self.today - 5) == nil)
        // Counted by a run that did not come to its end: it is known that it was at least that.
        #expect(view.events(series, on: Self.today - 9) == 2)
        #expect(view.reading(of: Self.today - 9, Samples.app) == .partly)
        #expect(view.reading(of: Self.today, Samples.app) == .not)
    }

    @Test
    func `a day of which a stopped run counted a part is too small and compared with nothing`()
        throws
    {
        let counts = [1, 8, 15, 22].map { Self.count($0, 40) }
        let view = BusinessView(Self.summary(counts, [Self.read(63, 9), Self.read(7, 2)]))
        for line in lines(view) {
            // docs/report-files.md: a number is complete or too small, and `not` has none.
            #expect((line.events == nil) == (line.reading == .not) || line.reading == .whole)
        }
        let last = try #require(lines(view).first { $0.day == Self.today - 1 })
        #expect(last.reading == .partly)
        #expect(last.events == 40)
        #expect(last.compared.weekBefore == nil)
        // Two days with 40 and one that was read and had none.
        #expect(last.compared.weekdays == 3)
        #expect(last.falls == nil)
        #expect(view.falls.isEmpty)
    }

    @Test func `a day counts as read where reads join without a gap`() {
        let day = Milliseconds.perDay
        func reading(_ parts: [(Int64, Int64)]) -> BusinessView.Reading {
            let start = (Self.today - 1) * day
            let reads = parts.map {
                EventRead(
                    app: Samples.app, from: Timestamp(unixMilliseconds: start + $0.0),
                    through: Timestamp(unixMilliseconds: start + $0.1))
            }
            return BusinessView(Self.summary([], reads)).reading(of: Self.today - 1, Samples.app)
        }
        #expect(reading([(0, day - 1)]) == .whole)
        #expect(reading([(500, day), (-5, 500)]) == .whole)
        #expect(reading([(-5, 500), (501, day)]) == .whole)
        #expect(reading([(-5, 500), (502, day)]) == .partly)
        #expect(reading([(0, day - 2)]) == .partly)
        #expect(reading([(-9, -1), (day, day + 5)]) == .not)
        #expect(reading([]) == .not)
    }

    @Test func `names a kind that fell, once for all products`() throws {
        let view = BusinessView(Self.night(yesterday: 3))
        let fall = try #require(view.falls.first)
        #expect(view.falls.count == 1)
        #expect(fall.series.kind == .renewal)
        #expect(fall.series.productID == nil)
        #expect(fall.events == 3)
        #expect(fall.compared.events == 160)
        #expect(fall.compared.weekdays == 4)
        #expect(BusinessView(Self.night(yesterday: 0)).falls.count == 1)
        #expect(BusinessView(Self.night(yesterday: 21)).falls.isEmpty)
        #expect(BusinessView(Self.night(yesterday: 400)).falls.isEmpty)
    }

    @Test func `names a product where the kind as a whole stands`() {
        let weeks = [1, 8, 15, 22, 29] as [Int64]
        let counts = weeks.flatMap { age in
            [Self.count(age, 500), Self.count(age, age == 1 ? 1 : 50, of: "yearly")]
        }
        let falls = BusinessView(Self.summary(counts, [Self.read(63, 1)])).falls
        #expect(falls.map(\.series.productID) == ["yearly"])
    }

    @Test func `holds nothing against a day that was not read whole`() {
        for reads in [
            [Self.read(63, 2)], [Self.read(1, 1)], [Self.read(8, 1)], [],
            [Self.read(63, 1, Self.other)],
        ] {
            #expect(BusinessView(Self.night(yesterday: 0, reads: reads)).falls.isEmpty)
        }
        // Two weekdays are enough, three are better.
        #expect(BusinessView(Self.night(yesterday: 0, reads: [Self.read(15, 1)])).falls.count == 1)
    }

    @Test func `has a line for each day of each series, in order`() throws {
        var summary = Self.summary(
            [
                Self.count(1, 2, .refund), Self.count(3, 1, of: "a"),
                Self.count(40, 9, of: "old"), Self.count(2, 7, of: "b", Self.other),
            ], [Self.read(63, 1)])
        summary.header.apps = [Self.other, Samples.app]
        let lines = lines(BusinessView(summary))
        #expect(lines.count == 4 * Int(BusinessRecord.shownDays))
        #expect(lines.first?.series.productID == "a")
        #expect(lines.first?.day == Self.today - BusinessRecord.shownDays + 1)
        #expect(lines.last?.series.app == Self.other)
        #expect(lines.last?.day == Self.today)
        #expect(lines.last?.events == nil)
        let refund = try #require(
            lines.first { $0.series.kind == .refund && $0.day == Self.today - 1 })
        #expect(refund.events == 2)
        #expect(refund.reading == .whole)
        #expect(refund.compared.weekBefore == 0)
        #expect(refund.falls == false)
        #expect(lines.filter { $0.series.app == Self.other }.allSatisfy { $0.falls == nil })
    }

    @Test func `tells weekdays`() {
        #expect(Samples.started.dayNumber.weekday == "Friday")
        #expect(Samples.started.dayNumber.calendarDay == "2026-11-20")
        #expect((Samples.started.dayNumber - 5).weekday == "Sunday")
    }

    // MARK: In the report

    @Test func `is one line of the summary where something falls, and none else`() {
        let fallen = SummaryText.render(Self.night(yesterday: 3), reportPath: nil)
        #expect(
            fallen.contains(
                "  - renewal: 3 on 2026-11-19, against about 40 on each of the 4 Thursdays before"),
            "\(fallen)")
        #expect(!SummaryText.render(Self.night(yesterday: 41), reportPath: nil).contains("SHARPLY"))
        #expect(!SummaryText.render(Samples.summary(), reportPath: nil).contains("SHARPLY"))
    }

    @Test func `stands in both files and on the page`() throws {
        let folder = try TemporaryFolder()
        var run = try Samples.run()
        run.runSummary.business = Self.night(yesterday: 3).business
        _ = try folder.report(run)
        let lines = try folder.text("latest/business.jsonl").split(separator: "\n")
        #expect(lines.count == Int(BusinessRecord.shownDays))
        #expect(
            lines.contains { line in
                line.contains(#""day":"2026-11-19","day_read":"whole","environment":"Production","#)
                    && line.contains(#""event":"renewal","events":3,"falls_sharply":1,"#)
                    && line.contains(#""week_before":40,"weekdays_before":160,"weekdays_read":4}"#)
            }, "\(lines.suffix(2))")
        #expect(lines.last?.contains(#""events":null,"falls_sharply":null"#) == true)
        let csv = try folder.text("latest/business.csv")
        #expect(
            csv.hasPrefix(
                "run_id,app,environment,day,product_id,event,events,day_read,week_before,"
                    + "weekdays_before,weekdays_read,falls_sharply\r\n"))
        #expect(csv.contains(",2026-11-19,monthly,renewal,3,whole,40,160,4,1\r\n"))
        let page = try folder.text("latest/report.html")
        #expect(page.contains("renewal: 3 on 2026-11-19, against about 40"))
        #expect(page.contains("<th scope=\"row\">renewal</th><td class=\"n\">3</td>"))
        #expect(page.contains("3 (40)"))
        #expect(try folder.text("latest/summary.json").contains("\"weekdays_before\": 160"))
    }

    @Test func `says on the page that nothing is known where nothing was read`() throws {
        let folder = try TemporaryFolder()
        var run = try Samples.run()
        run.runSummary.business = BusinessRecord()
        _ = try folder.report(run)
        let page = try folder.text("latest/report.html")
        #expect(page.contains("That day was not read"))
        #expect(page.contains("No event was counted in the days before either."))
        #expect(try folder.text("latest/business.jsonl") == "")
    }
}
