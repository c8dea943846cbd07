import AppStoreSimulation
import Foundation
import Testing

/// Extend a Subscription Renewal Date, as Apple documents it.
@Suite struct `A renewal extension` {
    private static let scenario = """
        grace_days: 16
        customers:
          - name: anna
            life: [{at: -10d, buy: news.monthly}]
          - name: trial
            life: [{at: -2d, buy: video.basic.monthly, offer: introductory_trial}]
          - name: expired
            life: [{at: -60d, buy: news.monthly}, {at: -50d, cancel: true}]
          - name: in grace
            life: [{at: -40d, buy: news.monthly}, {at: -30d, billing_fails: true}]
          - name: refunded
            life: [{at: -10d, buy: news.monthly}, {at: -3d, refund: 100}]
          - name: parent
            life: [{at: -10d, buy: video.premium.monthly}, {at: -5d, share_with: child}]
          - name: child
          - name: shopper
            life: [{at: -10d, buy: themes}]
        """

    private static func body(
        _ identifier: String = "first", days: Int = 14
    ) -> [String: Any] {
        ["extendByDays": days, "extendReasonCode": 3, "requestIdentifier": identifier]
    }

    private func extend(
        _ client: SimulatorClient, _ id: String, _ body: [String: Any] = body()
    ) throws -> Answer {
        try client.put("/inApps/v1/subscriptions/extend/\(id)", body)
    }

    @Test func `moves the renewal, is stated from then on and sends a notification`() throws {
        let client = try SimulatorClient(scenario: Self.scenario)
        let id = try client.id("anna")
        let before = try client.statement(id)
        let renewal = try #require(before.date("renewalDate"))
        let answer = try extend(client, id)
        #expect(answer.status == 200)
        #expect(answer.json["success"] as? Bool == true)
        #expect(answer.json["originalTransactionId"] as? String == id)
        #expect(
            answer.json["webOrderLineItemId"] as? String
                == before.transaction["webOrderLineItemId"] as? String)
        let effective = renewal + 14 * SimulatorClient.day
        #expect(answer.json["effectiveDate"] as? Int64 == effective)
        let after = try client.statement(id)
        #expect(after.date("renewalDate") == effective && after.status == 1)
        let told = try client.notifications(of: id)
        #expect(told.map(\.name) == ["SUBSCRIBED/INITIAL_BUY", "RENEWAL_EXTENDED"])
        #expect(told.first?.renewal["renewalDate"] as? Int64 == renewal)
        #expect(told.last?.renewal["renewalDate"] as? Int64 == effective)
        #expect(told.last?.signedDate == (try client.now()))
        // It renews at the new date, and not at the old one.
        try client.advance(["days": 25])
        #expect(try client.history(id).count == 1)
        try client.advance(["days": 15])
        #expect(try client.history(id).count == 2)
    }

    @Test func `extends the family members' subscriptions`() throws {
        let client = try SimulatorClient(scenario: Self.scenario)
        let child = try client.id("child")
        let effective = try extend(client, try client.id("parent")).json["effectiveDate"] as? Int64
        #expect(try client.statement(child).date("renewalDate") == effective)
        #expect(try client.notifications(of: child).last?.name == "RENEWAL_EXTENDED")
    }

    @Test(arguments: [
        ("trial", 4_030_004), ("expired", 4_030_004), ("in grace", 4_030_004),
        ("refunded", 4_030_004), ("shopper", 4_030_004), ("child", 4_030_007),
    ])
    func `is refused to others than active paid subscriptions`(name: String, code: Int) throws {
        let client = try SimulatorClient(scenario: Self.scenario)
        let answer = try extend(client, try client.id(name))
        #expect(answer.status == 403 && answer.errorCode == code)
    }

    @Test func `is possible twice within 365 days`() throws {
        let client = try SimulatorClient(scenario: Self.scenario)
        let id = try client.id("anna")
        #expect(try extend(client, id, Self.body("first", days: 1)).status == 200)
        try client.advance(["days": 100])
        #expect(try extend(client, id, Self.body("second", days: 1)).status == 200)
        #expect(try extend(client, id, Self.body("third")).errorCode == 4_030_005)
        try client.advance(["days": 264])
        #expect(try extend(client, id, Self.body("third")).errorCode == 4_030_005)
        try client.advance(["days": 2])
        #expect(try extend(client, id, Self.body("third")).status == 200)
    }

    @Test func `is made once when its request is sent again`() throws {
        let client = try SimulatorClient(scenario: Self.scenario)
        let id = try client.id("anna")
        let answers = try (0..<3).map { _ in
            try extend(client, id).json["effectiveDate"] as? Int64
        }
        #expect(Set(answers).count == 1 && answers.first != nil)
        #expect(try client.statement(id).date("renewalDate") == answers.first)
        #expect(try client.notifications(of: id).count { $0.name == "RENEWAL_EXTENDED" } == 1)
    }

    @Test(arguments: [
        ("extendByDays", "0", 4_000_009), ("extendByDays", "91", 4_000_009),
        ("extendByDays", "\"3\"", 4_000_009), ("extendByDays", "null", 4_000_009),
        ("extendReasonCode", "4", 4_000_010), ("extendReasonCode", "-1", 4_000_010),
        ("requestIdentifier", "\"\"", 4_000_011), ("requestIdentifier", "7", 4_000_011),
        ("requestIdentifier", "\"\(String(repeating: "x", count: 129))\"", 4_000_011),
    ])
    func `is refused with an invalid member`(name: String, value: String, code: Int) throws {
        let client = try SimulatorClient(scenario: Self.scenario)
        var body = Self.body()
        body[name] = try JSONSerialization.jsonObject(
            with: Data(value.utf8), options: .fragmentsAllowed)
        let answer = try extend(client, try client.id("anna"), body)
        #expect(answer.status == 400 && answer.errorCode == code)
        body[name] = nil
        #expect(try extend(client, try client.id("anna"), body).errorCode == code)
    }

    @Test func `needs an original transaction id`() throws {
        let client = try SimulatorClient(scenario: Self.scenario)
        #expect(try extend(client, "12x").errorCode == 4_000_008)
        #expect(try extend(client, "77").errorCode == 4_040_005)
        let customers = try client.control("GET", "/_simulator/customers").json["customers"]
        let anna = try #require(
            (customers as? [[String: Any]])?.first { $0["name"] as? String == "anna" })
        let account = try #require(anna["app_transaction_id"] as? String)
        #expect(try extend(client, account).errorCode == 4_000_048)
        let id = try client.id("anna")
        try client.advance(["days": 40])
        let renewed = try #require(
            try client.statement(id).transaction["transactionId"] as? String)
        #expect(renewed != id)
        #expect(try extend(client, renewed).errorCode == 4_040_005)
    }

    @Test func `is made again after a restart`() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/kept-" + UUID().uuidString
        func start() throws -> SimulatorClient {
            try SimulatorClient { settings in
                settings.folder = folder
                settings.keeps = true
                settings.scenario = Self.scenario
                settings.customers = nil
            }
        }
        let first = try start()
        let id = try first.id("anna")
        let effective = try extend(first, id).json["effectiveDate"] as? Int64
        try #require(effective != nil)
        #expect(try start().statement(id).date("renewalDate") == effective)
    }
}
