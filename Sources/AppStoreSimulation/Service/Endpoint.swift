/// The simulated endpoints of the App Store Server API; raw values are their names in fault plans.
///
/// Source: App Store Server API, endpoints.
package enum Endpoint: String, Hashable, Sendable, CaseIterable {
    case statuses
    case history
    case historyV1 = "history_v1"
    case transactionInfo = "transaction_info"
    case appTransactionInfo = "app_transaction_info"
    case refundHistory = "refund_history"
    case orderLookup = "order_lookup"
    case notificationHistory = "notification_history"
    case testNotification = "test_notification"
    case testNotificationStatus = "test_notification_status"

    package var method: String {
        switch self {
        case .notificationHistory, .testNotification: "POST"
        default: "GET"
        }
    }

    /// The endpoint of a path, and the id in it.
    ///
    /// `path`: decoded segments; `inApps` is case-sensitive.
    static func match(_ path: [String]) -> (endpoint: Endpoint, id: String)? {
        guard path.count >= 4, path[0] == "inApps", !path.contains("") else { return nil }
        let words = Array(path[1...])
        switch (words.count, words[0], words[1]) {
        case (3, "v1", "subscriptions"): return (.statuses, words[2])
        case (3, "v2", "history"): return (.history, words[2])
        case (3, "v1", "history"): return (.historyV1, words[2])
        case (3, "v1", "transactions"): return (.transactionInfo, words[2])
        case (4, "v1", "transactions") where words[2] == "appTransactions":
            return (.appTransactionInfo, words[3])
        case (4, "v2", "refund") where words[2] == "lookup": return (.refundHistory, words[3])
        case (3, "v1", "lookup"): return (.orderLookup, words[2])
        case (3, "v1", "notifications") where words[2] == "history":
            return (.notificationHistory, "")
        case (3, "v1", "notifications") where words[2] == "test": return (.testNotification, "")
        case (4, "v1", "notifications") where words[2] == "test":
            return (.testNotificationStatus, words[3])
        default: return nil
        }
    }
}
