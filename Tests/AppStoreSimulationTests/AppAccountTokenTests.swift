import AppStoreSimulation
import Foundation
import Testing

/// Set App Account Token, as Apple documents it.
@Suite struct `An app account token` {
    private static let token = "7e3fb20b-4cdb-47cc-936d-99d65f608138"
    private static let scenario = """
        customers:
          - name: anna
            token: false
            life: [{at: -40d, buy: news.monthly}]
          - name: parent
            life: [{at: -10d, buy: video.premium.monthly}, {at: -5d, share_with: child}]
          - name: child
        """

    private func set(
        _ client: SimulatorClient, _ id: String, _ token: Any = token
    ) throws -> Answer {
        try client.put("/inApps/v1/transactions/\(id)/appAccountToken", ["appAccountToken": token])
    }

    @Test func `is stated from then on, and not before`() throws {
        let client = try SimulatorClient(scenario: Self.scenario)
        let id = try client.id("anna")
        #expect(try client.statement(id).transaction["appAccountToken"] == nil)
        let answer = try set(client, id)
        #expect(answer.status == 200 && answer.raw.body.isEmpty)
        let statement = try client.statement(id)
        #expect(statement.transaction["appAccountToken"] as? String == Self.token)
        #expect(statement.renewal["appAccountToken"] as? String == Self.token)
        try client.advance(["days": 40])
        let told = try client.notifications(of: id)
        #expect(told.first?.transaction["appAccountToken"] == nil)
        #expect(told.last?.name == "DID_RENEW")
        #expect(told.last?.transaction["appAccountToken"] as? String == Self.token)
        #expect(
            try client.history(id).allSatisfy { $0["appAccountToken"] as? String == Self.token })
    }

    @Test func `can be replaced`() throws {
        let client = try SimulatorClient(scenario: Self.scenario)
        let id = try client.id("parent")
        #expect(try client.statement(id).transaction["appAccountToken"] as? String != Self.token)
        #expect(try set(client, id).status == 200)
        #expect(try client.statement(id).transaction["appAccountToken"] as? String == Self.token)
    }

    @Test func `is a UUID of a purchaser's original transaction`() throws {
        let client = try SimulatorClient(scenario: Self.scenario)
        let id = try client.id("anna")
        #expect(try set(client, id, "token").errorCode == 4_000_183)
        #expect(try set(client, id, 7).errorCode == 4_000_183)
        #expect(try set(client, "12x").errorCode == 4_000_006)
        #expect(try set(client, "77").errorCode == 4_040_005)
        #expect(try set(client, "704300000000000000").errorCode == 4_000_048)
        #expect(try set(client, try client.id("child")).errorCode == 4_000_185)
        let renewed = try #require(
            try client.statement(id).transaction["transactionId"] as? String)
        #expect(renewed != id)
        #expect(try set(client, renewed).errorCode == 4_000_187)
    }
}
