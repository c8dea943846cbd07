/// How long a server is waited for that has answered before: for a restart or a fail-over.
///
/// The tries themselves take time as well: one that is not answered takes longer than a pause.
package struct Reconnection: Sendable {
    /// The pauses of a run before each further try: half a minute in all.
    ///
    /// A run whose books are on the server leaves no report without them.
    package static let pausesOfRun: [UInt32] = [500, 1000, 2000, 4000, 8000, 16000]

    private let pauses: [UInt32]
    private let patience: ServerPatience
    /// Whether the server has answered, and may be waited for when it does so no more: once.
    private var mayWait = false
    /// Since when the server is waited for; `nil` where it answers.
    private var unansweredSince: ContinuousClock.Instant?

    /// - Parameters:
    ///   - pauses: In milliseconds.
    ///   - patience: Ends the wait when a signal comes.
    package init(pauses: [UInt32], patience: ServerPatience) {
        self.pauses = pauses
        self.patience = patience
    }

    /// Notes that a session was opened.
    package mutating func isConnected() { mayWait = true }

    /// Notes that a transaction has ended as it should: the server is there.
    package mutating func isAnswered() { unansweredSince = nil }

    /// Pauses before another try to reach the server; not again once it was waited for in vain.
    ///
    /// - Parameter attempt: How many tries there were.
    /// - Returns: Whether to try again.
    package mutating func pause(afterAttempt attempt: Int) -> Bool {
        let since = unansweredSince ?? .now
        unansweredSince = since
        let longest = Duration.milliseconds(Int64(pauses.reduce(0) { $0 + UInt64($1) }))
        let left = ContinuousClock.now.duration(to: since + longest)
        guard mayWait, attempt > 0, attempt <= pauses.count, left > .zero, !patience.isGivenUp
        else {
            if mayWait, pauses == Self.pausesOfRun { patience.giveUp() }
            mayWait = false
            return false
        }
        let pause = min(pauses[attempt - 1], UInt32(max(1, left / .milliseconds(1))))
        guard patience.pause(milliseconds: pause) else {
            mayWait = false
            return false
        }
        return true
    }
}
