/// Apple's two worlds; ids never cross them.
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
        return hours.map { $0 * 3_600_000 }
    }
}
