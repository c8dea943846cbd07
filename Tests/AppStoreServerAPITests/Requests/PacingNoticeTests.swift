import HTTPTransport
import Subscriptions
import Synchronization
import Testing

@testable import AppStoreServerAPI

/// What is told of the pace, and when.
@Suite struct `A notice of the pace` {
    private final class Heard: Sendable {
        private let notices = Mutex<[PacingNotice.Event]>([])
        func add(_ notice: PacingNotice) { notices.withLock { $0.append(notice.event) } }
        var events: [PacingNotice.Event] { notices.withLock { $0 } }
    }

    private let heard = Heard()

    private func bench(
        rate: Double = 1000, _ script: @escaping ScriptedApple.Script
    ) -> Bench {
        Bench(
            apple: ScriptedApple(script), clock: JumpingClock(), ratePerSecond: rate,
            hearAll: { [heard] in heard.add($0) })
    }

    @Test func `tells a 429 at once, the halved rate, and the whole one when it is back`() async {
        let bench = bench(rate: 10) { [heard] _, number in
            if number > 1 { #expect(!heard.events.isEmpty) }
            return number == 1
                ? .answer(429, "", headers: [("retry-after", "20")]) : .answer(200)
        }
        #expect(await bench.ask().word == "answered {}")
        let until = Timestamp(unixMilliseconds: Bench.now + 20_000)
        let wait = PacingWait(reason: .rateLimited, until: until, isPastDeadline: false)
        #expect(heard.events == [.wait(wait), .rate(perSecond: 5, configured: 10)])
        for _ in 0..<10_000 where heard.events.count < 3 { _ = await bench.ask() }
        #expect(heard.events.last == .rate(perSecond: 10, configured: 10))
        #expect(heard.events.count == 3)
        #expect(bench.clock.elapsed > .seconds(600))
    }

    @Test func `tells a 429 of a whole crowd once`() async {
        let clock = JumpingClock()
        let bench = Bench(
            apple: ScriptedApple { _, _ in
                clock.elapsed < .seconds(20)
                    ? .answer(429, "", headers: [("retry-after", "1795144644000")]) : .answer(200)
            }, clock: clock, hearAll: { [heard] in heard.add($0) })
        _ = await bench.crowd(200)
        let waits = heard.events.filter { if case .wait = $0 { true } else { false } }
        #expect(waits.count == 1)
    }

    @Test func `tells a pause that a failing server asked for`() async {
        let bench = bench { _, number in
            number == 1 ? .answer(503, "", headers: [("retry-after", "30")]) : .answer(200)
        }
        #expect(await bench.ask().word == "answered {}")
        let until = Timestamp(unixMilliseconds: Bench.now + 30_000)
        #expect(
            heard.events.contains(
                .wait(PacingWait(reason: .postponed, until: until, isPastDeadline: false))))
    }

    @Test func `tells the breaker that opens and closes`() async {
        let bench = bench { request, number in
            number <= 40 ? .answer(503, "") : .answer(200)
        }
        _ = await bench.ask(ids: Array(1...60))
        let breaker = heard.events.filter {
            switch $0 {
            case .breakerOpened, .breakerClosed: true
            default: false
            }
        }
        #expect(breaker.last == .breakerClosed)
        guard case .breakerOpened(let cause) = breaker.first else {
            Issue.record("it was not told that the breaker opened: \(breaker)")
            return
        }
        #expect(cause.contains("503"))
    }

    @Test func `tells retries in groups that double`() async {
        let bench = bench { _, number in
            number.isMultiple(of: 3) ? .error(5_000_001) : .answer(200)
        }
        for _ in 0..<60 { _ = await bench.ask() }
        let counts = heard.events.compactMap { event -> Int? in
            if case .retries(let count, _) = event { count } else { nil }
        }
        #expect(counts == [1, 2, 4, 8, 16])
    }

    @Test func `tells a share that leaves long pauses between calls, once`() async throws {
        let bench = bench(rate: 0.01) { _, _ in .answer(200) }
        _ = await bench.crowd(3)
        let until = Timestamp(unixMilliseconds: Bench.now + 100_000)
        let wait = PacingWait(reason: .slowTurn, until: until, isPastDeadline: false)
        #expect(heard.events == [.wait(wait)])
        #expect(wait.sentence.contains("waits until 2026-11-20T03:18:44.000Z"))
    }

    @Test func `is silent while calls come at an even pace`() async {
        let bench = bench(rate: 5) { _, _ in .answer(200) }
        for _ in 0..<(5 * 3600 + 500) { _ = await bench.ask() }
        #expect(heard.events.isEmpty, "\(heard.events)")
    }

    @Test func `ends what Apple said with one full stop`() {
        let app = AppIdentity(bundleID: "com.example.app", environment: .production)
        let time = Timestamp(unixMilliseconds: Bench.now)
        for event in [OutageNotice.Event.waits(until: time, givesUpAt: time), .gaveUp] {
            for cause in ["503 5000000: An unknown error occurred.", "the connection broke"] {
                let notice = OutageNotice(
                    app: app, endpoint: .subscriptionStatuses, event: event, cause: cause)
                #expect(!notice.sentence.contains(".."), "\(notice.sentence)")
            }
        }
    }
}
