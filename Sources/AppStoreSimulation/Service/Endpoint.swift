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
    case refundHistoryV1 = "refund_history_v1"
    case orderLookup = "order_lookup"
    case notificationHistory = "notification_history"
    case testNotification = "test_notification"
    case testNotificationStatus = "test_notification_status"
    case extendRenewal = "extend_renewal"
    case massExtension = "mass_extension"
    case massExtensionStatus = "mass_extension_status"
    case consumption
    case consumptionV1 = "consumption_v1"
    case appAccountToken = "app_account_token"
    case finishTransaction = "finish_transaction"

    /// What Apple documents of an endpoint.
    private struct Definition {
        let method: String
        /// Below `/inApps`; a word in braces is a parameter.
        let path: String
        /// Source: App Store Server API, Identifying rate limits.
        let requestsPerHour: Int

        init(_ method: String, _ path: String, _ requestsPerHour: Int) {
            self.method = method
            self.path = path
            self.requestsPerHour = requestsPerHour
        }
    }

    private var definition: Definition {
        switch self {
        case .statuses: .init("GET", "v1/subscriptions/{id}", 180_000)
        case .history: .init("GET", "v2/history/{id}", 180_000)
        case .historyV1: .init("GET", "v1/history/{id}", 180_000)
        case .transactionInfo: .init("GET", "v1/transactions/{id}", 180_000)
        case .appTransactionInfo: .init("GET", "v1/transactions/appTransactions/{id}", 180_000)
        case .refundHistory: .init("GET", "v2/refund/lookup/{id}", 36_000)
        case .refundHistoryV1: .init("GET", "v1/refund/lookup/{id}", 36_000)
        case .orderLookup: .init("GET", "v1/lookup/{order}", 36_000)
        case .notificationHistory: .init("POST", "v1/notifications/history", 180_000)
        case .testNotification: .init("POST", "v1/notifications/test", 3_600)
        case .testNotificationStatus: .init("GET", "v1/notifications/test/{token}", 3_600)
        case .extendRenewal: .init("PUT", "v1/subscriptions/extend/{id}", 72_000)
        case .massExtension: .init("POST", "v1/subscriptions/extend/mass", 3_600)
        case .massExtensionStatus:
            .init("GET", "v1/subscriptions/extend/mass/{product}/{request}", 3_600)
        case .consumption: .init("PUT", "v2/transactions/consumption/{id}", 180_000)
        case .consumptionV1: .init("PUT", "v1/transactions/consumption/{id}", 180_000)
        case .appAccountToken: .init("PUT", "v1/transactions/{id}/appAccountToken", 72_000)
        case .finishTransaction: .init("POST", "v1/transactions/{id}/finish", 180_000)
        }
    }

    package var method: String { definition.method }

    /// Apple's limit in production.
    package var requestsPerHour: Int { definition.requestsPerHour }

    /// An endpoint with the parameters in its path.
    struct Match {
        let endpoint: Endpoint
        let parameters: [String]

        /// The last parameter, by which requests are counted; empty without one.
        var id: String { parameters.last ?? "" }
    }

    /// The endpoint of a path; `nil` for an unknown path.
    ///
    /// `path`: decoded segments; `inApps` is case-sensitive.
    static func match(_ path: [String]) -> Match? {
        guard path.first == "inApps", !path.contains("") else { return nil }
        let words = path.dropFirst()
        for (endpoint, pattern) in patterns where pattern.count == words.count {
            guard zip(pattern, words).allSatisfy({ $0 == nil || $0 == $1 }) else { continue }
            let parameters = zip(pattern, words).filter { $0.0 == nil }.map(\.1)
            return Match(endpoint: endpoint, parameters: parameters)
        }
        return nil
    }

    /// The words of each path, `nil` for a parameter; paths with fewer parameters come first.
    private static let patterns: [(Endpoint, [String?])] =
        allCases.map { endpoint in
            let words = endpoint.definition.path.split(separator: "/")
            return (endpoint, words.map { $0.hasPrefix("{") ? nil : String($0) })
        }
        .sorted { left, right in
            left.1.count { $0 == nil } < right.1.count { $0 == nil }
        }
}
