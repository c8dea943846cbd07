import AppStoreSimulation
import Foundation
import Testing

/// Extend Subscription Renewal Dates for All Active Subscribers, as Apple documents it.
@Suite struct `A mass extension` {
    private static let product = "com.example.app.news.monthly"
    private static let path = "/inApps/v1/subscriptions/extend/mass"
    private static let scenario = """
        customers:
          - name: anna
            life: [{at: -10d, buy: news.monthly}]
          - name: bert
            storefront: DEU
            life: [{at: -12d, buy: news.monthly}]
          - name: twice
            life: [{at: -14d, buy: news.monthly}, {at: -9d, extend: 1}, {at: -8d, extend: 1}]
          - name: trial
            life: [{at: -2d, buy: news.monthly, offer: introductory_trial}]
          - name: expired
            life: [{at: -90d, buy: news.monthly}, {at: -80d, cancel: true}]
          - name: other
            life: [{at: -10d, buy: news.yearly}]
        """

    private static func body(_ further: [String: Any] = [:]) -> [String: Any] {
        let usual: [String: Any] = [
            "extendByDays": 5, "extendReasonCode": 1, "requestIdentifier": "outage",
            "productId": product,
        ]
        return usual.merging(further) { $1 }
    }

    private func renewal(_ client: SimulatorClient, _ name: String) throws -> Int64? {
        try client.statement(try client.id(name)).date("renewalDate")
    }

    @Test func `extends the active subscribers of a product, later`() throws {
        let client = try SimulatorClient(scenario: Self.scenario)
        let names = ["anna", "bert", "twice", "trial", "expired", "other"]
        let before = try names.map { try renewal(client, $0) ?? 0 }
        let answer = try client.post(Self.path, Self.body())
        #expect(answer.status == 200 && answer.json["requestIdentifier"] as? String == "outage")
        let status = "\(Self.path)/\(Self.product)/outage"
        let waiting = try client.get(status)
        #expect(waiting.status == 200 && waiting.json["complete"] as? Bool == false)
        #expect(waiting.json["succeededCount"] == nil)
        #expect(try renewal(client, "anna") == before.first)
        try client.advance(["days": 1])
        let complete = try client.get(status)
        #expect(complete.json["complete"] as? Bool == true)
        #expect(complete.json["succeededCount"] as? Int == 2)
        #expect(complete.json["failedCount"] as? Int == 1)
        let moved = zip(try names.map { try renewal(client, $0) ?? 0 }, before).map { $0 - $1 }
        #expect(moved.map { $0 / SimulatorClient.day } == [5, 5, 0, 0, 0, 0])
    }

    @Test func `notifies about each subscription and about the whole`() throws {
        let client = try SimulatorClient(scenario: Self.scenario)
        _ = try client.post(Self.path, Self.body(["storefrontCountryCodes": ["DEU", "USA"]]))
        try client.advance(["days": 1])
        let since = try client.now() - SimulatorClient.day
        let told = try client.notifications().filter { $0.signedDate > since }
        #expect(
            told.map(\.name).sorted() == [
                "RENEWAL_EXTENDED", "RENEWAL_EXTENDED", "RENEWAL_EXTENSION/FAILURE",
                "RENEWAL_EXTENSION/SUMMARY",
            ])
        let failure = try #require(told.first { $0.name == "RENEWAL_EXTENSION/FAILURE" })
        #expect(
            failure.transaction["originalTransactionId"] as? String == (try client.id("twice")))
        let summary = try #require(told.first { $0.name == "RENEWAL_EXTENSION/SUMMARY" })
        #expect(summary.payload["data"] == nil)
        let contents = try #require(summary.payload["summary"] as? [String: Any])
        #expect(contents["requestIdentifier"] as? String == "outage")
        #expect(contents["productId"] as? String == Self.product)
        #expect(contents["bundleId"] as? String == "com.example.app")
        #expect(contents["environment"] as? String == "Production")
        #expect(contents["appAppleId"] as? Int == 1_234_567_890)
        #expect(contents["storefrontCountryCodes"] as? [String] == ["DEU", "USA"])
        #expect(contents["succeededCount"] as? Int == 2)
        #expect(contents["failedCount"] as? Int == 1)
        let complete = try client.get("\(Self.path)/\(Self.product)/outage")
        #expect(complete.json["completeDate"] as? Int64 == summary.signedDate)
    }

    @Test func `can be limited to storefronts`() throws {
        let client = try SimulatorClient(scenario: Self.scenario)
        let before = (try renewal(client, "anna"), try renewal(client, "bert"))
        _ = try client.post(Self.path, Self.body(["storefrontCountryCodes": ["DEU"]]))
        try client.advance(["days": 1])
        #expect(try renewal(client, "anna") == before.0)
        #expect(try renewal(client, "bert") == before.1.map { $0 + 5 * SimulatorClient.day })
    }

    @Test func `is carried out once, however often its request is sent`() throws {
        let client = try SimulatorClient(scenario: Self.scenario)
        let before = try renewal(client, "anna")
        for _ in 0..<2 { #expect(try client.post(Self.path, Self.body()).status == 200) }
        try client.advance(["days": 1])
        #expect(try client.post(Self.path, Self.body()).status == 200)
        try client.advance(["days": 1])
        #expect(try renewal(client, "anna") == before.map { $0 + 5 * SimulatorClient.day })
    }

    @Test(arguments: [
        ("extendByDays", "91", 4_000_009), ("extendReasonCode", "9", 4_000_010),
        ("requestIdentifier", "null", 4_000_011), ("productId", "\"nothing\"", 4_000_023),
        ("productId", "\"com.example.app.themes\"", 4_000_023), ("productId", "3", 4_000_023),
        ("storefrontCountryCodes", "[]", 4_000_027),
        ("storefrontCountryCodes", "[\"DE\"]", 4_000_028),
        ("storefrontCountryCodes", "\"DEU\"", 4_000_028),
    ])
    func `is refused with an invalid member`(name: String, value: String, code: Int) throws {
        let client = try SimulatorClient(scenario: Self.scenario)
        let member = try JSONSerialization.jsonObject(
            with: Data(value.utf8), options: .fragmentsAllowed)
        let answer = try client.post(Self.path, Self.body([name: member]))
        #expect(answer.status == 400 && answer.errorCode == code)
    }

    @Test func `has a status only under its product and identifier`() throws {
        let client = try SimulatorClient(scenario: Self.scenario)
        _ = try client.post(Self.path, Self.body())
        let status = { (product: String, identifier: String) in
            try client.get("\(Self.path)/\(product)/\(identifier)").errorCode
        }
        #expect(try status(Self.product, "outage") == nil)
        #expect(try status(Self.product, "unknown") == 4_040_009)
        #expect(try status("com.example.app.news.yearly", "outage") == 4_040_009)
        #expect(try status("nothing", "outage") == 4_000_023)
    }

    @Test func `gives the same world in one step of the clock and in many`() throws {
        let scenario = "population: {customers: 30, rates: {cancel: 0.2, billing_failure: 0.3}}"
        func world(_ hours: [Int]) throws -> [String] {
            let client = try SimulatorClient(scenario: scenario)
            _ = try client.post(Self.path, Self.body())
            for count in hours { try client.advance(["hours": count]) }
            return try client.notifications().map { try $0.text() }
        }
        let (once, often) = (try world([960]), try world(Array(repeating: 24, count: 40)))
        #expect(once.contains { $0.contains("RENEWAL_EXTENDED") })
        #expect(once == often)
    }
}
