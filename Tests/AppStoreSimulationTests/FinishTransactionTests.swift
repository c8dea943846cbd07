import AppStoreSimulation
import Foundation
import Testing

/// Finish Transaction, as Apple documents it.
@Suite struct `A finished transaction` {
    private static let scenario = """
        customers:
          - name: shopper
            life: [{at: -10d, buy: coins.100}]
        """

    private func finish(_ client: SimulatorClient, _ id: String) throws -> Answer {
        try client.post("/inApps/v1/transactions/\(id)/finish", [:])
    }

    @Test func `of a consumable is left out of version 1 of the history`() throws {
        let client = try SimulatorClient(scenario: Self.scenario)
        let id = try client.id("shopper")
        #expect(try client.history(id, version: 1).count == 1)
        for _ in 0..<2 {
            let answer = try finish(client, id)
            #expect(answer.status == 200 && answer.raw.body.isEmpty)
        }
        #expect(try client.history(id, version: 1).isEmpty)
        #expect(try client.history(id, version: 2).count == 1)
        #expect(try client.get("/inApps/v1/transactions/\(id)").status == 200)
    }

    @Test(arguments: [
        ("12x", 4_000_006), ("704300000000000000", 4_000_048), ("77", 4_040_010),
    ])
    func `is named by its transaction id`(id: String, code: Int) throws {
        let client = try SimulatorClient(scenario: Self.scenario)
        #expect(try finish(client, id).errorCode == code)
    }
}
