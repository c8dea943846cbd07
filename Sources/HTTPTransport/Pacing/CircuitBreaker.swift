/// Stops asking an endpoint that does not work, and finds out when it works again.
///
/// A row of faults opens it, and one request alone tries at once (a probe): the faults may have
/// been those of a few questions. While the probes fail nobody else asks; each doubles the pause
/// before the next. When nothing has come for as long as its patience, it gives up for good.
package struct CircuitBreaker: Sendable {
    /// What a request may do now.
    package enum Admission: Hashable, Sendable {
        case proceed
        /// Alone; the outcome must be told by one of the events.
        case probe
        /// Ask again then.
        case wait(until: Duration)
        case refuse
    }

    /// What an event changed that people should hear of.
    package enum Change: Hashable, Sendable {
        /// It does not work; what happens next, and when waiting for it ends.
        case waits(until: Duration, givesUpAt: Duration)
        case worksAgain(since: Duration)
        case gaveUp
    }

    private enum State: Hashable {
        /// Working; with how many faults in a row, and since when.
        case closed(faults: Int, since: Duration)
        /// No pause yet: nothing is known but the row of faults.
        case open(until: Duration, pause: Duration, since: Duration)
        case probing(pause: Duration, since: Duration)
        case givenUp
    }

    package static let faultsToOpen = 10
    package static let firstPause: Duration = .seconds(1)
    package static let longestPause: Duration = .seconds(60)
    /// How often waiting requests look whether the probe has come back.
    package static let probeLook: Duration = .milliseconds(250)

    private let patience: Duration
    private let deadline: Duration?
    private var state = State.closed(faults: 0, since: .zero)

    /// A closed one.
    ///
    /// It waits for `patience` since the first fault of a row. Nobody asks after `deadline`, so that
    /// a pause rather ends a little before it than after.
    package init(patience: Duration, deadline: Duration? = nil) {
        self.patience = patience
        self.deadline = deadline
    }

    package var isClosed: Bool { if case .closed = state { true } else { false } }
    package var hasGivenUp: Bool { state == .givenUp }

    /// What a request would be told, without becoming the probe.
    package func outlook(at now: Duration) -> Admission {
        switch state {
        case .closed: .proceed
        case .open(let until, _, _): now < until ? .wait(until: until) : .probe
        case .probing: .wait(until: now + Self.probeLook)
        case .givenUp: .refuse
        }
    }

    /// A request is about to be sent; told `probe`, it is the probe.
    package mutating func requestWasWanted(at now: Duration) -> Admission {
        let admission = outlook(at: now)
        if case .open(_, let pause, let since) = state, admission == .probe {
            state = .probing(pause: pause, since: since)
        }
        return admission
    }

    /// The endpoint gave an answer that is no fault of its own, a refusal included.
    package mutating func answerCame() -> Change? {
        defer { if state != .givenUp { state = .closed(faults: 0, since: .zero) } }
        switch state {
        case .open(_, let pause, let since), .probing(let pause, let since):
            return pause > .zero ? .worksAgain(since: since) : nil
        case .closed, .givenUp: return nil
        }
    }

    /// The endpoint failed: a connection fault, or an answer of the 5xx class.
    ///
    /// `asProbe` says that the request was the probe: those that were in flight when it opened say
    /// nothing new. The pause that a probe earns grows to `longestPause`.
    package mutating func faultOccurred(
        at now: Duration, asProbe: Bool = false, longestPause: Duration = Self.longestPause
    ) -> Change? {
        switch state {
        case .closed(let faults, let since):
            let since = faults == 0 ? now : since
            state =
                faults + 1 < Self.faultsToOpen
                ? .closed(faults: faults + 1, since: since)
                : .open(until: now, pause: .zero, since: since)
            return nil
        case .probing(let pause, let since) where asProbe:
            guard now < since + patience else {
                state = .givenUp
                return .gaveUp
            }
            let longer = min(max(Self.firstPause, pause * 2), longestPause)
            let until = end(of: longer, at: now, givesUpAt: since + patience)
            state = .open(until: until, pause: longer, since: since)
            return .waits(until: until, givesUpAt: since + patience)
        case .probing, .open, .givenUp:
            return nil
        }
    }

    /// The probe never came back (it was cancelled): somebody else may try.
    package mutating func probeWasAbandoned(at now: Duration) {
        if case .probing(let pause, let since) = state {
            state = .open(until: now, pause: pause, since: since)
        }
    }

    /// Nothing will work in this run; no need to find out by waiting.
    package mutating func hopeWasLost() {
        state = .givenUp
    }

    /// The last moments of the patience, and those before the deadline, are worth a look.
    private func end(of pause: Duration, at now: Duration, givesUpAt: Duration) -> Duration {
        let until = min(now + pause, givesUpAt)
        guard let deadline, until > deadline - Self.firstPause else { return until }
        return max(min(now + Self.firstPause, until), deadline - Self.firstPause)
    }
}
