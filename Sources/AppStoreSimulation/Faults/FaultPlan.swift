import Synchronization

/// The active fault rules, with their counters.
///
/// A new plan replaces the old one with all counters. The first rule that fires applies; if it says
/// `combine`, the rules behind it are also considered.
final class FaultPlan: Sendable {
    private struct Entry {
        let rule: FaultRule
        var matched = 0
        var fired = 0
        /// When it fired first (UNIX milliseconds).
        var began: Int64?

        /// Counts a match, and returns whether the rule fires.
        mutating func countMatch(now: Int64) -> Bool {
            if case .quotaUsedUp(_, let seconds) = rule.fault, let began,
                now >= began + seconds * 1000
            {
                return false
            }
            matched += 1
            let number = matched - rule.skip
            guard number > 0, number % rule.every == 0, fired < rule.count else { return false }
            fired += 1
            began = began ?? now
            return true
        }
    }

    private struct State {
        var entries: [Entry] = []
        var start: ContinuousClock.Instant = .now

        var age: Double {
            let elapsed = ContinuousClock.now - start
            return Double(elapsed.components.seconds)
                + Double(elapsed.components.attoseconds) * 1e-18
        }
    }

    /// A rule that fires.
    struct Firing: Sendable {
        let rule: FaultRule
        /// When the rule fired first (UNIX milliseconds).
        let began: Int64
    }

    private let initial: [FaultRule]
    private let state = Mutex(State())

    /// `rules`: those of the start, which `reset` restores.
    init(_ rules: [FaultRule] = []) {
        initial = rules
        replace(with: rules)
    }

    func reset() { replace(with: initial) }

    func replace(with rules: [FaultRule]) {
        state.withLock { state in
            state.entries = rules.map { Entry(rule: $0) }
            state.start = .now
        }
    }

    /// The rules that fire for a request, in their order.
    func firings(_ subject: FaultSubject, unixMilliseconds now: Int64) -> [Firing] {
        state.withLock { state in
            guard !state.entries.isEmpty else { return [] }
            let age = state.age
            var firings: [Firing] = []
            for index in state.entries.indices {
                guard state.entries[index].rule.concerns(subject, age: age),
                    state.entries[index].countMatch(now: now)
                else { continue }
                let entry = state.entries[index]
                firings.append(Firing(rule: entry.rule, began: entry.began ?? now))
                if !entry.rule.combines { break }
            }
            return firings
        }
    }

    /// The fault of a new connection, if any.
    func nextConnection(_ environment: SimulatedEnvironment) -> ConnectionFault? {
        state.withLock { state in
            let age = state.age
            for index in state.entries.indices {
                guard case .connection(let fault) = state.entries[index].rule.fault,
                    fault != .refused,
                    state.entries[index].rule.holds(in: environment, age: age),
                    state.entries[index].countMatch(now: 0)
                else { continue }
                return fault
            }
            return nil
        }
    }

    /// Whether the environment's port is to be closed now.
    func refusesConnections(_ environment: SimulatedEnvironment) -> Bool {
        state.withLock { state in
            let age = state.age
            return state.entries.contains { entry in
                guard case .connection(.refused) = entry.rule.fault else { return false }
                return entry.rule.holds(in: environment, age: age)
            }
        }
    }

    /// How often each rule matched and fired.
    var report: [(name: String, matched: Int, fired: Int)] {
        state.withLock { state in
            state.entries.map { ($0.rule.name, $0.matched, $0.fired) }
        }
    }
}
