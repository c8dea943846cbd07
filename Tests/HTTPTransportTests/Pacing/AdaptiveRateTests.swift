import HTTPTransport
import Testing

@Suite struct `An adaptive rate` {
    @Test func `stays as configured without refusals`() {
        #expect(AdaptiveRate(configuredPerSecond: 25).perSecond(at: .seconds(9999)) == 25)
    }

    @Test func `is halved once for requests that are refused together`() {
        var rate = AdaptiveRate(configuredPerSecond: 40)
        for _ in 0..<32 { rate.wasRateLimited(at: .seconds(1), resumption: .seconds(10)) }
        #expect(rate.perSecond(at: .seconds(10)) == 20)
        rate.wasRateLimited(at: .seconds(15), resumption: .seconds(16))
        #expect(rate.perSecond(at: .seconds(16)) < 11)
    }

    @Test func `comes back in ten minutes and not above what is configured`() {
        var rate = AdaptiveRate(configuredPerSecond: 40)
        rate.wasRateLimited(at: .zero, resumption: .zero)
        #expect(rate.perSecond(at: .seconds(300)) == 30)
        #expect(rate.perSecond(at: .seconds(600)) == 40)
        #expect(rate.perSecond(at: .seconds(6000)) == 40)
    }

    @Test func `continues where an earlier process left it`() {
        let rate = AdaptiveRate(
            configuredPerSecond: 40, share: 0.5, resumption: .seconds(-300))
        #expect(rate.perSecond(at: .zero) == 30)
        #expect(rate.perSecond(at: .seconds(300)) == 40)
        for share in [0, -1, 2, Double.nan, .infinity] {
            let strange = AdaptiveRate(
                configuredPerSecond: 64, share: share, resumption: .zero)
            #expect((1...64).contains(strange.perSecond(at: .zero)), "\(share)")
        }
    }

    @Test(arguments: 0..<20)
    func `halves at each refusal, and recovers by half in ten minutes at most`(round: Int) {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        var rate = AdaptiveRate(configuredPerSecond: 50)
        var now: Duration = .zero
        for _ in 0..<400 {
            let before = rate.perSecond(at: now)
            if Int.random(in: 0..<10, using: &generator) == 0 {
                let pause: Duration = .seconds(Int.random(in: 1...3600, using: &generator))
                let isHalved = rate.wasRateLimited(at: now, resumption: now + pause)
                now += isHalved ? pause : .zero
                let after = rate.perSecond(at: now)
                #expect(
                    isHalved ? after == max(50.0 / 64, before / 2) : after == before,
                    "seed \(seed)")
            } else {
                let time: Duration = .milliseconds(Int.random(in: 0...120_000, using: &generator))
                now += time
                let gain = rate.perSecond(at: now) - before
                #expect(gain >= 0 && gain <= 25 * (time / .seconds(600)) + 1e-9, "seed \(seed)")
            }
            #expect((0.5...50).contains(rate.perSecond(at: now)), "seed \(seed)")
        }
    }

    @Test func `never falls to nothing`() {
        var rate = AdaptiveRate(configuredPerSecond: 64)
        for second in 0..<100 {
            let now: Duration = .seconds(second * 6)
            rate.wasRateLimited(at: now, resumption: now)
        }
        #expect(rate.perSecond(at: .seconds(600)) >= 1)
    }
}
