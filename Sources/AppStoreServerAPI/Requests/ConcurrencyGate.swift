import Subscriptions
import Synchronization

/// Admits a bounded number of tasks at once; the others wait in the order of their arrival.
final class ConcurrencyGate: Sendable {
    private typealias Waiter = (number: Int, continuation: CheckedContinuation<Bool, Never>)

    private struct State {
        var free: Int
        var lastNumber = 0
        var waiters: [Waiter] = []
    }

    private let state: Mutex<State>

    init(limit: Int) {
        precondition(limit > 0, "the limit must allow a call")
        state = Mutex(State(free: limit))
    }

    /// Returns inside; every entry must be followed by one `leave`.
    ///
    /// - Throws: `cancelled`, and then the task is not inside.
    func enter() async throws(RunStop) {
        if Task.isCancelled { throw .cancelled }
        if enterAtOnce() { return }
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let isInside = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isInside: Bool? = state.withLock { state in
                    // Cancelled before it was queued: the handler found no waiter to resume.
                    if Task.isCancelled { return false }
                    if state.free > 0 {
                        state.free -= 1
                        return true
                    }
                    state.waiters.append((number, continuation))
                    return nil
                }
                if let isInside { continuation.resume(returning: isInside) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiters.firstIndex { $0.number == number }.map {
                    state.waiters.remove(at: $0)
                }
            }
            waiter?.continuation.resume(returning: false)
        }
        guard isInside else { throw .cancelled }
    }

    /// Nearly every task finds a free place, and then needs neither a number nor a continuation.
    private func enterAtOnce() -> Bool {
        state.withLock { state in
            guard state.free > 0 else { return false }
            state.free -= 1
            return true
        }
    }

    func leave() {
        let next: Waiter? = state.withLock { state in
            guard state.waiters.isEmpty else { return state.waiters.removeFirst() }
            state.free += 1
            return nil
        }
        next?.continuation.resume(returning: true)
    }
}
