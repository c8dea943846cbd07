import HTTPTransport
import Testing

@Suite struct `A circuit breaker` {
    private func opened(at now: Duration = .zero) -> CircuitBreaker {
        var breaker = CircuitBreaker()
        for _ in 0..<CircuitBreaker.faultsToOpen { breaker.faultOccurred(at: now) }
        return breaker
    }

    @Test func `opens after a row of faults`() {
        var breaker = CircuitBreaker()
        for _ in 1..<CircuitBreaker.faultsToOpen { breaker.faultOccurred(at: .zero) }
        #expect(breaker.requestWasWanted(at: .zero) == .proceed)
        breaker.faultOccurred(at: .zero)
        #expect(breaker.requestWasWanted(at: .zero) == .wait(until: CircuitBreaker.firstPause))
        #expect(!breaker.isClosed)
    }

    @Test func `does not count faults that are not in a row`() {
        var breaker = CircuitBreaker()
        for _ in 0..<1000 {
            for _ in 1..<CircuitBreaker.faultsToOpen { breaker.faultOccurred(at: .zero) }
            breaker.answerCame()
        }
        #expect(breaker.isClosed)
    }

    @Test func `lets one probe through and closes on its success`() {
        var breaker = opened()
        #expect(breaker.requestWasWanted(at: .seconds(1)) == .probe)
        #expect(
            breaker.requestWasWanted(at: .seconds(1))
                == .wait(until: .seconds(1) + CircuitBreaker.probeLook))
        breaker.answerCame()
        #expect(breaker.requestWasWanted(at: .seconds(1)) == .proceed)
    }

    @Test func `asks less and less often, and gives up after a minute`() {
        var breaker = opened()
        var now: Duration = .zero
        var probes: [Duration] = []
        loop: while probes.count < 100 {
            switch breaker.requestWasWanted(at: now) {
            case .proceed: Issue.record("an open breaker let a request pass")
            case .probe:
                probes.append(now)
                breaker.faultOccurred(at: now)
            case .wait(let until): now = until
            case .refuse: break loop
            }
        }
        #expect(probes == [1, 3, 7, 15, 30, 45, 60].map { .seconds($0) })
        #expect(breaker.requestWasWanted(at: .seconds(99_999)) == .refuse)
        breaker.answerCame()
        #expect(breaker.requestWasWanted(at: .seconds(99_999)) == .refuse)
    }

    @Test func `measures its patience from the first fault of the row`() {
        var breaker = opened(at: .seconds(1000))
        #expect(breaker.requestWasWanted(at: .seconds(1001)) == .probe)
        breaker.faultOccurred(at: .seconds(1059))
        #expect(breaker.requestWasWanted(at: .seconds(1062)) == .probe)
        breaker.faultOccurred(at: .seconds(1062))
        #expect(breaker.requestWasWanted(at: .seconds(1062)) == .refuse)
    }

    @Test func `lets another request probe when the probe is cancelled`() {
        var breaker = opened()
        #expect(breaker.requestWasWanted(at: .seconds(1)) == .probe)
        breaker.probeWasAbandoned(at: .seconds(2))
        #expect(breaker.requestWasWanted(at: .seconds(2)) == .probe)
    }

    @Test func `ignores late faults of requests that were in flight when it opened`() {
        var breaker = opened()
        for _ in 0..<100 { breaker.faultOccurred(at: .milliseconds(500)) }
        #expect(breaker.requestWasWanted(at: .seconds(1)) == .probe)
    }
}
