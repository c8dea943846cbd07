import Subscriptions
import Testing

@Suite struct `Control totals` {
    private static func sums(
        _ statuses: [Int: Int], _ euros: (periods: Int, amount: Int64) = (0, 0)
    ) -> ControlSums {
        var sums = ControlSums(statuses: statuses)
        if euros.periods != 0 { sums.add(periods: euros.periods, amount: euros.amount, in: "EUR") }
        return sums
    }

    private static func app(
        previous: ControlSums?, uncounted: ControlSums = ControlSums(), before: ControlSums,
        corrections: ControlSums, after: ControlSums
    ) -> AppControlTotals {
        AppControlTotals(
            bundleID: "com.example.app", environment: "Production",
            previous: previous.map { AppControlTotals.Previous(runID: "run-0", sums: $0) },
            uncounted: uncounted, before: before, corrections: corrections, after: after,
            judged: JudgedTotals(
                before: ControlSums(), apple: ControlSums(), after: ControlSums()))
    }

    @Test func `what others wrote is what neither a count nor a correction explains`() {
        let totals = Self.app(
            previous: Self.sums([1: 10, 2: 5], (15, 15_000)), uncounted: Self.sums([1: -1, 2: 1]),
            before: Self.sums([1: 9, 2: 8], (17, 17_990)),
            corrections: Self.sums([1: 2, 2: -1], (1, 990)),
            after: Self.sums([1: 10, 2: 7, 0: 1], (18, 18_980)))
        #expect(totals.othersSince == Self.sums([1: 0, 2: 2], (2, 2_990)))
        #expect(totals.othersMeanwhile.statuses == [1: -1, 2: 0, 0: 1])
        #expect(totals.othersMeanwhile.prices["EUR"] == .init(periods: 0, amount: 0))
        #expect(!totals.othersMeanwhile.isNothing)
    }

    @Test func `counts that tie leave nothing`() {
        let before = Self.sums([1: 9, 5: 3], (12, 1_000))
        let totals = Self.app(
            previous: before, before: before, corrections: Self.sums([1: -1, 2: 1]),
            after: Self.sums([1: 8, 2: 1, 5: 3], (12, 1_000)))
        #expect(totals.othersSince?.isNothing == true)
        #expect(totals.othersMeanwhile.isNothing)
        #expect(
            Self.app(
                previous: nil, before: before, corrections: ControlSums(), after: before
            ).othersSince == nil)
    }

    @Test func `absurd amounts end at the edge instead of ending the run`() {
        var sums = ControlSums()
        sums.add(periods: .max, amount: .max, in: "EUR")
        sums.add(periods: 1, amount: 1, in: "EUR")
        #expect(sums.prices["EUR"] == .init(periods: .max, amount: .max))
        var least = ControlSums()
        least.add(periods: 1, amount: .min, in: "EUR")
        #expect((ControlSums() - least).prices["EUR"]?.amount == .max)
    }

    @Test func `a strange status or currency counts as none`() {
        #expect(
            [nil, 0, 1, 5, 6, -1].map { ControlSums.group(ofStatus: $0) } == [0, 0, 1, 5, 0, 0])
        #expect(
            [nil, "", "EUR", "eur", "EURO", "ÄÖ"].map { ControlSums.group(ofCurrency: $0) }
                == ["", "", "EUR", "", "", ""])
    }

    @Test func `delays have a middle and a longest`() {
        var tally = DelayTally()
        #expect(tally.figures == nil)
        for seconds: Int64 in [3, 1, 700, 90_000] { tally.add(milliseconds: seconds * 1000) }
        tally.add(milliseconds: -5)
        // 0, 1, 3, 660 and 90,000: half of five are the first three.
        #expect(
            tally.figures == DelayFigures(notifications: 5, medianSeconds: 3, worstSeconds: 90_000))
    }

    @Test func `a share of the quota is rounded, and all waits add up`() {
        let peak = CallEffort.Peak(
            bundleID: "a", environment: "Production", endpoint: "subscription_statuses",
            calls: 90_045, limit: 180_000)
        #expect(peak.perMille == 500)
        let effort = CallEffort(
            peaks: [peak], waitedMilliseconds: ["quota": 61_500, "outage": .max])
        #expect(effort.waited == .max)
    }
}
