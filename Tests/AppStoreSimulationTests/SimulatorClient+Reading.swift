import AppStoreSimulation
import Foundation
import Subscriptions
import Testing

/// A decoded notification with its decoded transaction and renewal info.
struct ReadNotification {
    let payload: [String: Any]
    let transaction: [String: Any]
    let renewal: [String: Any]

    var uuid: String { payload["notificationUUID"] as? String ?? "" }
    var signedDate: Int64 { payload["signedDate"] as? Int64 ?? 0 }
    /// For example `DID_FAIL_TO_RENEW/GRACE_PERIOD`.
    var name: String {
        let type = payload["notificationType"] as? String ?? ""
        return (payload["subtype"] as? String).map { "\(type)/\($0)" } ?? type
    }
    var status: Int? { (payload["data"] as? [String: Any])?["status"] as? Int }

    init(jws: String) throws {
        payload = try SimulatorClient.payload(jws)
        let data = payload["data"] as? [String: Any] ?? [:]
        transaction =
            try (data["signedTransactionInfo"] as? String).map(SimulatorClient.payload) ?? [:]
        renewal = try (data["signedRenewalInfo"] as? String).map(SimulatorClient.payload) ?? [:]
    }

    /// The decoded contents, without signatures, which differ from answer to answer.
    func text() throws -> String {
        var outside = payload
        var data = outside["data"] as? [String: Any] ?? [:]
        data["signedTransactionInfo"] = transaction
        data["signedRenewalInfo"] = renewal
        outside["data"] = data
        return try SimulatorClient.text(outside)
    }
}

extension SimulatorClient {
    static let start = "2026-11-20T03:00:00Z"
    static let day: Int64 = 86_400_000

    /// A client of a world with a scenario's customers, whose clock stands at `start`.
    init(scenario: String, customers: Int? = nil, seed: UInt64 = 1) throws {
        try self.init(now: Self.start) { settings in
            settings.customers = customers
            settings.seed = seed
            settings.scenario = scenario
        }
    }

    static func text(_ object: [String: Any]) throws -> String {
        String(
            decoding: try JSONSerialization.data(withJSONObject: object, options: .sortedKeys),
            as: UTF8.self)
    }

    func advance(_ body: [String: Any]) throws {
        let answer = try control("POST", "/_simulator/advance", body)
        try #require(answer.status == 200, "\(answer.json)")
    }

    /// The world's clock, UNIX milliseconds.
    func now() throws -> Int64 {
        let text = try control("GET", "/_simulator/health").json["now"] as? String
        return try #require(text.flatMap { Timestamp(rfc3339: $0) }).unixMilliseconds
    }

    /// Everything in the notification history, oldest first.
    func notifications(
        of id: String? = nil, environment: SimulatedEnvironment = .production
    ) throws -> [ReadNotification] {
        let now = try now()
        let days: Int64 = environment == .production ? 179 : 29
        var body: [String: Any] = ["startDate": now - days * Self.day, "endDate": now + 1]
        if let id { body["transactionId"] = id }
        var found: [ReadNotification] = []
        var token = ""
        repeat {
            let query = token.isEmpty ? "" : "?paginationToken=\(token)"
            let answer = try post(
                "/inApps/v1/notifications/history\(query)", body, environment: environment)
            let page = try #require(
                answer.json["notificationHistory"] as? [[String: Any]], "\(answer.json)")
            found += try page.map {
                try ReadNotification(jws: try #require($0["signedPayload"] as? String))
            }
            token = answer.json["paginationToken"] as? String ?? ""
        } while !token.isEmpty
        return found
    }

    /// Original transaction ids of the scenario's customers, by name and label.
    func ids() throws -> [String: [String: String]] {
        let answer = try control("GET", "/_simulator/customers")
        var ids: [String: [String: String]] = [:]
        for customer in answer.json["customers"] as? [[String: Any]] ?? [] {
            for purchase in customer["purchases"] as? [[String: Any]] ?? [] {
                let name = try #require(customer["name"] as? String)
                let label = try #require(purchase["label"] as? String)
                ids[name, default: [:]][label] = purchase["original_transaction_id"] as? String
            }
        }
        return ids
    }

    /// The id of a customer's only purchase.
    func id(_ name: String) throws -> String {
        try #require(try ids()[name]?.values.first)
    }

    func statement(_ id: String) throws -> Statement {
        try #require(try statements(id)[id])
    }

    /// The decoded transactions of a history, all pages.
    func history(
        _ id: String, version: Int = 2, environment: SimulatedEnvironment = .production
    ) throws -> [[String: Any]] {
        var found: [[String: Any]] = []
        var query = ""
        while true {
            let answer = try get(
                "/inApps/v\(version)/history/\(id)\(query)", environment: environment)
            let page = try #require(
                answer.json["signedTransactions"] as? [String], "\(answer.json)")
            found += try page.map(Self.payload)
            guard answer.json["hasMore"] as? Bool == true,
                let revision = answer.json["revision"] as? String
            else { return found }
            query = "?revision=\(revision)"
        }
    }
}
