import HTTPTransport
import Testing

@Suite struct `A circuit breaker` {
    private static let patience: Duration = .seconds(1800)

    private func opened(at now: Duration = .zero, deadline: Duration? = nil) -> CircuitBreaker {
        var breaker = CircuitBreaker(patience: Self.patience, deadline: deadline)
        for _ in 0..<CircuitBreaker.faultsToOpen { _ = breaker.faultOccurred(at: now) }
        return breaker
    }

    /// Opened, and its first probe has failed, too.
    private func waiting(at now: Duration = .zero) -> CircuitBreaker {
        var breaker = opened(at: now)
        _ = breaker.requestWasWanted(at: now)
        _ = breaker.faultOccurred(at: now, asProbe: true)
        return breaker
    }

    /// When it lets probes through, if every one of them fails.
    private func probes(_ breaker: inout CircuitBreaker, until end: Duration) -> [Duration] {
        var now: Duration = .zero
        var probes: [Duration] = []
        while now <= end {
            switch breaker.requestWasWanted(at: now) {
            case .proceed: Issue.record("an open breaker let a request pass")
            case .probe:
                probes.append(now)
                _ = breaker.faultOccurred(at: now, asProbe: true)
            case .wait(let until): now = until
            case .refuse: return probes
            }
        }
        return probes
    }

    @Test func `opens after a row of faults, and lets one request find out at once`() {
        var breaker = CircuitBreaker(patience: Self.patience)
        for _ in 1..<CircuitBreaker.faultsToOpen { _ = breaker.faultOccurred(at: .zero) }
        #expect(breaker.requestWasWanted(at: .zero) == .proceed)
        #expect(breaker.faultOccurred(at: .zero) == nil)
        #expect(!breaker.isClosed)
        #expect(breaker.requestWasWanted(at: .zero) == .probe)
        #expect(breaker.requestWasWanted(at: .zero) == .wait(until: CircuitBreaker.probeLook))
        #expect(
            breaker.faultOccurred(at: .zero, asProbe: true)
                == .waits(until: CircuitBreaker.firstPause, givesUpAt: Self.patience))
        #expect(breaker.requestWasWanted(at: .zero) == .wait(until: CircuitBreaker.firstPause))
    }

    @Test func `the time for which people paused the run is not part of the wait`() {
        var breaker = waiting()
        let hour: Duration = .seconds(3600)
        breaker.wasHeld(for: hour)
        #expect(breaker.requestWasWanted(at: hour) == .probe)
        let told = breaker.faultOccurred(at: hour, asProbe: true)
        #expect(told == .waits(until: hour + .seconds(2), givesUpAt: hour + Self.patience))
        #expect(probes(&breaker, until: hour * 3).last == hour + Self.patience)
        #expect(breaker.hasGivenUp)
        // Another series of faults begins with the whole wait.
        var recovered = waiting()
        recovered.wasHeld(for: hour)
        _ = recovered.answerCame()
        for _ in 0..<CircuitBreaker.faultsToOpen { _ = recovered.faultOccurred(at: hour) }
        _ = recovered.requestWasWanted(at: hour)
        #expect(
            recovered.faultOccurred(at: hour, asProbe: true)
                == .waits(until: hour + .seconds(1), givesUpAt: hour + Self.patience))
    }

    @Test func `does not count faults that are not in a row`() {
        var breaker = CircuitBreaker(patience: Self.patience)
        for _ in 0..<1000 {
            for _ in 1..<CircuitBreaker.faultsToOpen { _ = breaker.faultOccurred(at: .zero) }
            _ = breaker.answerCame()
        }
        #expect(breaker.isClosed)
    }

    @Test func `closes on an answer, and says so only where a call had to wait`() {
        var doubtful = opened()
        #expect(doubtful.requestWasWanted(at: .zero) == .probe)
        #expect(doubtful.answerCame() == nil)
        #expect(doubtful.requestWasWanted(at: .zero) == .proceed)
        var breaker = waiting(at: .seconds(5))
        #expect(breaker.requestWasWanted(at: .seconds(6)) == .probe)
        #expect(breaker.answerCame() == .worksAgain(since: .seconds(5)))
        #expect(breaker.requestWasWanted(at: .seconds(6)) == .proceed)
    }

    @Test func `asks less and less often, once a minute in the end, and gives up in time`() {
        var breaker = opened()
        let asked = probes(&breaker, until: .seconds(9999))
        #expect(Array(asked.prefix(8)) == [0, 1, 3, 7, 15, 31, 63, 123].map { .seconds($0) })
        #expect(zip(asked, asked.dropFirst()).allSatisfy { $1 - $0 <= .seconds(60) })
        #expect(asked.last == Self.patience)
        #expect(breaker.hasGivenUp)
        #expect(breaker.requestWasWanted(at: .seconds(99_999)) == .refuse)
        #expect(breaker.answerCame() == nil)
        #expect(breaker.requestWasWanted(at: .seconds(99_999)) == .refuse)
    }

    @Test func `pauses no longer than a failing probe has earned`() {
        var breaker = opened()
        for second in [0, 1, 3, 6, 9] {
            #expect(breaker.requestWasWanted(at: .seconds(second)) == .probe)
            _ = breaker.faultOccurred(
                at: .seconds(second), asProbe: true, longestPause: .seconds(3))
        }
        #expect(breaker.requestWasWanted(at: .seconds(11)) == .wait(until: .seconds(12)))
    }

    @Test func `looks once more shortly before a deadline`() {
        var breaker = opened(deadline: .seconds(20))
        let asked = probes(&breaker, until: .milliseconds(19_999))
        #expect(asked == [0, 1, 3, 7, 15, 19].map { .seconds($0) })
        #expect(!breaker.hasGivenUp)
    }

    @Test func `measures its patience from the first fault of the row`() {
        var breaker = waiting(at: .seconds(1000))
        #expect(breaker.requestWasWanted(at: .seconds(2799)) == .probe)
        _ = breaker.faultOccurred(at: .seconds(2799), asProbe: true)
        #expect(breaker.requestWasWanted(at: .seconds(2800)) == .probe)
        #expect(breaker.faultOccurred(at: .seconds(2800), asProbe: true) == .gaveUp)
        #expect(breaker.requestWasWanted(at: .seconds(2800)) == .refuse)
    }

    @Test func `lets another request probe when the probe is cancelled`() {
        var breaker = waiting()
        #expect(breaker.requestWasWanted(at: .seconds(1)) == .probe)
        breaker.probeWasAbandoned(at: .seconds(2))
        #expect(breaker.requestWasWanted(at: .seconds(2)) == .probe)
    }

    @Test func `ignores late faults of requests that were in flight when it opened`() {
        var breaker = opened()
        #expect(breaker.requestWasWanted(at: .zero) == .probe)
        for _ in 0..<100 { _ = breaker.faultOccurred(at: .milliseconds(500)) }
        #expect(breaker.answerCame() == nil)
        #expect(breaker.isClosed)
    }
}
