/// What becomes of the notifications that a step makes, as written.
enum ScriptedDelivery: String, Sendable, CaseIterable {
    case atOnce = "at_once"
    case late
    case never
    case unsent

    /// `nil` where Apple itself sends nothing and keeps nothing.
    var plan: NotificationRecord.Delivery? {
        switch self {
        case .atOnce: .atOnce
        case .late: NotificationRecord.Delivery(failedAttempts: 2)
        case .never: .never
        case .unsent: nil
        }
    }
}
