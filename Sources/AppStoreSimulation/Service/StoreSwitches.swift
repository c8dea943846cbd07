import Synchronization

/// Facts about the app that control calls may change.
final class StoreSwitches: Sendable {
    struct State: Sendable {
        /// An app without a production release gets 401 from every production endpoint.
        var isReleased = true
        /// Whether a notification address is configured; without one test notifications fail.
        var hasNotificationAddress = true
    }

    let state = Mutex(State())

    func isReleased(in environment: SimulatedEnvironment) -> Bool {
        environment == .sandbox || state.withLock { $0.isReleased }
    }
}
