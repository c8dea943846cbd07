/// Stops requests to an endpoint that does not work, and finds out when it works again.
///
/// A series of faults opens it, and a single request (the probe) is sent at once, because perhaps
/// only a few requests fail. While probes fail, no other request is sent, and each failed probe
/// doubles the pause before the next. Without any answer for the duration of `patience` it gives up
/// for good.
package struct CircuitBreaker: Sendable {
    /// The answer to a request that wants to be sent now.
    package enum Admission: Hashable, Sendable {
        case proceed
        /// As the only request; its result must be reported by one of the events.
        case probe
        /// Ask again at this time.
        case wait(until: Duration)
        case refuse
    }

    /// A change of the endpoint's state that people should be notified of.
    package enum Change: Hashable, Sendable {
        /// It does not work: when the next probe is sent, and when it is given up.
        case waits(until: Duration, givesUpAt: Duration)
        case worksAgain(since: Duration)
        case gaveUp
    }

    private enum State: Hashable {
        /// It works; how many faults in a row there were, and since when.
        case closed(faults: Int, since: Duration)
        /// It does not work. The pause is zero before the first probe.
        case open(until: Duration, pause: Duration, since: Duration)
        case probing(pause: Duration, since: Duration)
        case givenUp
    }

    package static let faultsToOpen = 10
    package static let firstPause: Duration = .seconds(1)
    package static let longestPause: Duration = .seconds(60)
    /// How often waiting requests check whether the probe has ended.
    package static let probeLook: Duration = .milliseconds(250)

    private let patience: Duration
    private let deadline: Duration?
    private var state = State.closed(faults: 0, since: .zero)
    /// How long `trueup pause` has held requests during this series of faults; that time is not
    /// part of `patience`.
    private var held: Duration = .zero

    /// A closed circuit breaker.
    ///
    /// It waits for `patience` after the first fault of a series. Nothing is sent after `deadline`,
    /// so a pause ends a little before it instead of after it.
    package init(patience: Duration, deadline: Duration? = nil) {
        self.patience = patience
        self.deadline = deadline
    }

    package var isClosed: Bool { if case .closed = state { true } else { false } }
    package var hasGivenUp: Bool { state == .givenUp }

    /// Returns the answer that a request would get, without making it the probe.
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

    /// The endpoint answered without a fault of its own; a refusal is not a fault.
    package mutating func answerCame() -> Change? {
        defer {
            if state != .givenUp { state = .closed(faults: 0, since: .zero) }
            held = .zero
        }
        switch state {
        case .open(_, let pause, let since), .probing(let pause, let since):
            return pause > .zero ? .worksAgain(since: since) : nil
        case .closed, .givenUp: return nil
        }
    }

    /// The endpoint failed: a connection fault, or an answer of the 5xx class.
    ///
    /// `asProbe` says that the request was the probe; other requests that were in flight when it
    /// opened are ignored. The pause after failed probes grows up to `longestPause`.
    package mutating func faultOccurred(
        at now: Duration, asProbe: Bool = false, longestPause: Duration = Self.longestPause
    ) -> Change? {
        switch state {
        case .closed(let faults, let since):
            let since = faults == 0 ? now : since
            if faults == 0 { held = .zero }
            state =
                faults + 1 < Self.faultsToOpen
                ? .closed(faults: faults + 1, since: since)
                : .open(until: now, pause: .zero, since: since)
            return nil
        case .probing(let pause, let since) where asProbe:
            let givesUpAt = since + patience + held
            guard now < givesUpAt else {
                state = .givenUp
                return .gaveUp
            }
            let longer = min(max(Self.firstPause, pause * 2), longestPause)
            let until = end(of: longer, at: now, givesUpAt: givesUpAt)
            state = .open(until: until, pause: longer, since: since)
            return .waits(until: until, givesUpAt: givesUpAt)
        case .probing, .open, .givenUp:
            return nil
        }
    }

    /// The probe was cancelled: another request may be the probe.
    package mutating func probeWasAbandoned(at now: Duration) {
        if case .probing(let pause, let since) = state {
            state = .open(until: now, pause: pause, since: since)
        }
    }

    /// People had the run paused for so long: the run could not find out whether the endpoint
    /// works.
    package mutating func wasHeld(for duration: Duration) {
        held += duration
    }

    /// The endpoint cannot work in this run, so there is no point in waiting.
    package mutating func hopeWasLost() {
        state = .givenUp
    }

    /// The end of a pause, moved so that a last probe is sent before patience and deadline end.
    private func end(of pause: Duration, at now: Duration, givesUpAt: Duration) -> Duration {
        let until = min(now + pause, givesUpAt)
        guard let deadline, until > deadline - Self.firstPause else { return until }
        return max(min(now + Self.firstPause, until), deadline - Self.firstPause)
    }
}
