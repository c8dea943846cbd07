import AppStoreSimulation
import Foundation
import Subscriptions
import Testing

@Suite struct `The clock` {
    private func advance(_ client: SimulatorClient, days: Int) throws {
        #expect(try client.control("POST", "/_simulator/advance", ["days": days]).status == 200)
    }

    @Test func `lets lives go on, and statuses stay consistent month after month`() throws {
        let client = try SimulatorClient(customers: 80, drift: 0)
        let start = try #require(Timestamp(rfc3339: "2026-11-20T03:00:00Z"))
        let ids = try client.tableRows().compactMap { $0["original_transaction_id"] }
        var changed = 0
        for month in 1...8 {
            try advance(client, days: 31)
            let now = start.adding(milliseconds: Int64(month) * 31 * 86_400_000).unixMilliseconds
            for id in ids {
                let statement = try #require(try client.statements(id)[id])
                let expires = try #require(statement.date("expiresDate"))
                switch statement.status {
                case 1: #expect(expires > now)
                case 4: #expect((statement.date("gracePeriodExpiresDate") ?? 0) > now)
                case 5: #expect((statement.date("revocationDate") ?? .max) <= now)
                default: #expect(expires <= now)
                }
                changed += (statement.date("purchaseDate") ?? 0) > start.unixMilliseconds ? 1 : 0
            }
        }
        #expect(changed > ids.count)
    }

    @Test func `makes new notifications and history behind a stored revision`() throws {
        let client = try SimulatorClient(customers: 80, drift: 0)
        let rows = try client.tableRows()
        let row = try #require(
            rows.first { row in
                row["status"] == "1" && row["auto_renew_status"] == "1"
                    && row["product_id"]?.hasSuffix("monthly") == true
            })
        let id = try #require(row["original_transaction_id"])
        var revision = ""
        var hasMore = true
        while hasMore {
            let answer = try client.get(
                "/inApps/v2/history/\(id)" + (revision.isEmpty ? "" : "?revision=\(revision)"))
            revision = try #require(answer.json["revision"] as? String)
            hasMore = try #require(answer.json["hasMore"] as? Bool)
        }
        let before = try client.control("GET", "/_simulator/health").json
        try advance(client, days: 70)
        let answer = try client.get("/inApps/v2/history/\(id)?revision=\(revision)")
        let new = try #require(answer.json["signedTransactions"] as? [String])
        #expect(!new.isEmpty)
        let after = try client.control("GET", "/_simulator/health").json
        func notifications(_ health: [String: Any]) -> Int {
            (health["production"] as? [String: Any])?["notifications"] as? Int ?? 0
        }
        #expect(notifications(after) > notifications(before))
    }

    @Test func `moves forward only`() throws {
        let client = try SimulatorClient(customers: 3)
        let refused = try client.control(
            "POST", "/_simulator/advance", ["to": "2020-01-01T00:00:00Z"])
        #expect(refused.status == 400 && refused.json["error"] != nil)
        let moved = try client.control(
            "POST", "/_simulator/advance", ["to": "2027-01-01T00:00:00Z"])
        #expect(moved.json["now"] as? String == "2027-01-01T00:00:00.000Z")
    }

    @Test func `expires page tokens`() throws {
        let client = try SimulatorClient(customers: 120)
        let now = try #require(Timestamp(rfc3339: "2026-11-20T03:00:00Z")).unixMilliseconds
        let body: [String: Any] = ["startDate": now - 90 * 86_400_000, "endDate": now]
        let target = "/inApps/v1/notifications/history"
        let token = try #require(try client.post(target, body).json["paginationToken"] as? String)
        _ = try client.control("POST", "/_simulator/advance", ["hours": 2])
        let answer = try client.post("\(target)?paginationToken=\(token)", body)
        #expect(answer.errorCode == 4_000_017)
    }

    @Test func `can leave the app unreleased or without a notification address`() throws {
        let client = try SimulatorClient(customers: 3)
        _ = try client.control(
            "POST", "/_simulator/app", ["released": false, "notification_address": false])
        let target = "/inApps/v1/subscriptions/1"
        #expect(try client.get(target).status == 401)
        #expect(try client.get(target, environment: .sandbox).errorCode == 4_040_010)
        _ = try client.control("POST", "/_simulator/app", ["released": true])
        #expect(try client.post("/inApps/v1/notifications/test", [:]).errorCode == 4_040_007)
    }
}
