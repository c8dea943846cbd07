import Reconciliation
import Subscriptions
import Testing

@Suite struct `The exclusion guard` {
    private func sentence(
        unconfigured: Int = 0, inFlight: Int = 0, ours: Int = 0, matched: Int = 1_000,
        last: RunTotals? = nil, _ limits: GuardLimits = GuardLimits()
    ) -> String? {
        var plan = GuardedPlan.plan(inScope: matched)
        plan.totals.totals.excluded[.appNotConfigured] = unconfigured
        plan.totals.totals.excluded[.inFlight] = inFlight
        plan.totals.inFlightByOurselves = ours
        plan.totals.lastRun = last
        return limits.sentence(of: .maxExcludedShare, about: plan)
    }

    @Test func `objects when nearly every row is of another app`() throws {
        let sentence = try #require(self.sentence(unconfigured: 453, matched: 0))
        #expect(sentence.contains("453 of 453 rows"))
        #expect(sentence.contains("trueup doctor"))
    }

    @Test func `objects when the rows are in flight, and counts both together`() {
        #expect(sentence(inFlight: 200) != nil)
        #expect(sentence(unconfigured: 30, inFlight: 30) != nil)
        #expect(sentence(unconfigured: 30, inFlight: 10) == nil)
    }

    @Test func `does not count the rows that we have just corrected ourselves`() {
        #expect(sentence(inFlight: 200, ours: 190) == nil)
        #expect(sentence(inFlight: 200, ours: 10) != nil)
    }

    @Test func `a handful of rows raises no alarm, and a share of one means no limit`() {
        #expect(sentence(unconfigured: 4, matched: 0) == nil)
        #expect(sentence(unconfigured: 5, matched: 0) != nil)
        #expect(
            sentence(unconfigured: 500, matched: 0, GuardedPlan.limits { $0.maxExcludedShare = 1 })
                == nil)
    }

    @Test func `objects to another app's rows that a grown table hides`() throws {
        var last = RunTotals()
        last.matched = 100
        last.excluded[.appNotConfigured] = 2
        let sentence = try #require(self.sentence(unconfigured: 40, last: last))
        #expect(sentence.contains("In the last run these were 2 of 102 rows"))
        #expect(self.sentence(unconfigured: 7, last: last) == nil)
        #expect(self.sentence(unconfigured: 8, last: last) != nil)
    }
}

@Suite struct `Stray bundles` {
    private func strays(_ counts: [String: Int]) -> Set<String> {
        unconfiguredBundles(
            among: counts.map {
                AppRows(bundleID: $0.key, environment: "Production", rows: $0.value)
            }, apps: [Sample.app])
    }

    @Test func `a few rows of another bundle among many are mistakes`() {
        #expect(strays([Sample.app.bundleID: 450, "com.example.typo": 3]) == ["com.example.typo"])
    }

    @Test func `more of them, or nothing else, are another app's rows`() {
        #expect(strays([Sample.app.bundleID: 10, "com.example.typo": 3]).isEmpty)
        #expect(strays([Sample.app.bundleID: 1_000_000, "com.example.other": 101]).isEmpty)
        #expect(strays(["com.example.other": 3]).isEmpty)
    }
}
