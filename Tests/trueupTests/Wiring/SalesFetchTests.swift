import Subscriptions
import Testing
import trueup

@Suite struct `The days of fetched sales reports` {
    private func days(
        _ now: String, _ zone: SalesZone = .pacific, compared: Set<String> = []
    ) throws -> [String] {
        let whole = Set(SalesReport.allCases)
        return try reports(
            now, zone, Dictionary(compared.map { ($0, whole) }) { first, _ in first }
        ).map(\.day)
    }

    private func reports(
        _ now: String, _ zone: SalesZone, _ compared: [String: Set<SalesReport>]
    ) throws -> [(day: String, reports: [SalesReport])] {
        let now = try #require(Timestamp(rfc3339: now))
        return SalesFetch.reports(at: now, in: zone, compared: compared)
            .map { (CivilDate.text(ofDay: $0.day), $0.reports) }
    }

    @Test func `have the reports that were missing when the others came, for some days`() throws {
        let found = try reports(
            "2026-11-26T12:00:00Z", .pacific,
            [
                "2026-11-10": [.event], "2026-11-22": [.subscription, .subscriber],
                "2026-11-24": [.subscription],
                "2026-11-25": [.subscription, .event, .subscriber],
            ])
        let late = Dictionary(found.map { ($0.day, $0.reports) }) { first, _ in first }
        #expect(late["2026-11-10"] == nil)
        #expect(late["2026-11-22"] == [.event])
        #expect(late["2026-11-23"] == SalesReport.allCases)
        #expect(late["2026-11-24"] == [.event, .subscriber])
        #expect(late["2026-11-25"] == SalesReport.allCases)
    }

    @Test func `a report is known by each of its numbers`() {
        for measure in SalesMeasure.allCases {
            #expect(SalesReport(havingMeasure: measure.rawValue) != nil)
        }
        #expect(SalesReport(havingMeasure: "active") == .subscription)
        #expect(SalesReport(havingMeasure: "renewed") == .event)
        #expect(SalesReport(havingMeasure: "refund_units") == .subscriber)
        #expect(SalesReport(havingMeasure: "later") == nil)
    }

    @Test func `are yesterday alone at first, in the zone of the reports`() throws {
        #expect(try days("2026-11-26T12:00:00Z") == ["2026-11-25"])
        #expect(try days("2026-11-26T07:59:59Z") == ["2026-11-24"])
        #expect(try days("2026-11-26T08:00:00Z") == ["2026-11-25"])
        #expect(try days("2026-11-26T00:00:00Z", .utc) == ["2026-11-25"])
        #expect(try days("2026-11-25T23:59:59Z", .utc) == ["2026-11-24"])
    }

    @Test func `are those that earlier comparisons lack, at most 30 days back`() throws {
        let now = "2026-11-26T12:00:00Z"
        #expect(
            try days(now, compared: ["2026-11-20", "2026-11-22", "2026-11-23"])
                == ["2026-11-21", "2026-11-24", "2026-11-25"])
        #expect(try days(now, compared: ["2026-11-25"]) == ["2026-11-25"])
        #expect(try days(now, compared: ["2026-11-24", "2026-11-25"]) == ["2026-11-25"])
        #expect(try days(now, compared: ["2026-10-01"]) == ["2026-11-25"])
        #expect(try days(now, compared: ["2026-10-27"]).count == 29)
    }
}
