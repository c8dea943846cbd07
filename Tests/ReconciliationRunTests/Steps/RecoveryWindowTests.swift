import ReconciliationRun
import Subscriptions
import Testing

@Suite struct `The window of a recovery` {
    private let now = Timestamp(unixMilliseconds: 1_780_000_000_000)
    private let dayMilliseconds: Int64 = 86_400_000
    private let app = AppIdentity(bundleID: "com.example", environment: .production)

    private func window(
        watermark: Timestamp?, environment: AppStoreEnvironment = .production
    ) -> RecoveryWindow {
        RecoveryWindow(
            watermark: watermark, now: now, environment: environment,
            settings: RecoverSettings(
                overlapMilliseconds: 7 * dayMilliseconds,
                lookbackMilliseconds: 30 * dayMilliseconds, inboxIsKept: false),
            settleMilliseconds: 900_000)
    }

    private func days(_ count: Int64) -> Timestamp {
        now.adding(milliseconds: -count * dayMilliseconds)
    }

    @Test func `the first run reads the lookback`() {
        #expect(window(watermark: nil).window == NotificationWindow(start: days(30), end: now))
    }

    @Test func `later runs read again behind the watermark`() {
        #expect(window(watermark: days(1)).window.start == days(8))
        #expect(window(watermark: days(1)).shortfall(of: app) == nil)
    }

    @Test func `nothing older than Apple keeps is asked for`() {
        let production = window(watermark: days(178))
        #expect(production.window.start > days(180))
        #expect(production.window.start < days(179))
        let sandbox = window(watermark: nil, environment: .sandbox)
        #expect(sandbox.window.start > days(30))
        #expect(sandbox.window.start < days(29))
    }

    @Test func `a watermark older than Apple keeps says what is lost`() {
        let late = window(watermark: days(200))
        #expect(late.lostMilliseconds > 19 * dayMilliseconds)
        #expect(late.shortfall(of: app)?.contains("cannot be recovered") == true)
    }

    @Test func `a watermark from the future still gives a window`() {
        let odd = window(watermark: now.adding(milliseconds: 30 * dayMilliseconds))
        #expect(odd.window.start < odd.window.end)
    }

    @Test func `what is younger than settle is left to the next run`() {
        #expect(window(watermark: nil).readThrough == now.adding(milliseconds: -900_000))
    }

    @Test func `the watermark waits for entries that do not verify, and not for ever`() {
        let settled = now.adding(milliseconds: -900_000)
        #expect(window(watermark: days(1)).watermark(afterReading: 0) == settled)
        #expect(window(watermark: days(1)).watermark(afterReading: 1) == days(1))
        #expect(window(watermark: days(13)).watermark(afterReading: 4) == days(13))
        let oldest = settled.adding(milliseconds: -14 * dayMilliseconds)
        #expect(window(watermark: days(60)).watermark(afterReading: 1) == oldest)
        // The first run had read its whole lookback.
        #expect(window(watermark: nil).watermark(afterReading: 1) == oldest)
        // A clock that was set back.
        let later = now.adding(milliseconds: dayMilliseconds)
        #expect(window(watermark: later).watermark(afterReading: 1) == settled)
    }
}
