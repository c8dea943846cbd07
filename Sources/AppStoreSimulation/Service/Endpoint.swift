/// The simulated endpoints of the App Store Server API, and the one of App Store Connect's API; raw
/// values are their names in fault plans.
///
/// Source: App Store Server API, endpoints; App Store Connect API, Download sales and trends reports.
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
    case uploadImage = "upload_image"
    case deleteImage = "delete_image"
    case imageList = "image_list"
    case uploadMessage = "upload_message"
    case deleteMessage = "delete_message"
    case messageList = "message_list"
    case configureDefaultMessage = "configure_default_message"
    case deleteDefaultMessage = "delete_default_message"
    case defaultMessage = "default_message"
    case configureRealtimeURL = "configure_realtime_url"
    case deleteRealtimeURL = "delete_realtime_url"
    case realtimeURL = "realtime_url"
    case performanceTest = "performance_test"
    case performanceTestResult = "performance_test_result"
    case salesReports = "sales_reports"
    case customerGroups = "customer_groups"
    case groupMembers = "group_members"
    case claimSeat = "claim_seat"
    case seatInfo = "seat_info"
    case unclaimSeat = "unclaim_seat"
    case associateSeat = "associate_seat"

    /// What Apple documents of an endpoint.
    private struct Definition {
        let method: String
        /// Below `/inApps`, except App Store Connect's and those of groups; a word in braces is a parameter.
        let path: String
        /// Source: App Store Server API and Retention Messaging API, Identifying rate limits.
        ///
        /// Those of groups are the simulator's own.
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
        case .uploadImage: .init("PUT", "v1/messaging/image/{id}", 3_600)
        case .deleteImage: .init("DELETE", "v1/messaging/image/{id}", 3_600)
        case .imageList: .init("GET", "v1/messaging/image/list", 3_600)
        case .uploadMessage: .init("PUT", "v1/messaging/message/{id}", 3_600)
        case .deleteMessage: .init("DELETE", "v1/messaging/message/{id}", 3_600)
        case .messageList: .init("GET", "v1/messaging/message/list", 3_600)
        case .configureDefaultMessage:
            .init("PUT", "v1/messaging/default/{product}/{locale}", 36_000)
        case .deleteDefaultMessage:
            .init("DELETE", "v1/messaging/default/{product}/{locale}", 3_600)
        case .defaultMessage: .init("GET", "v1/messaging/default/{product}/{locale}", 3_600)
        case .configureRealtimeURL: .init("PUT", "v1/messaging/realtime/url", 3_600)
        case .deleteRealtimeURL: .init("DELETE", "v1/messaging/realtime/url", 3_600)
        case .realtimeURL: .init("GET", "v1/messaging/realtime/url", 3_600)
        case .performanceTest: .init("POST", "v1/messaging/performanceTest", 3_600)
        case .performanceTestResult:
            .init("GET", "v1/messaging/performanceTest/result/{request}", 3_600)
        case .salesReports: .init("GET", "v1/salesReports", 3_600)
        case .customerGroups: .init("GET", "groups/v1/currentGroups/{id}", 36_000)
        case .groupMembers: .init("GET", "groups/v1/group/{group}", 36_000)
        case .claimSeat: .init("POST", "groups/v1/transactions/{id}/seats", 36_000)
        case .seatInfo: .init("GET", "groups/v1/transactions/{id}/seats", 36_000)
        case .unclaimSeat: .init("DELETE", "groups/v1/transactions/{id}/seats/{seat}", 36_000)
        case .associateSeat:
            .init("POST", "groups/v1/transactions/{id}/seats/{seat}/associate", 36_000)
        }
    }

    package var method: String { definition.method }

    /// The content type of its request's body.
    var contentType: String { self == .uploadImage ? "image/png" : "application/json" }

    /// The longest accepted body: an image has up to 3840 × 2160 pixels.
    var bodyLimitBytes: Int { self == .uploadImage ? 32 * 1024 * 1024 : 64 * 1024 }

    /// Whether it belongs to the Retention Messaging API.
    var isRetentionMessaging: Bool { definition.path.hasPrefix("v1/messaging/") }

    /// Whether Apple has it in the sandbox alone.
    package var isOfSandboxAlone: Bool { definition.path.hasPrefix("groups/") }

    /// Apple's limit in production.
    package var requestsPerHour: Int { definition.requestsPerHour }

    /// An endpoint with the parameters in its path.
    struct Match {
        let endpoint: Endpoint
        let parameters: [String]

        /// The last parameter, by which requests are counted; empty without one.
        var id: String { parameters.last ?? "" }
    }

    /// The endpoint of a request; `nil` for an unknown path.
    ///
    /// Without one of the request's method, an endpoint with this path. Segments of the path are
    /// decoded; `inApps` is case-sensitive.
    static func match(_ request: ServiceRequest) -> Match? {
        guard !request.path.contains("") else { return nil }
        let words = request.path
        var other: Match?
        for (endpoint, pattern) in patterns where pattern.count == words.count {
            guard zip(pattern, words).allSatisfy({ $0 == nil || $0 == $1 }) else { continue }
            let parameters = zip(pattern, words).filter { $0.0 == nil }.map(\.1)
            let match = Match(endpoint: endpoint, parameters: parameters)
            if endpoint.method == request.method { return match }
            other = other ?? match
        }
        return other
    }

    /// The words of each path, `nil` for a parameter; paths with fewer parameters come first.
    private static let patterns: [(Endpoint, [String?])] =
        allCases.map { endpoint in
            let isBelowRoot = endpoint == .salesReports || endpoint.isOfSandboxAlone
            let root: [Substring] = isBelowRoot ? [] : ["inApps"]
            let words = root + endpoint.definition.path.split(separator: "/")
            return (endpoint, words.map { $0.hasPrefix("{") ? nil : String($0) })
        }
        .sorted { left, right in
            left.1.count { $0 == nil } < right.1.count { $0 == nil }
        }
}
