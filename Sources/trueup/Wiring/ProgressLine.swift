import ReconciliationRun
import Synchronization

/// What a person at the terminal sees of a run: how far it is, and what happened on the way.
///
/// On a terminal the progress is one line that is written over; elsewhere a line now and then.
final class ProgressLine: Sendable {
    private struct State {
        var lastShown: ContinuousClock.Instant?
        var isOpen = false
    }

    private let state = Mutex(State())
    private let isTerminal: Bool
    private let isQuiet: Bool
    private let write: @Sendable (String) -> Void

    private static let terminalInterval = Duration.milliseconds(200)
    private static let logInterval = Duration.seconds(30)

    init(isTerminal: Bool, isQuiet: Bool, write: @escaping @Sendable (String) -> Void) {
        self.isTerminal = isTerminal && !isQuiet
        self.isQuiet = isQuiet
        self.write = write
    }

    func show(_ progress: RunProgress) {
        guard !isQuiet else { return }
        let now = ContinuousClock.now
        let isDue = state.withLock { state in
            let interval = isTerminal ? Self.terminalInterval : Self.logInterval
            // Short runs on a schedule need no progress at all.
            guard let last = state.lastShown else {
                state.lastShown = now
                return isTerminal
            }
            guard now - last >= interval else { return false }
            state.lastShown = now
            return true
        }
        guard isDue else { return }
        state.withLock { $0.isOpen = isTerminal }
        write(isTerminal ? "\r\u{1B}[K" + text(progress) : text(progress) + "\n")
    }

    /// Says something in a line of its own.
    func say(_ sentence: String) {
        clear()
        if !isQuiet { write("trueup: \(sentence)\n") }
    }

    /// Clears the line that is written over, before anything else is written.
    func clear() {
        let isOpen = state.withLock { state in
            defer { state.isOpen = false }
            return state.isOpen
        }
        if isOpen { write("\r\u{1B}[K") }
    }

    private func text(_ progress: RunProgress) -> String {
        switch progress.stage {
        case .recover: "recover: \(progress.done) notifications read"
        case .walk: "walk: \(progress.done) rows asked"
        case .again: "walk: \(progress.done) rows asked once more"
        case .apply: "apply: \(progress.done) corrections written"
        }
    }
}
