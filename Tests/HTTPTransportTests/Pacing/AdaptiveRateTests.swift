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

    @Test func `never falls to nothing`() {
        var rate = AdaptiveRate(configuredPerSecond: 64)
        for second in 0..<100 {
            let now: Duration = .seconds(second * 6)
            rate.wasRateLimited(at: now, resumption: now)
        }
        #expect(rate.perSecond(at: .seconds(600)) >= 1)
    }
}
