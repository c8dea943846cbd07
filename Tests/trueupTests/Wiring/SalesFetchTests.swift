import Subscriptions
import Testing
import trueup

@Suite struct `The days of fetched sales reports` {
    private func days(
        _ now: String, _ zone: SalesZone = .pacific, compared: Set<String> = []
    ) throws -> [String] {
        let now = try #require(Timestamp(rfc3339: now))
        return SalesFetch.days(at: now, in: zone, compared: compared)
            .map(CivilDate.text(ofDay:))
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
