import AppStoreSimulation
import Foundation
import Testing

/// Send Consumption Information and its version 1, as Apple documents them.
@Suite struct `Consumption information` {
    private static let scenario = """
        customers:
          - name: subscriber
            life: [{at: -10d, buy: news.monthly}]
          - name: shopper
            life: [{at: -10d, buy: coins.100}]
          - name: themes
            life: [{at: -10d, buy: themes}]
          - name: parent
            life: [{at: -10d, buy: video.premium.monthly}, {at: -5d, share_with: child}]
          - name: child
        """
    private static var body: [String: Any] {
        ["customerConsented": true, "sampleContentProvided": false, "deliveryStatus": "DELIVERED"]
    }
    private static var bodyV1: [String: Any] {
        [
            "customerConsented": true, "sampleContentProvided": false, "deliveryStatus": 0,
            "accountTenure": 7, "appAccountToken": "", "consumptionStatus": 3,
            "lifetimeDollarsPurchased": 7, "lifetimeDollarsRefunded": 0, "platform": 1,
            "playTime": 7,
            "userStatus": 4, "refundPreference": 3,
        ]
    }

    private func send(
        _ client: SimulatorClient, _ id: String, version: Int = 2, _ changes: [String: Any] = [:]
    ) throws -> Answer {
        try client.put(
            "/inApps/v\(version)/transactions/consumption/\(id)",
            (version == 2 ? Self.body : Self.bodyV1).merging(changes) { $1 })
    }

    @Test(arguments: [
        ("subscriber", #"{"refundPreference": "GRANT_PRORATED"}"#),
        ("shopper", #"{"consumptionPercentage": 67932, "refundPreference": "DECLINE"}"#),
        ("themes", #"{"consumptionPercentage": 100000}"#),
        ("shopper", #"{"deliveryStatus": "UNDELIVERED_OTHER", "consumptionPercentage": 0}"#),
    ])
    func `is accepted for products of every type`(name: String, changes: String) throws {
        let client = try SimulatorClient(scenario: Self.scenario)
        let further = try #require(
            JSONSerialization.jsonObject(with: Data(changes.utf8)) as? [String: Any])
        let answer = try send(client, try client.id(name), further)
        #expect(answer.status == 202 && answer.raw.body.isEmpty, "\(answer.json)")
    }

    @Test(arguments: [
        ("customerConsented", "false", 4_000_035), ("customerConsented", "1", 4_000_035),
        ("sampleContentProvided", "\"no\"", 4_000_041), ("deliveryStatus", "0", 4_000_036),
        ("deliveryStatus", "\"LOST\"", 4_000_036), ("refundPreference", "\"MAYBE\"", 4_000_044),
        ("consumptionPercentage", "100001", 4_000_000), ("consumptionPercentage", "-1", 4_000_000),
    ])
    func `is refused with an invalid member`(name: String, value: String, code: Int) throws {
        let client = try SimulatorClient(scenario: Self.scenario)
        let member = try JSONSerialization.jsonObject(
            with: Data(value.utf8), options: .fragmentsAllowed)
        let answer = try send(client, try client.id("shopper"), [name: member])
        #expect(answer.status == 400 && answer.errorCode == code)
    }

    @Test func `cannot state what was not delivered, or part of a subscription`() throws {
        let client = try SimulatorClient(scenario: Self.scenario)
        let percentage = ["consumptionPercentage": 50_000]
        let undelivered: [String: Any] = ["deliveryStatus": "UNDELIVERED_WRONG_ITEM"]
        let shopper = try client.id("shopper")
        #expect(
            try send(client, shopper, undelivered.merging(percentage) { $1 }).status == 400)
        #expect(
            try send(client, try client.id("subscriber"), percentage).errorCode == 4_000_209)
    }

    @Test(arguments: [2, 1])
    func `is about a transaction that the customer bought`(version: Int) throws {
        let client = try SimulatorClient(scenario: Self.scenario)
        #expect(try send(client, "12x", version: version).errorCode == 4_000_006)
        #expect(try send(client, "77", version: version).errorCode == 4_040_010)
        let child = try client.id("child")
        #expect(try send(client, child, version: version).errorCode == 4_000_185)
        #expect(try send(client, "704300000000000000", version: version).errorCode == 4_000_048)
    }

    @Test func `of version 1 is accepted for consumables and subscriptions`() throws {
        let client = try SimulatorClient(scenario: Self.scenario)
        for name in ["subscriber", "shopper"] {
            #expect(try send(client, try client.id(name), version: 1).status == 202)
        }
        #expect(try send(client, try client.id("themes"), version: 1).errorCode == 4_000_047)
    }

    @Test(arguments: [
        ("accountTenure", 8, 4_000_032), ("appAccountToken", 1, 4_000_033),
        ("consumptionStatus", 4, 4_000_034), ("customerConsented", 1, 4_000_035),
        ("deliveryStatus", 6, 4_000_036), ("lifetimeDollarsPurchased", 8, 4_000_037),
        ("lifetimeDollarsRefunded", -1, 4_000_038), ("platform", 3, 4_000_039),
        ("playTime", 8, 4_000_040), ("sampleContentProvided", 2, 4_000_041),
        ("userStatus", 5, 4_000_042), ("refundPreference", 4, 4_000_044),
    ])
    func `of version 1 is refused with an invalid code`(name: String, value: Int, code: Int) throws
    {
        let client = try SimulatorClient(scenario: Self.scenario)
        let answer = try send(client, try client.id("shopper"), version: 1, [name: value])
        #expect(answer.status == 400 && answer.errorCode == code)
    }
}
