import ReconciliationRun
import Synchronization

/// Tells on standard error how far a run is: a line that moves on a terminal, else now and then.
final class ProgressLine: Sendable {
    private struct State {
        var lastTold: ContinuousClock.Instant?
        var isOpen = false
    }

    private let state = Mutex(State())
    private let isTerminal: Bool
    private let write: @Sendable (String) -> Void

    private static let terminalInterval = Duration.milliseconds(200)
    private static let logInterval = Duration.seconds(30)

    init(isTerminal: Bool, write: @escaping @Sendable (String) -> Void) {
        self.isTerminal = isTerminal
        self.write = write
    }

    func tell(_ progress: RunProgress) {
        let now = ContinuousClock.now
        let isDue = state.withLock { state in
            let interval = isTerminal ? Self.terminalInterval : Self.logInterval
            // Short runs on a schedule need no progress at all.
            guard let last = state.lastTold else {
                state.lastTold = now
                return isTerminal
            }
            guard now - last >= interval else { return false }
            state.lastTold = now
            return true
        }
        guard isDue else { return }
        state.withLock { $0.isOpen = isTerminal }
        write(isTerminal ? "\r\u{1B}[K" + text(progress) : text(progress) + "\n")
    }

    /// Clears the moving line before anything else is written.
    func finish() {
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
