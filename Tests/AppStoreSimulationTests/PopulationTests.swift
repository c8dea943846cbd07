import AppStoreSimulation
import Foundation
import Subscriptions
import Testing

@Suite struct `A population` {
    @Test(arguments: [1, 2, 3, 77, 1234] as [UInt64])
    func `says the same with every status and the signed fields behind it`(seed: UInt64) throws {
        let client = try SimulatorClient(customers: 150, seed: seed, drift: 0)
        let now = try #require(Timestamp(rfc3339: "2026-11-20T03:00:00Z")).unixMilliseconds
        for row in try client.tableRows() {
            let id = try #require(row["original_transaction_id"])
            let statement = try #require(try client.statements(id)[id], "seed \(seed), id \(id)")
            let expires = try #require(statement.date("expiresDate"))
            let isRetrying = statement.renewal["isInBillingRetryPeriod"] as? Bool
            let grace = statement.date("gracePeriodExpiresDate")
            let revoked = statement.date("revocationDate")
            switch statement.status {
            case 1: #expect(expires > now && revoked == nil && isRetrying == false)
            case 2:
                #expect(expires <= now && revoked == nil && isRetrying == false)
                #expect(statement.renewal["expirationIntent"] != nil)
            case 3: #expect(expires <= now && isRetrying == true && grace == nil)
            case 4: #expect(expires <= now && isRetrying == true && (grace ?? 0) > now)
            case 5: #expect((revoked ?? .max) <= now)
            default: Issue.record("status \(statement.status), seed \(seed)")
            }
            #expect(statement.date("renewalDate") != nil)
            #expect(statement.renewal["originalTransactionId"] as? String == id)
            #expect(statement.transaction["originalTransactionId"] as? String == id)
            #expect((statement.date("purchaseDate") ?? .max) <= now)
            #expect((statement.date("signedDate") ?? 0) == now)
        }
    }

    @Test func `reaches every status`() throws {
        let rows = try SimulatorClient(customers: 1500, drift: 0).tableRows()
        #expect(Set(rows.compactMap { $0["status"] }) == ["1", "2", "3", "4", "5"])
        #expect(Set(rows.compactMap { $0["in_app_ownership_type"] }).count == 2)
    }

    @Test func `has ids that are decimal and unique`() throws {
        let rows = try SimulatorClient(customers: 400, drift: 0).tableRows()
        let ids = rows.compactMap { $0["original_transaction_id"] }
        #expect(Set(ids).count == ids.count)
        #expect(ids.allSatisfy { $0.allSatisfy(\.isNumber) })
        let items = rows.compactMap { $0["web_order_line_item_id"] }
        #expect(Set(items).count == items.count)
    }

    @Test func `is the same again from the same seed, and another from another`() throws {
        let first = try SimulatorClient(customers: 50, seed: 9, drift: 0)
        let again = try SimulatorClient(customers: 50, seed: 9, drift: 0)
        let other = try SimulatorClient(customers: 50, seed: 10, drift: 0)
        let rows = try first.tableRows()
        #expect(try again.tableRows() == rows)
        #expect(try other.tableRows() != rows)
        let id = try #require(rows.first?["original_transaction_id"])
        let target = "/inApps/v2/history/\(id)"
        let payloads = try [first, again].map { client in
            try #require(client.get(target).json["signedTransactions"] as? [String]).map {
                $0.components(separatedBy: ".")[1]
            }
        }
        #expect(payloads[0] == payloads[1])
    }

    @Test func `keeps its own rows apart from the other environment's`() throws {
        let client = try SimulatorClient(drift: 0)
        let id = try #require(try client.tableRows().first?["original_transaction_id"])
        let target = "/inApps/v1/subscriptions/\(id)"
        #expect(try client.get(target, environment: .sandbox).errorCode == 4_040_010)
        let sandboxID = "2000000100000000"
        let answer = try client.get(
            "/inApps/v1/subscriptions/\(sandboxID)", environment: .sandbox)
        #expect(answer.status == 200)
        #expect(answer.json["environment"] as? String == "Sandbox")
        #expect(answer.json["appAppleId"] == nil)
    }
}
