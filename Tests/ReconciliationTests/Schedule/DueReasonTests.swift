import Reconciliation
import Subscriptions
import Testing

@Suite struct `The reason to ask about a row` {
    private static let day: Int64 = 86_400_000
    private static let now = Timestamp(unixMilliseconds: 1_800_000_000_000)
    private static let key = SubscriptionKey(
        bundleID: "com.example.app", environment: "Production", originalTransactionID: "1")

    private let request = ScheduleRequest(
        now: now, sweepMilliseconds: 30 * day, sweepEndedMilliseconds: 180 * day,
        sample: .rows(0), seed: 1)

    private func row(
        signedDaysAgo days: Int64 = 1, clock: Timestamp? = nil, isLasting: Bool = true,
        written: Bool = false
    ) -> ScheduledRow {
        let signed = Self.now.adding(milliseconds: -days * Self.day)
        let check = RowCheck(
            signedDate: signed, clock: clock, isLasting: isLasting, values: ValuesDigest(bits: 7))
        return ScheduledRow(
            key: Self.key, check: CheckRecord(check: check, askedAt: signed),
            values: ValuesDigest(bits: written ? 8 : 7))
    }

    private func reason(_ row: ScheduledRow, _ ends: SweepEnds = SweepEnds()) -> QuestionReason? {
        dueReason(of: row, sweeping: ends, request)
    }

    @Test func `is that it was never judged`() {
        let row = ScheduledRow(
            key: Self.key, check: nil, values: ValuesDigest(bits: 7))
        #expect(reason(row) == .never)
    }

    @Test func `is that another program wrote to it, before any due time`() {
        #expect(reason(row(clock: Self.now, written: true)) == .changed)
    }

    @Test func `is the clock, from its moment on`() {
        #expect(reason(row(clock: Self.now)) == .clock)
        #expect(reason(row(clock: Self.now.adding(milliseconds: 1))) == nil)
    }

    @Test func `is the sweep, up to its last row and for its kind of rows alone`() {
        let place = SweepPlace(asOf: Self.now.adding(milliseconds: -20 * Self.day), key: Self.key)
        let lasting = SweepEnds(lasting: place)
        #expect(reason(row(signedDaysAgo: 20), lasting) == .sweep)
        #expect(reason(row(signedDaysAgo: 21), lasting) == .sweep)
        #expect(reason(row(signedDaysAgo: 19), lasting) == nil)
        #expect(reason(row(signedDaysAgo: 21, isLasting: false), lasting) == nil)
        #expect(
            reason(row(signedDaysAgo: 21, isLasting: false), SweepEnds(ended: place)) == .sweep)
    }

    @Test func `is not the sweep where the clock asks before the word is too old`() {
        let place = SweepPlace(asOf: Self.now, key: Self.key)
        let soon = Self.now.adding(milliseconds: 9 * Self.day)
        let late = Self.now.adding(milliseconds: 11 * Self.day)
        #expect(reason(row(signedDaysAgo: 20, clock: soon), SweepEnds(lasting: place)) == nil)
        #expect(reason(row(signedDaysAgo: 20, clock: late), SweepEnds(lasting: place)) == .sweep)
    }

    @Test(arguments: [
        [],
        [AppIdentity(bundleID: "com.example.app", environment: .sandbox)],
        [AppIdentity(bundleID: "com.example.other", environment: .production)],
    ])
    func `is, where no app of the row is configured, that it cannot be checked`(
        apps: Set<AppIdentity>
    ) {
        let quiet = row(clock: Self.now.adding(milliseconds: 1))
        #expect(dueReason(of: quiet, sweeping: SweepEnds(), request, apps: apps) == .never)
        let own = apps.union([AppIdentity(bundleID: "com.example.app", environment: .production)])
        #expect(dueReason(of: quiet, sweeping: SweepEnds(), request, apps: own) == nil)
        #expect(
            dueReason(of: row(written: true), sweeping: SweepEnds(), request, apps: own)
                == .changed)
    }
}
