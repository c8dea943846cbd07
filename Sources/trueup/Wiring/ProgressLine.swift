package import ReconciliationRun
package import Subscriptions
import Synchronization

/// What a person at the terminal sees of a run: how far it is, what it waits for, and what happened
/// on the way.
///
/// On a terminal progress and waits are one line that is written over; elsewhere progress is a line
/// now and then, and every wait a line of its own, at once.
package final class ProgressLine: Sendable {
    private struct Wait {
        let reason: String
        let until: Timestamp
    }

    private struct State {
        var lastShown: ContinuousClock.Instant?
        var isOpen = false
        var progress: RunProgress?
        /// The first that was heard of the present stage.
        var began: (at: ContinuousClock.Instant, progress: RunProgress)?
        /// The last wait that was told; it may be over.
        var wait: Wait?
    }

    private let state = Mutex(State())
    private let isTerminal: Bool
    private let isQuiet: Bool
    private let now: @Sendable () -> Timestamp
    private let columns: @Sendable () -> Int
    private let write: @Sendable (String) -> Void

    private static let terminalInterval = Duration.milliseconds(200)
    private static let logInterval = Duration.seconds(30)

    /// - Parameters:
    ///   - isTerminal: Whether a line can be written over.
    ///   - isQuiet: Whether nothing is said at all.
    ///   - now: The wall clock, by which waits end.
    ///   - columns: How wide the terminal is now.
    ///   - write: Where it is said; never standard output.
    package init(
        isTerminal: Bool, isQuiet: Bool, now: @escaping @Sendable () -> Timestamp,
        columns: @escaping @Sendable () -> Int = { 80 },
        write: @escaping @Sendable (String) -> Void
    ) {
        self.isTerminal = isTerminal && !isQuiet
        self.isQuiet = isQuiet
        self.now = now
        self.columns = columns
        self.write = write
    }

    package func show(_ progress: RunProgress) {
        guard !isQuiet else { return }
        let now = ContinuousClock.now
        let isDue = state.withLock { state in
            state.progress = progress
            if state.began?.progress.stage != progress.stage { state.began = (now, progress) }
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
        if isTerminal { overwrite() } else { write("trueup: " + full(progress) + "\n") }
    }

    /// Says that nothing is asked until `end`.
    ///
    /// - Parameters:
    ///   - sentence: All of it, with the time, for a line of its own.
    ///   - reason: In a few words, for the line that is written over.
    ///   - end: When the run goes on.
    package func wait(_ sentence: String, for reason: String, until end: Timestamp) {
        guard !isQuiet else { return }
        guard isTerminal else { return write("trueup: \(sentence)\n") }
        state.withLock { $0.wait = Wait(reason: reason, until: end) }
        overwrite()
    }

    /// Says something in a line of its own.
    package func say(_ sentence: String) {
        clear()
        guard !isQuiet else { return }
        write("trueup: \(sentence)\n")
        if isTerminal, presentWait != nil { overwrite() }
    }

    /// Clears the line that is written over, before anything else is written.
    package func clear() {
        let isOpen = state.withLock { state in
            defer { state.isOpen = false }
            return state.isOpen
        }
        if isOpen { write("\r\u{1B}[K") }
    }

    private func overwrite() {
        let wait = presentWait.map { "waiting until \($0.until.rfc3339) for \($0.reason)" }
        let progress = state.withLock { state in
            state.isOpen = true
            return state.progress
        }
        // What matters most is said first, and left out last.
        let forms: [[String?]] =
            wait == nil
            ? [[progress.map(full)], [progress.map(text)], [progress.map(short)]]
            : [
                [progress.map(full), wait], [progress.map(text), wait],
                [progress.map(short), wait], [wait], [progress.map(short)],
            ]
        let lines = forms.map { $0.compactMap(\.self).joined(separator: "; ") }
        let room = max(1, columns() - 1)
        let line = lines.first { $0.count <= room } ?? String((lines.last ?? "").prefix(room))
        write("\r\u{1B}[K" + line)
    }

    /// The last wait that was told, if it is not over.
    private var presentWait: Wait? {
        let now = now()
        return state.withLock { state in
            state.wait.flatMap { $0.until > now ? $0 : nil }
        }
    }

    /// With the rate and the time left, once there is something to tell.
    private func full(_ progress: RunProgress) -> String {
        let began = state.withLock { $0.began }
        guard let began, began.progress.stage == progress.stage else { return text(progress) }
        let seconds = (ContinuousClock.now - began.at) / .seconds(1)
        let done = progress.done - began.progress.done
        guard seconds >= 1, done > 0 else { return text(progress) }
        let rate = Double(done) / seconds
        var parts = [text(progress), rate < 10 ? Self.tenths(rate) + "/s" : "\(Int(rate))/s"]
        if let total = progress.total, total > progress.done {
            let left = min(1e12, Double(total - progress.done) / rate * 1000)
            parts.append(DurationText.age(ofMilliseconds: Int64(left)) + " left")
        }
        return parts.joined(separator: ", ")
    }

    private static func tenths(_ number: Double) -> String {
        let tenths = Int((number * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    /// For a narrow terminal: `walk 29 %`.
    private func short(_ progress: RunProgress) -> String {
        guard let total = progress.total, total > 0 else {
            return "\(progress.stage.rawValue) \(progress.done)"
        }
        let share = min(1, Double(progress.done) / Double(total))
        return "\(progress.stage.rawValue) \(Int(share * 100)) %"
    }

    private func text(_ progress: RunProgress) -> String {
        switch progress.stage {
        case .recover: "recover: \(progress.done) notifications read"
        case .walk:
            progress.total.map { "walk: \(progress.done) of \($0) rows asked" }
                ?? "walk: \(progress.done) rows asked"
        case .again: "walk: \(progress.done) rows asked once more"
        case .apply: "apply: \(progress.done) corrections written"
        }
    }
}
