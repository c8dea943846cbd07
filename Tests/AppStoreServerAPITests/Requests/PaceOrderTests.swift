import HTTPTransport
import Subscriptions
import Testing

@testable import AppStoreServerAPI

@Suite struct `A pace that people order` {
    @Test func `gives no turn while it is paused, and all of them afterwards`() {
        var pace = OrderedPace()
        let paused = PaceOrder(isPaused: true, requestsPerSecond: 1)
        #expect(pace.turnWasWanted(at: .zero, under: paused) == .milliseconds(500))
        #expect(pace.turnWasWanted(at: .seconds(9), under: paused) == .milliseconds(9500))
        for _ in 0..<5 {
            #expect(pace.turnWasWanted(at: .seconds(9), under: PaceOrder()) == nil)
        }
    }

    @Test func `gives one turn at a time while it is throttled, and none ahead`() {
        var pace = OrderedPace()
        let slow = PaceOrder(requestsPerSecond: 0.1)
        #expect(pace.turnWasWanted(at: .zero, under: slow) == nil)
        #expect(pace.turnWasWanted(at: .zero, under: slow) == .milliseconds(500))
        #expect(pace.turnWasWanted(at: .milliseconds(9800), under: slow) == .seconds(10))
        #expect(pace.turnWasWanted(at: .seconds(10), under: slow) == nil)
        // Whoever waited under the earlier order has nothing to wait for any more.
        #expect(pace.turnWasWanted(at: .seconds(11), under: PaceOrder()) == nil)
        #expect(pace.turnWasWanted(at: .seconds(11), under: slow) == nil)
    }

    @Test(arguments: [0, -1, .nan, 1e-300])
    func `holds nobody for ever by a rate that is none`(rate: Double) {
        var pace = OrderedPace()
        let order = PaceOrder(requestsPerSecond: rate)
        _ = pace.turnWasWanted(at: .zero, under: order)
        #expect(pace.turnWasWanted(at: .seconds(3600), under: order) == nil)
    }
}

@Suite struct `A run that people pause or throttle` {
    private static func bench(
        ratePerSecond: Double = 1000, deadline: Duration? = nil, answer: Int = 200,
        order: @escaping @Sendable (_ elapsed: Duration) -> PaceOrder
    ) -> Bench {
        Bench(
            apple: ScriptedApple { _, _ in .answer(answer) }, clock: JumpingClock(),
            ratePerSecond: ratePerSecond, deadline: deadline, order: order)
    }

    @Test func `asks nothing until it is resumed`() async {
        let bench = Self.bench { PaceOrder(isPaused: $0 < .seconds(20)) }
        #expect(await bench.ask().word == "answered {}")
        #expect(bench.clock.elapsed >= .seconds(20))
        #expect(bench.clock.elapsed < .seconds(21))
        #expect(bench.apple.requests.count == 1)
    }

    @Test func `stops asking when a pause comes while others wait for their turn`() async {
        let bench = Self.bench(ratePerSecond: 1) {
            PaceOrder(isPaused: $0 >= .milliseconds(2500) && $0 < .seconds(60))
        }
        let outcomes = await bench.crowd(10)
        #expect(outcomes.allSatisfy { $0.word == "answered {}" })
        #expect(bench.clock.elapsed >= .seconds(60))
    }

    @Test func `ends by its deadline as any other run`() async {
        let bench = Self.bench(deadline: .seconds(10)) { _ in PaceOrder(isPaused: true) }
        #expect(await bench.ask().word == "deadline")
        #expect(bench.apple.requests.isEmpty)
        #expect(bench.clock.elapsed < .seconds(11))
    }

    @Test func `ends at once when it is cancelled`() async {
        let bench = Self.bench { _ in PaceOrder(isPaused: true) }
        let asking = Task { await bench.ask().word }
        asking.cancel()
        #expect(await asking.value == "cancelled")
        #expect(bench.apple.requests.isEmpty)
    }

    @Test func `makes no probe of a broken endpoint while it is paused`() async {
        let bench = Self.bench(deadline: .seconds(600), answer: 503) {
            PaceOrder(isPaused: $0 >= .seconds(1))
        }
        _ = await bench.crowd(3)
        #expect(bench.apple.requests.count <= 10)
    }

    @Test func `asks as slowly as ordered, and never faster than configured`() async {
        let throttled = Self.bench { _ in PaceOrder(requestsPerSecond: 2) }
        _ = await throttled.crowd(21)
        #expect(throttled.clock.elapsed >= .seconds(10))
        #expect(throttled.clock.elapsed < .seconds(21))
        let configured = Self.bench(ratePerSecond: 1) { _ in PaceOrder(requestsPerSecond: 1000) }
        _ = await configured.crowd(21)
        #expect(configured.clock.elapsed >= .seconds(19))
    }

    @Test func `takes back the turns that were given before it was throttled`() async {
        let bench = Self.bench(ratePerSecond: 10, deadline: .seconds(60)) {
            PaceOrder(requestsPerSecond: $0 < .seconds(1) ? nil : 0.1)
        }
        _ = await bench.crowd(100)
        // A second's burst, the first second, and one in ten seconds.
        #expect(bench.apple.requests.count <= 30)
    }

    @Test func `is as fast as before once the throttle is off`() async {
        let bench = Self.bench {
            PaceOrder(requestsPerSecond: $0 < .seconds(5) ? 0.1 : nil)
        }
        _ = await bench.crowd(50)
        #expect(bench.clock.elapsed < .seconds(7))
    }
}
