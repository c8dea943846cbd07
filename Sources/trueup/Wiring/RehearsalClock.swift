import Subscriptions

/// The clock of a rehearsal: it starts at a chosen time and goes on from there.
enum RehearsalClock {
    /// - Throws: 64 unless every app asks a server on this machine.
    static func starting(
        at start: Timestamp, settings: Settings
    ) throws -> @Sendable () -> Timestamp {
        guard settings.apps.allSatisfy(\.endpoint.isLoopback) else {
            throw CommandFailure(
                .usage, "--now is for rehearsals: it needs a loopback endpoint in every app")
        }
        let started = ContinuousClock.now
        return {
            let elapsed = ContinuousClock.now - started
            return start.adding(milliseconds: Int64(elapsed / .milliseconds(1)))
        }
    }
}
