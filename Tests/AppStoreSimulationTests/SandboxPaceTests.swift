import AppStoreSimulation
import Foundation
import Testing

/// Apple's accelerated sandbox: a month lasts five minutes, a week three, and auto-renewal stops after
/// twelve renewals (App Store Server API reference, sandbox differences).
@Suite struct `The accelerated sandbox` {
    private static let minute: Int64 = 60_000

    private func client(_ life: String, months: Int? = 5) throws -> SimulatorClient {
        try SimulatorClient(customers: 0) { settings in
            settings.sandboxMonthMinutes = months
            settings.scenario = """
                customers:
                  - {name: anna, environment: Sandbox, life: [\(life)]}
                  - {name: bert, life: [\(life)]}
                """
        }
    }

    private func lengths(
        _ client: SimulatorClient, _ name: String, _ environment: SimulatedEnvironment
    ) throws -> [Int64] {
        try client.history(client.id(name), environment: environment).map { period in
            let begin = try #require(period["purchaseDate"] as? Int64)
            return try #require(period["expiresDate"] as? Int64) - begin
        }
    }

    @Test(arguments: [
        ("news.monthly", 5, 5), ("news.weekly", 5, 3), ("news.yearly", 5, 60),
        ("news.monthly", 3, 3), ("news.monthly", 60, 60),
    ])
    func `has short periods`(product: String, month: Int, minutes: Int64) throws {
        let client = try client("{at: -10s, buy: \(product)}", months: month)
        #expect(try lengths(client, "anna", .sandbox) == [minutes * Self.minute])
        let real = try lengths(client, "bert", .production)
        #expect(real.allSatisfy { $0 >= 7 * SimulatorClient.day })
    }

    @Test func `lasts as long as production without the option`() throws {
        let client = try client("{at: -10s, buy: news.monthly}", months: nil)
        #expect(
            try lengths(client, "anna", .sandbox) == lengths(client, "bert", .production))
    }

    @Test func `renews twelve times and then expires`() throws {
        let client = try client("{at: -10s, buy: news.monthly}")
        try client.advance(["hours": 3])
        let id = try client.id("anna")
        let history = try client.history(id, environment: .sandbox)
        #expect(history.count == 13)
        #expect(history.filter { $0["transactionReason"] as? String == "RENEWAL" }.count == 12)
        let first = try #require(history.first?["purchaseDate"] as? Int64)
        #expect(history.last?["expiresDate"] as? Int64 == first + 13 * 5 * Self.minute)
        let answer = try client.get("/inApps/v1/subscriptions/\(id)", environment: .sandbox)
        let groups = answer.json["data"] as? [[String: Any]]
        let entry = (groups?.first?["lastTransactions"] as? [[String: Any]])?.first
        #expect(entry?["status"] as? Int == 2)
        // Production is not accelerated.
        #expect(try client.history(client.id("bert")).count == 1)
    }

    @Test func `scales grace and retry`() throws {
        let client = try client("{at: -10s, buy: news.monthly}, {at: -5s, billing_fails: true}")
        try client.advance(["hours": 3])
        let told = try client.notifications(of: client.id("anna"), environment: .sandbox)
        #expect(
            told.map(\.name) == [
                "SUBSCRIBED/INITIAL_BUY", "DID_FAIL_TO_RENEW/GRACE_PERIOD",
                "GRACE_PERIOD_EXPIRED", "EXPIRED/BILLING_RETRY",
            ])
        let dates = told.map(\.signedDate)
        let bought = try #require(dates.first)
        // Sixteen and sixty days, of a month of thirty.
        let days = [0, 30, 46, 90].map { bought + Int64($0) * 5 * Self.minute / 30 }
        #expect(dates == days)
    }

    @Test func `has a population whose statuses are consistent`() throws {
        let client = try SimulatorClient(customers: 400) { $0.sandboxMonthMinutes = 5 }
        for step in 0..<3 {
            let now = try client.now()
            var statuses: Set<Int> = []
            for status in 1...5 {
                let answer = try client.control(
                    "GET", "/_simulator/customers?environment=Sandbox&status=\(status)")
                for customer in answer.json["customers"] as? [[String: Any]] ?? [] {
                    let id = try #require(
                        (customer["purchases"] as? [[String: Any]])?.first?[
                            "original_transaction_id"] as? String)
                    let answer = try client.get(
                        "/inApps/v1/subscriptions/\(id)", environment: .sandbox)
                    let entries = (answer.json["data"] as? [[String: Any]] ?? []).flatMap {
                        $0["lastTransactions"] as? [[String: Any]] ?? []
                    }
                    let jws = try #require(
                        entries.first { $0["originalTransactionId"] as? String == id }?[
                            "signedTransactionInfo"] as? String)
                    let end = try #require(
                        try SimulatorClient.payload(jws)["expiresDate"] as? Int64)
                    statuses.insert(status)
                    if status == 1 { #expect(end > now, "\(step) \(id)") }
                    if status == 2 { #expect(end <= now, "\(step) \(id)") }
                }
            }
            #expect(statuses.isSuperset(of: [1, 2]))
            try client.advance(["seconds": 200])
        }
    }
}
