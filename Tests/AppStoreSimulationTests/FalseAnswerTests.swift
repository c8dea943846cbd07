import AppStoreSimulation
import Foundation
import Testing

/// False answers agree with each other on all endpoints.
@Suite struct `A false answer` {
    private static let scenario = """
        customers:
          - name: anna
            life:
              - {at: -80d, buy: news.monthly}
              - {at: -10d, refund: 100}
          - name: bert
            life: [{at: -200d, buy: video.premium.yearly}, {at: -5d, cancel: true}]
          - name: new
            life: [{at: -3d, buy: news.monthly}]
        """

    private func client(_ fault: String) throws -> SimulatorClient {
        let client = try SimulatorClient(scenario: Self.scenario)
        _ = try client.control("POST", "/_simulator/faults", ["faults": [["fault": fault]]])
        return client
    }

    @Test func `that everybody expired is given by every endpoint`() throws {
        let client = try client("everything_expired")
        let now = try client.now()
        for name in ["anna", "bert", "new"] {
            let id = try client.id(name)
            let stated = try client.statement(id)
            #expect(stated.status == 2)
            #expect(try client.get("/inApps/v1/subscriptions/\(id)?status=2").json["data"] != nil)
            let newest = try #require(stated.transaction["transactionId"] as? String)
            let answer = try client.get("/inApps/v1/transactions/\(newest)")
            let one = try SimulatorClient.payload(
                try #require(answer.json["signedTransactionInfo"] as? String))
            let all = try client.history(id)
            for transaction in [one] + all.filter({ $0["transactionId"] as? String == newest }) {
                #expect(try #require(transaction["expiresDate"] as? Int64) <= now)
                #expect(transaction["revocationDate"] == nil)
            }
        }
    }

    @Test func `of a month ago is the state of then`() throws {
        let client = try client("old_statement")
        let now = try client.now()
        let then = now - 30 * SimulatorClient.day
        let anna = try client.statement(try client.id("anna"))
        #expect(anna.status == 1 && anna.transaction["revocationDate"] == nil)
        #expect(anna.date("signedDate") == then)
        #expect(try #require(anna.date("purchaseDate")) <= then)
        #expect(try #require(anna.date("expiresDate")) > then)
        let bert = try client.statement(try client.id("bert"))
        #expect(bert.status == 1 && bert.renewal["autoRenewStatus"] as? Int == 1)
        let history = try client.history(try client.id("anna"))
        #expect(history.allSatisfy { $0["purchaseDate"] as? Int64 ?? .max <= then })
        #expect(history.allSatisfy { $0["revocationDate"] == nil } && history.count == 2)
        let new = try client.id("new")
        #expect(try client.get("/inApps/v1/transactions/\(new)").errorCode == 4_040_010)
    }

    @Test func `of another customer is another one's on every endpoint`() throws {
        let client = try client("other_customer")
        let id = try client.id("anna")
        #expect(try client.statements(id)[id] == nil)
        let answer = try client.get("/inApps/v1/transactions/\(id)")
        let one = try SimulatorClient.payload(
            try #require(answer.json["signedTransactionInfo"] as? String))
        #expect(one["originalTransactionId"] as? String != id)
        #expect(try client.history(id).allSatisfy { $0["originalTransactionId"] as? String != id })
    }
}
