package import Subscriptions

/// The four calls of a run, exactly as Apple documents them.
extension APIRequest {
    /// Get All Subscription Statuses, without a filter: a missing entry would be ambiguous.
    package static func subscriptionStatuses(of id: TransactionID) -> APIRequest {
        APIRequest(endpoint: .subscriptionStatuses, path: "/inApps/v1/subscriptions/\(id.text)")
    }

    /// Get Transaction Info.
    package static func transactionInfo(of id: TransactionID) -> APIRequest {
        APIRequest(endpoint: .transactionInfo, path: "/inApps/v1/transactions/\(id.text)")
    }

    /// Get Transaction History V2 in the only order in which a revision may be kept for later.
    package static func transactionHistory(
        of id: TransactionID, after revision: String?
    ) -> APIRequest {
        var query = [(name: "sort", value: "ASCENDING")]
        if let revision { query.append((name: "revision", value: revision)) }
        return APIRequest(
            endpoint: .transactionHistory, path: "/inApps/v2/history/\(id.text)", query: query)
    }

    /// Get Notification History; the body depends on the window alone.
    package static func notificationHistory(
        in window: NotificationWindow, paginationToken: String?
    ) -> APIRequest {
        APIRequest(
            endpoint: .notificationHistory, method: "POST",
            path: "/inApps/v1/notifications/history",
            query: paginationToken.map { [(name: "paginationToken", value: $0)] } ?? [],
            body: NotificationHistoryRequest(window: window).json)
    }
}
