/// Stops asking an endpoint that does not work, and finds out when it works again.
///
/// A row of faults opens it. While it is open nobody asks; after a pause, one request alone tries
/// (a probe). Failed probes double the pause. After a minute without any success it gives up for
/// good: the run has better things to do than to wait.
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

    private enum State: Hashable {
        /// Working; with how many faults in a row, and since when.
        case closed(faults: Int, since: Duration)
        case open(until: Duration, pause: Duration, since: Duration)
        case probing(pause: Duration, since: Duration)
        case givenUp
    }

    package static let faultsToOpen = 10
    package static let patience: Duration = .seconds(60)
    package static let firstPause: Duration = .seconds(1)
    package static let longestPause: Duration = .seconds(15)
    /// How often waiting requests look whether the probe has come back.
    package static let probeLook: Duration = .milliseconds(250)

    private var state = State.closed(faults: 0, since: .zero)

    package init() {}

    package var isClosed: Bool { if case .closed = state { true } else { false } }

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
    package mutating func answerCame() {
        if state != .givenUp { state = .closed(faults: 0, since: .zero) }
    }

    /// The endpoint failed: a connection fault, or an answer of the 5xx class.
    package mutating func faultOccurred(at now: Duration) {
        switch state {
        case .closed(let faults, let since):
            let since = faults == 0 ? now : since
            state =
                faults + 1 < Self.faultsToOpen
                ? .closed(faults: faults + 1, since: since)
                : .open(until: now + Self.firstPause, pause: Self.firstPause, since: since)
        case .probing(let pause, let since):
            let longer = min(pause * 2, Self.longestPause)
            state =
                now >= since + Self.patience
                ? .givenUp : .open(until: now + longer, pause: longer, since: since)
        case .open, .givenUp:
            // A request that was in flight when it opened: nothing new.
            break
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
}
