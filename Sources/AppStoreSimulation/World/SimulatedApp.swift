import Synchronization

/// The app whose store is simulated, and the client's credentials for it.
package struct SimulatedApp: Hashable, Sendable {
    package var bundleID = "com.example.app"
    package var appAppleID: Int64 = 1_234_567_890
    package var issuerID = "57246542-96fe-1a63-e053-0824d011072a"
    package var keyID = "2X9R4HXF34"
    /// The team key of App Store Connect's API.
    package var connectKeyID = "6PD4K7QW2B"
    /// Whose sales reports there are.
    package var vendorNumber = "80012345"

    package init() {}
}

/// Apple's two environments; an id exists in one of them only.
package enum SimulatedEnvironment: String, Hashable, Sendable, CaseIterable {
    case production = "Production"
    case sandbox = "Sandbox"

    /// How far back notification history reaches.
    var notificationHistoryDays: Int64 { self == .production ? 180 : 30 }

    /// When deliveries are attempted, in milliseconds after the notification.
    ///
    /// Production: at once and 1, 12, 24, 48 and 72 hours after the attempt before; sandbox: once.
    var attemptDelays: [Int64] {
        let hours: [Int64] = self == .production ? [0, 1, 13, 37, 85, 157] : [0]
        return hours.map { $0 * CivilCalendar.millisecondsPerHour }
    }
}

/// What the developer sets up in App Store Connect; control calls change it.
final class AppStoreConnectSettings: Sendable {
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
