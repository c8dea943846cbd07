import Synchronization

/// The faults in force, with their counters.
///
/// A plan is read from a file or a control call, replaces the one before and starts its counters
/// anew. The first rule that fires decides.
final class FaultPlan: Sendable {
    private struct Entry {
        let rule: FaultRule
        var matched = 0
        var fired = 0
    }

    private struct State {
        var entries: [Entry] = []
        var start: ContinuousClock.Instant = .now
    }

    private let state = Mutex(State())

    func replace(with rules: [FaultRule]) {
        state.withLock { state in
            state.entries = rules.map { Entry(rule: $0) }
            state.start = .now
        }
    }

    /// The rule that a request runs into, or none.
    func next(
        _ endpoint: Endpoint, id: String, environment: SimulatedEnvironment
    ) -> FaultRule? {
        state.withLock { state in
            guard !state.entries.isEmpty else { return nil }
            let elapsed = ContinuousClock.now - state.start
            let age =
                Double(elapsed.components.seconds)
                + Double(elapsed.components.attoseconds) * 1e-18
            for index in state.entries.indices {
                let rule = state.entries[index].rule
                guard rule.concerns(endpoint, id: id, environment: environment, age: age) else {
                    continue
                }
                state.entries[index].matched += 1
                let number = state.entries[index].matched - rule.skip
                guard number > 0, number % rule.every == 0,
                    state.entries[index].fired < rule.count
                else { continue }
                state.entries[index].fired += 1
                return rule
            }
            return nil
        }
    }

    /// What each rule did, for the control call.
    var report: [(name: String, matched: Int, fired: Int)] {
        state.withLock { state in
            state.entries.map { ($0.rule.name, $0.matched, $0.fired) }
        }
    }
}
