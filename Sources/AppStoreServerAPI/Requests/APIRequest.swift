import HTTPTransport
package import Subscriptions

/// One call of the App Store Server API, before pacing, authorization and retries.
package struct APIRequest: Sendable {
    package var endpoint: Endpoint
    package var method: String
    /// Path below the base URL, already percent-encoded where needed.
    package var path: String
    /// Name and value pairs; values are percent-encoded when the URL is made.
    package var query: [(name: String, value: String)]
    package var body: [UInt8]?

    package init(
        endpoint: Endpoint, method: String = "GET", path: String,
        query: [(name: String, value: String)] = [], body: [UInt8]? = nil
    ) {
        self.endpoint = endpoint
        self.method = method
        self.path = path
        self.query = query
        self.body = body
    }
}

/// The endpoints that a run calls; each has its own quota.
package enum Endpoint: String, Hashable, Sendable, CaseIterable {
    case subscriptionStatuses = "subscription_statuses"
    case transactionHistory = "transaction_history"
    case transactionInfo = "transaction_info"
    case notificationHistory = "notification_history"
    case refundHistory = "refund_history"
}

/// The result of one call after all pacing and retries.
package enum APIOutcome: Sendable {
    /// A 200 with its body, not yet decoded.
    case answered(body: [UInt8])
    /// A refusal, with Apple's error code and message.
    case refused(httpStatus: Int, errorCode: Int, message: String)
    case rateLimited
    case unavailable(String)
    /// The answer is not what the API sends (HTML, a redirect, a body over the limit).
    case undecodable(String)
}

/// The calls of a run, exactly as Apple documents them.
extension APIRequest {
    /// Get All Subscription Statuses, without a filter, so that a missing entry has one meaning.
    package static func subscriptionStatuses(of id: TransactionID) -> APIRequest {
        APIRequest(endpoint: .subscriptionStatuses, path: "/inApps/v1/subscriptions/\(id.text)")
    }

    /// Get Transaction Info.
    package static func transactionInfo(of id: TransactionID) -> APIRequest {
        APIRequest(endpoint: .transactionInfo, path: "/inApps/v1/transactions/\(id.text)")
    }

    /// Get Transaction History V2, ascending: only then can a revision be stored for later.
    package static func transactionHistory(
        of id: TransactionID, after revision: String?
    ) -> APIRequest {
        var query = [(name: "sort", value: "ASCENDING")]
        if let revision { query.append((name: "revision", value: revision)) }
        return APIRequest(
            endpoint: .transactionHistory, path: "/inApps/v2/history/\(id.text)", query: query)
    }

    /// Get Refund History V2, after the page with this revision.
    package static func refundHistory(
        of id: TransactionID, after revision: String?
    ) -> APIRequest {
        APIRequest(
            endpoint: .refundHistory, path: "/inApps/v2/refund/lookup/\(id.text)",
            query: revision.map { [(name: "revision", value: $0)] } ?? [])
    }

    /// Get Notification History for a whole app; the body depends only on the window.
    ///
    /// Every page of a window must be asked with the same body, or Apple refuses the pagination token;
    /// equal windows give equal bytes. Source: App Store Server API, NotificationHistoryRequest.
    package static func notificationHistory(
        in window: NotificationWindow, paginationToken: String?
    ) -> APIRequest {
        let body = CanonicalJSON.object([
            "startDate": .integer(window.start.unixMilliseconds),
            "endDate": .integer(window.end.unixMilliseconds),
        ])
        return APIRequest(
            endpoint: .notificationHistory, method: "POST",
            path: "/inApps/v1/notifications/history",
            query: paginationToken.map { [(name: "paginationToken", value: $0)] } ?? [],
            body: Array(body.rendered.utf8))
    }
}

extension APIRequest {
    /// The request on the wire, without credentials.
    ///
    /// Apple's hosts, methods and headers: `Accept` and, with a body, `Content-Type` are JSON.
    func http(baseURL: String) -> HTTPRequest {
        var url = baseURL
        while url.hasSuffix("/") { url.removeLast() }
        url += path
        for (index, item) in query.enumerated() {
            url += index == 0 ? "?" : "&"
            url += Self.percentEncoded(item.name) + "=" + Self.percentEncoded(item.value)
        }
        var headers = [(name: "Accept", value: "application/json")]
        // A page repeats the same certificates twenty times: compressed it has 7 % of its size. A
        // status answer repeats them only twice, which does not pay for decompressing it.
        switch endpoint {
        case .transactionHistory, .notificationHistory, .refundHistory:
            headers.append(("Accept-Encoding", "gzip"))
        case .subscriptionStatuses, .transactionInfo: break
        }
        if body != nil { headers.append(("Content-Type", "application/json")) }
        return HTTPRequest(method: method, url: url, headers: headers, body: body)
    }

    /// Encodes all but the unreserved characters (RFC 3986, section 2.3).
    static func percentEncoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"):
                bytes.append(byte)
            default:
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Sends calls: paced, authorized, retried.
///
/// There is one for each app.
package protocol APISending: Sendable {
    func send(_ request: APIRequest) async throws(RunStop) -> APIOutcome

    /// Returns why an endpoint was given up for this run; `nil` while it is asked.
    func givenUp(_ endpoint: Endpoint) -> String?

    /// Calls so far, by endpoint and result.
    func callCounts() -> [CallCount]

    /// Counts a 200 of this endpoint, counted as answered before, as undecodable.
    func countUndecodable(_ endpoint: Endpoint)

    /// Remarks on the answers so far, in sentences for the person on call.
    func remarks() -> [String]
}

extension APISending {
    package func remarks() -> [String] { [] }
}
