import AppStoreSimulation
import Foundation
import Subscriptions
import Testing

@Suite struct `Notification history` {
    private static let target = "/inApps/v1/notifications/history"
    private static let day: Int64 = 86_400_000
    private let now: Int64

    init() throws {
        now = try #require(Timestamp(rfc3339: "2026-11-20T03:00:00Z")).unixMilliseconds
    }

    private func sweep(
        _ client: SimulatorClient, _ body: [String: Any]
    ) throws -> [[String: Any]] {
        var payloads: [[String: Any]] = []
        var token: String?
        repeat {
            let query = token.map { "?paginationToken=\($0)" } ?? ""
            let answer = try client.post(Self.target + query, body)
            let page = try #require(answer.json["notificationHistory"] as? [[String: Any]])
            #expect(page.count <= 20)
            for entry in page {
                payloads.append(
                    try SimulatorClient.payload(try #require(entry["signedPayload"] as? String)))
            }
            token = answer.json["paginationToken"] as? String
            #expect((answer.json["hasMore"] as? Bool) == (token != nil))
        } while token != nil
        return payloads
    }

    @Test func `pages through a window without gap or repetition`() throws {
        let client = try SimulatorClient(customers: 120)
        let all = try sweep(client, ["startDate": now - 90 * Self.day, "endDate": now])
        let ids = all.compactMap { $0["notificationUUID"] as? String }
        #expect(Set(ids).count == all.count && all.count > 100)
        let dates = all.compactMap { $0["signedDate"] as? Int64 }
        #expect(dates == dates.sorted() && dates.allSatisfy { $0 >= now - 90 * Self.day })
        let half = now - 45 * Self.day
        let early = try sweep(client, ["startDate": now - 90 * Self.day, "endDate": half])
        let late = try sweep(client, ["startDate": half + 1, "endDate": now + Self.day])
        #expect(early.count + late.count == all.count)
    }

    @Test func `filters by type, subtype and customer`() throws {
        let client = try SimulatorClient(customers: 120)
        let window: [String: Any] = ["startDate": now - 170 * Self.day, "endDate": now]
        let renewals = try sweep(client, window.merging(["notificationType": "DID_RENEW"]) { $1 })
        #expect(renewals.allSatisfy { $0["notificationType"] as? String == "DID_RENEW" })
        #expect(!renewals.isEmpty)
        let recovered = try sweep(
            client,
            window.merging([
                "notificationType": "DID_RENEW", "notificationSubtype": "BILLING_RECOVERY",
            ]) { $1 })
        #expect(recovered.count < renewals.count)
        let data = try #require(renewals[0]["data"] as? [String: Any])
        let signed = try #require(data["signedTransactionInfo"] as? String)
        let id = try #require(try SimulatorClient.payload(signed)["transactionId"] as? String)
        let mine = try sweep(client, window.merging(["transactionId": id]) { $1 })
        #expect(!mine.isEmpty && mine.count < renewals.count)
        #expect(try sweep(client, window.merging(["onlyFailures": true]) { $1 }).isEmpty)
    }

    @Test(arguments: ["UNCLAIM_SEATS", "METADATA_UPDATE", "MIGRATION", "PRICE_CHANGE"])
    func `knows types that nothing here sends`(type: String) throws {
        let client = try SimulatorClient(customers: 5)
        let found = try sweep(
            client, ["startDate": now - Self.day, "endDate": now, "notificationType": type])
        #expect(found.isEmpty)
    }

    @Test func `refuses what Apple refuses`() throws {
        let client = try SimulatorClient(customers: 5)
        let start = now - Self.day
        let cases: [([String: Any], Int)] = [
            (["endDate": now], 4_000_015), (["startDate": start], 4_000_016),
            (["startDate": now, "endDate": now], 4_000_013),
            (["startDate": now - 181 * Self.day, "endDate": now], 4_000_012),
            (["startDate": start, "endDate": now, "notificationType": "NEWS"], 4_000_018),
            (["startDate": start, "endDate": now, "notificationSubtype": "UPGRADE"], 4_000_018),
            (
                [
                    "startDate": start, "endDate": now, "notificationType": "REFUND",
                    "transactionId": "1",
                ], 4_000_019
            ),
            (["startDate": start, "endDate": now, "transactionId": "x"], 4_000_006),
            (["startDate": start, "endDate": now, "transactionId": "1"], 4_040_010),
        ]
        for (body, code) in cases {
            #expect(try client.post(Self.target, body).errorCode == code, "\(body)")
        }
        let month: [String: Any] = ["startDate": now - 31 * Self.day, "endDate": now]
        #expect(try client.post(Self.target, month, environment: .sandbox).errorCode == 4_000_012)
        #expect(try client.post(Self.target, month).status == 200)
    }

    @Test func `binds a page token to the body it was given for`() throws {
        let client = try SimulatorClient(customers: 120)
        let body: [String: Any] = ["startDate": now - 90 * Self.day, "endDate": now]
        let token = try #require(
            try client.post(Self.target, body).json["paginationToken"] as? String)
        let other: [String: Any] = ["startDate": now - 80 * Self.day, "endDate": now]
        let query = "?paginationToken=\(token)"
        #expect(try client.post(Self.target + query, other).errorCode == 4_000_014)
        #expect(try client.post(Self.target + query + "x", body).errorCode == 4_000_014)
        #expect(try client.post(Self.target + query, body).status == 200)
    }

    @Test func `sends a test notification and tells its status`() throws {
        let client = try SimulatorClient(customers: 5)
        let token = try #require(
            try client.post("/inApps/v1/notifications/test", [:]).json["testNotificationToken"]
                as? String)
        let answer = try client.get("/inApps/v1/notifications/test/\(token)")
        let payload = try SimulatorClient.payload(
            try #require(answer.json["signedPayload"] as? String))
        #expect(payload["notificationType"] as? String == "TEST")
        #expect(try client.get("/inApps/v1/notifications/test/abc").errorCode == 4_000_020)
    }
}
