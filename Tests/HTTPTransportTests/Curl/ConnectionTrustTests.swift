import HTTPTransport
import Testing

@Suite struct `Trust in old connections` {
    private let start = ContinuousClock.now

    @Test func `is there until an exchange times out, and again after an answer`() {
        var trust = ConnectionTrust()
        #expect(!trust.isLost)
        #expect(trust.secondsSinceTimeout(at: start) == nil)
        trust.exchangeTimedOut(at: start)
        #expect(trust.isLost)
        trust.responseCame()
        #expect(!trust.isLost)
    }

    @Test func `stays away from connections that are older than the time-out`() {
        var trust = ConnectionTrust()
        trust.exchangeTimedOut(at: start)
        trust.responseCame()
        #expect(trust.secondsSinceTimeout(at: start + .seconds(90)) == 90)
    }
}
