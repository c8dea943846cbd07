import AppStoreSimulation
import Foundation
import Testing

/// Subscriptions for groups, held against Apple's documentation of seats (server API 1.23).
@Suite struct `Seats` {
    private static let scenario = """
        customers:
          - name: firm
            life: [{at: -9d, buy: video.premium.monthly, seats: 5}]
          - name: school
            life:
              - {at: -9d, buy: news.monthly, seats: 4}
              - {at: -8d, claim_seats: 3}
          - name: invited
            life: [{at: -9d, buy: news.monthly, seats: 4, invitations: apple}]
          - name: anna
            life: [{at: -9d, buy: news.monthly}]
        """

    private func client() throws -> SimulatorClient {
        try SimulatorClient(scenario: Self.scenario, customers: 0)
    }

    private func step(
        _ client: SimulatorClient, _ customer: String, _ name: String, _ body: [String: Any]
    ) throws -> Int {
        try client.control("POST", "/_simulator/customers/\(customer)/\(name)", body).status
    }

    private func transactions(
        _ client: SimulatorClient, _ id: String
    ) throws -> [[String: Any]] {
        let answer = try client.get("/inApps/v2/history/\(id)")
        return try #require(answer.json["signedTransactions"] as? [String])
            .map { try SimulatorClient.payload($0) }
            .sorted { ($0["purchaseDate"] as? Int64 ?? 0) < ($1["purchaseDate"] as? Int64 ?? 0) }
    }

    private func status(_ client: SimulatorClient, _ id: String) throws -> (
        status: Int, transaction: [String: Any], renewal: [String: Any]
    ) {
        let answer = try client.get("/inApps/v1/subscriptions/\(id)")
        let group = try #require((answer.json["data"] as? [[String: Any]])?.first)
        let last = try #require((group["lastTransactions"] as? [[String: Any]])?.first)
        return (
            try #require(last["status"] as? Int),
            try SimulatorClient.payload(try #require(last["signedTransactionInfo"] as? String)),
            try SimulatorClient.payload(try #require(last["signedRenewalInfo"] as? String))
        )
    }

    @Test func `are the quantity, at an average price with its tiers`() throws {
        let client = try client()
        let id = try client.id("firm")
        let only = try #require(try transactions(client, id).first)
        #expect(only["quantity"] as? Int == 5)
        #expect(only["additionalTransactionReason"] == nil)
        let info = try #require(only["multiSeatInfo"] as? [String: Any])
        #expect(info["invitationManagement"] as? String == "DEVELOPER")
        #expect(info["revokedSeatQuantity"] == nil)
        let tiers = try #require(info["priceTiers"] as? [[String: Any]])
        let sum = tiers.reduce(0) {
            $0 + ($1["price"] as? Int ?? 0) * ($1["quantity"] as? Int ?? 0)
        }
        #expect(tiers.reduce(0) { $0 + ($1["quantity"] as? Int ?? 0) } == 5)
        #expect(only["price"] as? Int == sum / 5)
        #expect(try status(client, id).renewal["renewalQuantity"] as? Int == 5)
        let ordinary = try #require(try transactions(client, try client.id("anna")).first)
        #expect(ordinary["quantity"] as? Int == 1 && ordinary["multiSeatInfo"] == nil)
    }

    @Test func `that are added are a further transaction of the same period`() throws {
        let client = try client()
        let id = try client.id("firm")
        #expect(try step(client, "firm", "add_seats", ["add_seats": 3]) == 200)
        let both = try transactions(client, id)
        #expect(both.map { $0["quantity"] as? Int } == [5, 3])
        #expect(Set(both.map { $0["expiresDate"] as? Int64 }).count == 1)
        #expect(Set(both.map { $0["transactionId"] as? String }).count == 2)
        for transaction in both {
            #expect(transaction["additionalTransactionReason"] as? String == "SEAT_ADDITION")
            #expect(transaction["isUpgraded"] == nil)
        }
        #expect(try status(client, id).renewal["renewalQuantity"] as? Int == 8)
        // Which one stands for the period changes from day to day.
        var shown: Set<String> = []
        for _ in 0..<2 {
            let now = try status(client, id)
            #expect(now.status == 1)
            shown.insert(now.transaction["transactionId"] as? String ?? "")
            try client.advance(["days": 1])
        }
        #expect(shown.count == 2)
        let told = try #require(try client.notifications(of: id).last)
        #expect(told.name == "DID_CHANGE_RENEWAL_PREF/INCREASE_QUANTITY")
    }

    @Test func `that are refunded end access only when all of the period are`() throws {
        let client = try client()
        let id = try client.id("firm")
        #expect(try step(client, "firm", "add_seats", ["add_seats": 3]) == 200)
        try client.advance(["hours": 1])
        #expect(try step(client, "firm", "refund_seats", ["refund_seats": 2, "period": 0]) == 200)
        #expect(try client.notifications(of: id).last?.name == "REFUND/SEATS")
        var first = try transactions(client, id)[0]
        let info = try #require(first["multiSeatInfo"] as? [String: Any])
        #expect(info["revokedSeatQuantity"] as? Int == 2 && first["revocationDate"] == nil)
        #expect(try step(client, "firm", "refund_seats", ["refund_seats": 4, "period": 0]) == 400)
        // The rest of the first purchase.
        try client.advance(["hours": 1])
        #expect(try step(client, "firm", "refund_seats", ["refund_seats": 3, "period": 0]) == 200)
        #expect(try client.notifications(of: id).last?.name == "REFUND")
        first = try transactions(client, id)[0]
        #expect(first["revocationDate"] != nil)
        #expect(try status(client, id).status == 1)
        #expect(try step(client, "firm", "refund_seats", ["refund_seats": 3, "period": 1]) == 200)
        #expect(try transactions(client, id).allSatisfy { $0["revocationDate"] != nil })
        #expect(try status(client, id).status == 5)
        #expect(try step(client, "firm", "refund_reversed", ["period": 0]) == 200)
        #expect(try status(client, id).status == 1)
    }

    @Test func `that are removed are gone at the renewal, with one transaction for it`() throws {
        let client = try client()
        let id = try client.id("firm")
        #expect(try step(client, "firm", "add_seats", ["add_seats": 1]) == 200)
        #expect(try step(client, "firm", "remove_seats", ["remove_seats": 6]) == 400)
        #expect(try step(client, "firm", "remove_seats", ["remove_seats": 4]) == 200)
        #expect(try transactions(client, id).map { $0["quantity"] as? Int } == [5, 1])
        try client.advance(["days": 30])
        let all = try transactions(client, id)
        #expect(all.map { $0["quantity"] as? Int } == [5, 1, 2])
        #expect(all.last?["additionalTransactionReason"] == nil)
        #expect(all.first?["additionalTransactionReason"] as? String == "SEAT_ADDITION")
    }

    @Test func `are claimed and released, where the developer invites`() throws {
        let client = try client()
        #expect(try step(client, "school", "claim_seats", ["claim_seats": 2]) == 400)
        #expect(try step(client, "invited", "claim_seats", ["claim_seats": 1]) == 400)
        #expect(try step(client, "anna", "claim_seats", ["claim_seats": 1]) == 400)
        #expect(try step(client, "school", "release_seats", ["release_seats": 2]) == 200)
        try client.advance(["hours": 1])
        let told = try #require(
            try client.notifications().last { $0.name == "UNCLAIM_SEATS" })
        #expect(told.payload["data"] == nil)
        let info = try #require(told.payload["unclaimInfo"] as? [String: Any])
        #expect(Set(info["unclaimSeatIds"] as? [String] ?? []).count == 2)
    }
}
