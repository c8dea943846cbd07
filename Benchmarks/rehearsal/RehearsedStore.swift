import Foundation
import HTTPTransport
import Subscriptions
import TestSupport

/// The simulated App Store behind its control port: the clock, the truth, and what was asked.
struct RehearsedStore {
    let simulator: RunningSimulator

    /// Moves the clock to a moment.
    func advance(to moment: Timestamp) async throws {
        try await simulator.control(
            "/_simulator/advance", method: "POST",
            body: #"{"to": "\#(moment.rfc3339)", "wait_seconds": 0}"#)
    }

    /// Apple's limits are for calculation, not for waiting.
    func liftLimits() async throws {
        try await simulator.control("/_simulator/limits", method: "POST", body: #"{"all": -1}"#)
    }

    /// The table as it should be now.
    func truth() async throws -> TableRows {
        try TableRows(csv: try await simulator.control("/_simulator/table"))
    }

    func forgetRequests() async throws {
        try await simulator.control("/_simulator/log/reset", method: "POST")
    }

    /// The requests since `forgetRequests`, by the simulator's name of the endpoint.
    func requests() async throws -> [String: Int] {
        let log = try JSONDecoder().decode(
            RequestCounts.self, from: try await simulator.control("/_simulator/log"))
        return log.endpoints.mapValues(\.total)
    }

    private struct RequestCounts: Decodable {
        var endpoints: [String: Endpoint]

        struct Endpoint: Decodable { var total: Int }
    }

    /// The subscriptions that Apple sent a notification about, with the time of the latest one.
    func notified(after start: Timestamp, until end: Timestamp) async throws -> [String: Timestamp]
    {
        var settings = CurlTransport.Settings()
        settings.caFile = simulator.ready.caFile
        settings.totalTimeoutMilliseconds = 180_000
        let transport = try CurlTransport(settings)
        let token = String(
            decoding: try await simulator.control("/_simulator/token"), as: UTF8.self)
        var found: [String: Timestamp] = [:]
        var page: String? = ""
        while let here = page {
            let response = try await transport.send(
                HTTPRequest(
                    method: "POST",
                    url: simulator.ready.endpoint + "/inApps/v1/notifications/history"
                        + (here.isEmpty ? "" : "?paginationToken=\(here)"),
                    headers: [
                        ("Authorization", "Bearer \(token)"), ("Content-Type", "application/json"),
                    ],
                    body: Array(
                        """
                        {"startDate": \(start.unixMilliseconds), "endDate": \(end.unixMilliseconds)}
                        """.utf8)))
            guard response.status == 200 else { throw HistoryRefused(status: response.status) }
            let answer = try JSONDecoder().decode(HistoryAnswer.self, from: Data(response.body))
            for entry in answer.notificationHistory {
                guard let (id, date) = Self.subject(of: entry.signedPayload) else { continue }
                found[id] = max(date, found[id] ?? date)
            }
            page = answer.hasMore ? answer.paginationToken : nil
        }
        await transport.shutdown()
        return found
    }

    private struct HistoryAnswer: Decodable {
        var notificationHistory: [Entry]
        var hasMore: Bool
        var paginationToken: String?

        struct Entry: Decodable { var signedPayload: String }
    }

    struct HistoryRefused: Error {
        let status: Int
    }

    /// Which subscription a notification is about, and when it was signed.
    ///
    /// The signature is not looked at: here nobody forges.
    private static func subject(of payload: String) -> (id: String, signed: Timestamp)? {
        guard let notification = contents(of: payload), let signed = notification.signedDate,
            let transaction = notification.data?.signedTransactionInfo.flatMap(contents),
            let id = transaction.originalTransactionId
        else { return nil }
        return (id, Timestamp(unixMilliseconds: signed))
    }

    private struct Payload: Decodable {
        var signedDate: Int64?
        var data: Signed?
        var originalTransactionId: String?

        struct Signed: Decodable { var signedTransactionInfo: String? }
    }

    private static func contents(of jws: String) -> Payload? {
        let parts = jws.split(separator: ".")
        guard parts.count == 3 else { return nil }
        var text = String(parts[1].map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        text += String(repeating: "=", count: (4 - text.count % 4) % 4)
        return Data(base64Encoded: text).flatMap {
            try? JSONDecoder().decode(Payload.self, from: $0)
        }
    }
}
