import AppStoreSimulation
import Foundation
import Testing

/// Customers that are added, and steps that happen, while the world runs.
@Suite struct `At run time` {
    /// A step, the life that makes it possible, its body, and what Apple's API then says: the status of
    /// the first purchase and the last notification about it (App Store Server Notifications,
    /// `notificationType`).
    struct Case: Sendable, CustomTestStringConvertible {
        let step: String
        let life: String
        var body = "{}"
        let status: Int?
        let told: String

        var testDescription: String { "\(step) after \(life)" }
    }

    private static let monthly = #"{"at": "-20d", "buy": "video.basic.monthly"}"#
    private static let seats =
        #"{"at": "-20d", "buy": "video.premium.monthly", "seats": 5}"#
    private static let developerSeats =
        #"{"at": "-20d", "buy": "news.monthly", "seats": 6, "invitations": "developer"}"#
    static let cases: [Case] = [
        Case(
            step: "buy", life: "", body: #"{"buy": "news.monthly", "label": "news"}"#, status: 1,
            told: "SUBSCRIBED/INITIAL_BUY"),
        Case(
            step: "cancel", life: monthly, status: 1,
            told: "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED"),
        Case(
            step: "reenable", life: monthly + #", {"at": "-2d", "cancel": true}"#, status: 1,
            told: "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED"),
        Case(
            step: "upgrade", life: monthly, body: #"{"upgrade": "video.premium.monthly"}"#,
            status: 1, told: "DID_CHANGE_RENEWAL_PREF/UPGRADE"),
        Case(
            step: "downgrade",
            life: #"{"at": "-20d", "buy": "video.premium.monthly"}"#,
            body: #"{"downgrade": "video.basic.monthly"}"#, status: 1,
            told: "DID_CHANGE_RENEWAL_PREF/DOWNGRADE"),
        Case(
            step: "crossgrade", life: #"{"at": "-20d", "buy": "news.monthly"}"#,
            body: #"{"crossgrade": "news.yearly"}"#, status: 1,
            told: "DID_CHANGE_RENEWAL_PREF/DOWNGRADE"),
        Case(step: "billing_fails", life: monthly, status: 1, told: "SUBSCRIBED/INITIAL_BUY"),
        Case(
            step: "billing_recovers",
            life: #"{"at": "-40d", "buy": "video.basic.monthly"}, "#
                + #"{"at": "-20d", "billing_fails": true}"#,
            status: 1, told: "DID_RENEW/BILLING_RECOVERY"),
        Case(
            step: "refund", life: monthly, body: #"{"refund": 100, "reason": 1}"#, status: 5,
            told: "REFUND"),
        Case(
            step: "refund_reversed", life: monthly + #", {"at": "-2d", "refund": 100}"#,
            status: 1, told: "REFUND_REVERSED"),
        Case(step: "refund_declined", life: monthly, status: 1, told: "CONSUMPTION_REQUEST"),
        Case(
            step: "resubscribe",
            life: #"{"at": "-50d", "buy": "video.basic.monthly"}, {"at": "-40d", "cancel": true}"#,
            body: #"{"resubscribe": "video.basic.monthly"}"#, status: 1,
            told: "SUBSCRIBED/RESUBSCRIBE"),
        Case(
            step: "price_increase", life: monthly, body: #"{"price_increase": 20}"#, status: 1,
            told: "PRICE_INCREASE/PENDING"),
        Case(
            step: "accept_price_increase",
            life: monthly + #", {"at": "-2d", "price_increase": 20}"#, status: 1,
            told: "PRICE_INCREASE/ACCEPTED"),
        Case(
            step: "extend", life: monthly, body: #"{"extend": 7}"#, status: 1,
            told: "RENEWAL_EXTENDED"),
        Case(
            step: "redeem_offer", life: monthly, body: #"{"redeem_offer": "promotional"}"#,
            status: 1, told: "OFFER_REDEEMED"),
        Case(step: "withdraw", life: monthly, status: 1, told: "SUBSCRIBED/INITIAL_BUY"),
        Case(
            step: "finish", life: #"{"at": "-20d", "buy": "coins.100"}"#, status: nil,
            told: "ONE_TIME_CHARGE"),
        Case(
            step: "share_with", life: monthly, body: #"{"share_with": "zoe"}"#, status: 1,
            told: "SUBSCRIBED/INITIAL_BUY"),
        Case(
            step: "stop_sharing", life: monthly + #", {"at": "-2d", "share_with": "zoe"}"#,
            status: 1, told: "SUBSCRIBED/INITIAL_BUY"),
        Case(step: "migrate", life: monthly, status: nil, told: "SUBSCRIBED/INITIAL_BUY"),
        Case(step: "delete_account", life: monthly, status: nil, told: ""),
        Case(
            step: "external_purchase_token", life: monthly,
            body: #"{"external_purchase_token": "CREATED"}"#, status: 1,
            told: "SUBSCRIBED/INITIAL_BUY"),
        Case(
            step: "add_seats", life: seats, body: #"{"add_seats": 3}"#, status: 1,
            told: "DID_CHANGE_RENEWAL_PREF/INCREASE_QUANTITY"),
        Case(
            step: "remove_seats", life: seats, body: #"{"remove_seats": 2}"#, status: 1,
            told: "DID_CHANGE_RENEWAL_PREF/DECREASE_QUANTITY"),
        Case(
            step: "refund_seats", life: seats, body: #"{"refund_seats": 2}"#, status: 1,
            told: "REFUND/SEATS"),
        Case(
            step: "claim_seats", life: developerSeats, body: #"{"claim_seats": 2}"#, status: 1,
            told: "SUBSCRIBED/INITIAL_BUY"),
        Case(
            step: "release_seats", life: developerSeats + #", {"at": "-2d", "claim_seats": 3}"#,
            body: #"{"release_seats": 1}"#, status: 1, told: "SUBSCRIBED/INITIAL_BUY"),
        Case(step: "rescind_consent", life: monthly, status: 1, told: "SUBSCRIBED/INITIAL_BUY"),
    ]

    private func client(_ change: (inout SimulatorSettings) -> Void = { _ in }) throws
        -> SimulatorClient
    {
        try SimulatorClient(customers: 0) { settings in
            settings.scenario = "customers: [{name: zoe}]"
            change(&settings)
        }
    }

    private func call(_ client: SimulatorClient, _ path: String, _ body: String) -> Answer {
        let answer = client.simulator.answerControl(
            ServiceRequest(
                method: "POST", target: "/_simulator/" + path, body: Array(body.utf8)))
        let json = try? JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
        return Answer(status: answer.status, json: json ?? [:], raw: answer)
    }

    private func add(_ client: SimulatorClient, life: String) throws {
        let answer = call(client, "customers", #"{"name": "anna", "life": [\#(life)]}"#)
        try #require(answer.status == 200, "\(answer.json)")
    }

    @Test(arguments: cases)
    func `every step happens as Apple tells it`(_ one: Case) throws {
        let client = try client()
        try add(client, life: one.life)
        let answer = call(client, "customers/anna/\(one.step)", one.body)
        try #require(answer.status == 200, "\(answer.json)")
        // The one purchase that was the customer's first.
        let purchases = try #require(answer.json["purchases"] as? [[String: Any]])
        let id = try #require(purchases.first?["original_transaction_id"] as? String)
        #expect(try client.statements(id)[id]?.status == one.status)
        guard !one.told.isEmpty else { return }
        let told = try client.notifications(of: id).last {
            $0.transaction["originalTransactionId"] as? String == id
        }
        #expect(told?.name == one.told)
    }

    @Test func `every step of the scenario files is one`() throws {
        let client = try client()
        try add(client, life: Self.monthly)
        let refused = call(client, "customers/anna/dance", "")
        #expect(refused.status == 400)
        let said = try #require(refused.json["error"] as? String)
        let names = try #require(said.components(separatedBy: "there are ").last)
            .dropLast().components(separatedBy: ", ")
        #expect(names.sorted() == Self.cases.map(\.step).sorted())
    }

    @Test(arguments: [
        ("customers/anna/refund", #"{"refund": 100, "period": 99}"#, "period 99"),
        ("customers/anna/refund", "{}", "percentage"),
        ("customers/anna/refund", #"{"refund": 100, "persent": 1}"#, "persent"),
        ("customers/anna/cancel", #"{"at": "+3d"}"#, "at"),
        ("customers/anna/cancel", #"{"cancel": false}"#, "written as true"),
        ("customers/anna/cancel", #"{"deliver": "soon"}"#, "soon"),
        ("customers/anna/cancel", #"{"of": "nothing"}"#, "nothing"),
        ("customers/anna/cancel?fast=1", "{}", "fast"),
        ("customers/anna/reenable", "{}", "on already"),
        ("customers/anna/upgrade", #"{"upgrade": "video.basic.monthly"}"#, "higher"),
        ("customers/anna/upgrade", #"{"upgrade": "video.gold"}"#, "video.gold"),
        ("customers/anna/share_with", #"{"share_with": "nobody"}"#, "nobody"),
        ("customers/bert/cancel", "{}", "bert"),
        ("customers", #"{"name": "anna"}"#, "already"),
        ("customers", #"{"name": "42"}"#, "number"),
        ("customers", #"{"name": "eve", "live": []}"#, "live"),
        (
            "customers",
            #"{"name": "eve", "life": [{"at": "-9d", "buy": "news.monthly"}, {"at": "+300d", "refund": 100, "period": 44}]}"#,
            "period 44"
        ),
        ("customers", #"{"name": "eve", "expect": [{"status": 1}]}"#, "expect"),
    ])
    func `what is impossible or unknown is refused by name and changes nothing`(
        path: String, body: String, reason: String
    ) throws {
        let client = try client()
        try add(client, life: Self.monthly)
        func state() throws -> [String] {
            try ["health", "customers", "customers/anna", "customers/zoe"].map {
                String(
                    decoding: try client.control("GET", "/_simulator/\($0)").raw.body,
                    as: UTF8.self)
            }
        }
        let before = try state()
        let answer = call(client, path, body)
        #expect(answer.status == 400)
        let said = answer.json["error"] as? String ?? ""
        #expect(said.contains(reason), "\(said)")
        #expect(try state() == before)
    }

    @Test func `an added customer lives as one of a scenario`() throws {
        let steps = """
            {"at": "-95d", "buy": "news.monthly"}, {"at": "-50d", "refund": 50, "period": 0}, \
            {"at": "-3d", "cancel": true}, {"at": "+5d", "reenable": true}
            """
        let added = try SimulatorClient(customers: 0) { $0.scenario = "about: Nobody." }
        try add(added, life: steps)
        let scripted = try SimulatorClient(customers: 0) {
            $0.scenario = "customers: [{name: anna, life: [\(steps)]}]"
        }
        for client in [added, scripted] { try client.advance(["days": 60]) }
        let id = try added.id("anna")
        #expect(try id == scripted.id("anna"))
        func told(_ client: SimulatorClient) throws -> [String] {
            try client.notifications().map { try $0.text() }
        }
        #expect(try told(added) == told(scripted))
        #expect(try !told(added).isEmpty)
        #expect(
            try added.history(id).map(SimulatorClient.text)
                == scripted.history(id).map(SimulatorClient.text))
    }

    @Test func `a customer of the population takes a step, by any of the ids`() throws {
        let client = try SimulatorClient(customers: 200)
        /// The first purchase of a kind that renews by itself.
        func some(_ query: String) throws -> (customer: String, purchase: String) {
            let answer = try client.control(
                "GET", "/_simulator/customers?environment=Production&\(query)")
            for customer in answer.json["customers"] as? [[String: Any]] ?? [] {
                let purchases = customer["purchases"] as? [[String: Any]] ?? []
                guard let name = customer["app_transaction_id"] as? String,
                    let id = purchases.first?["original_transaction_id"] as? String
                else { continue }
                let statement = try client.statement(id)
                if statement.renewal["autoRenewStatus"] as? Int == 1,
                    statement.transaction["inAppOwnershipType"] as? String == "PURCHASED"
                {
                    return (name, id)
                }
            }
            throw CancellationError()
        }
        let active = try some("status=1")
        let refund = call(client, "customers/\(active.purchase)/refund", #"{"refund": 100}"#)
        #expect(refund.status == 200, "\(refund.json)")
        #expect(try client.statement(active.purchase).status == 5)
        // Whatever chance had planned: a failing charge fails, and stays failed until it recovers.
        let other = try some("status=1&product=video.basic.monthly")
        #expect(call(client, "customers/\(other.purchase)/billing_fails", "").status == 200)
        try client.advance(["days": 32])
        #expect(try [3, 4].contains(client.statement(other.purchase).status))
        let grace = try some("status=4")
        #expect(call(client, "customers/\(grace.purchase)/billing_recovers", "").status == 200)
        #expect(try client.statement(grace.purchase).status == 1)
        let deleted = call(client, "customers/\(grace.customer)/delete_account", "")
        #expect(deleted.status == 200)
        #expect(
            try client.get("/inApps/v1/subscriptions/\(grace.purchase)").errorCode == 4_040_001)
    }

    @Test func `a purchase of a hundred years ago keeps its dates`() throws {
        let client = try client()
        try add(client, life: #"{"at": "-20d", "buy": "themes"}"#)
        let id = try client.id("anna")
        let bought = try #require(try client.history(id).first?["purchaseDate"] as? Int64)
        for _ in 0..<2 { try client.advance(["days": 36_000]) }
        #expect(call(client, "customers/anna/refund", #"{"refund": 70}"#).status == 200)
        let refunded = try #require(try client.history(id).first)
        #expect(refunded["purchaseDate"] as? Int64 == bought)
        #expect(try refunded["revocationDate"] as? Int64 == client.now())
        #expect(refunded["revocationPercentage"] as? Int == 70_000)
    }

    @Test func `what happened is so after a restart, too`() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/kept-" + UUID().uuidString
        func start() throws -> SimulatorClient {
            try client { settings in
                settings.folder = folder
                settings.keeps = true
            }
        }
        let first = try start()
        try add(first, life: Self.monthly)
        try first.advance(["days": 3])
        #expect(call(first, "customers/anna/refund", #"{"refund": 40}"#).status == 200)
        #expect(call(first, "customers/anna/cancel", "").status == 400)
        let second = try start()
        let truths = try [first, second].map {
            String(
                decoding: try $0.control("GET", "/_simulator/customers/anna").raw.body,
                as: UTF8.self)
        }
        #expect(truths.first == truths.last && truths.first?.contains("REFUND_PRORATED") == true)
    }
}
