import AppStoreSimulation
import Foundation
import Testing

/// Notifications that have `externalPurchaseToken` or `appData` instead of `data`.
@Suite struct `Notifications about an account` {
    private static let scenario = """
        customers:
          - name: anna
            life: [{at: -20d, buy: news.yearly}, {at: -1d, rescind_consent: true}]
          - name: tester
            environment: Sandbox
            life: [{at: -20d, buy: news.yearly}]
        """

    @Test func `tell of a rescinded consent with the signed app transaction`() throws {
        let client = try SimulatorClient(scenario: Self.scenario, customers: 0)
        let id = try client.id("anna")
        let told = try #require(try client.notifications(of: id).last)
        #expect(told.name == "RESCIND_CONSENT")
        #expect(told.payload["data"] == nil)
        let app = try #require(told.payload["appData"] as? [String: Any])
        #expect(
            app.keys.sorted() == [
                "appAppleId", "bundleId", "environment", "signedAppTransactionInfo",
            ])
        let transaction = try SimulatorClient.payload(
            try #require(app["signedAppTransactionInfo"] as? String))
        let asked = try client.get("/inApps/v1/transactions/appTransactions/\(id)")
        let now = try SimulatorClient.payload(
            try #require(asked.json["signedAppTransactionInfo"] as? String))
        #expect(
            transaction["appTransactionId"] as? String == now["appTransactionId"] as? String)
    }

    @Test(arguments: SimulatedEnvironment.allCases)
    func `tell of external purchase tokens`(environment: SimulatedEnvironment) throws {
        let client = try SimulatorClient(scenario: Self.scenario, customers: 0)
        let name = environment == .production ? "anna" : "tester"
        let step = "/_simulator/customers/\(name)/external_purchase_token"
        for subtype in ["CREATED", "ACTIVE_TOKEN_REMINDER", "UNREPORTED"] {
            let body = ["external_purchase_token": subtype]
            #expect(try client.control("POST", step, body).status == 200)
            try client.advance(["days": 1])
        }
        #expect(
            try client.control("POST", step, ["external_purchase_token": "LOST"]).status == 400)
        let told = try client.notifications(environment: environment)
            .filter { $0.name.hasPrefix("EXTERNAL_PURCHASE_TOKEN") }
        #expect(
            told.map(\.name) == [
                "EXTERNAL_PURCHASE_TOKEN/CREATED",
                "EXTERNAL_PURCHASE_TOKEN/ACTIVE_TOKEN_REMINDER",
                "EXTERNAL_PURCHASE_TOKEN/UNREPORTED",
            ])
        let tokens = told.compactMap { $0.payload["externalPurchaseToken"] as? [String: Any] }
        let ids = Set(tokens.compactMap { $0["externalPurchaseId"] as? String })
        #expect(tokens.count == 3 && ids.count == 1)
        #expect(ids.first?.hasPrefix("SANDBOX") == (environment == .sandbox))
        #expect(Set(tokens.map { $0["tokenCreationDate"] as? Int64 }).count == 1)
        #expect(tokens.allSatisfy { $0["bundleId"] as? String == client.app.bundleID })
        #expect(told.allSatisfy { $0.payload["data"] == nil })
    }
}
