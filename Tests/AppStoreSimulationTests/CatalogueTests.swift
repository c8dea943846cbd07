import AppStoreSimulation
import Foundation
import Testing

/// An app with a catalogue of its own.
@Suite struct `A catalogue` {
    private static let text = """
        bundle_id: com.example.reader
        app_apple_id: 987654321
        grace_days: 3
        grace_for: paid_renewals
        storefronts:
          - {country: USA, id: "143441", currency: USD}
          - {country: FRA, id: "143442", currency: EUR}
        groups:
          - id: "21500001"
            products:
              - {id: com.example.reader.plus, level: 1, period: P1M, prices: {USA: 9.99, FRA: 10.99}}
              - {id: com.example.reader.basic, level: 2, period: P1W, prices: {USA: 1.99, FRA: 2.29}}
              - {id: com.example.reader.year, level: 1, period: P1M, commitment: true, prices: {USA: 4.99, FRA: 5.49}}
        products:
          - {id: com.example.reader.coins, kind: consumable, prices: {USA: 0.99, FRA: 1.19}}
          - {id: other.pass, kind: non_renewing, period: P3M, prices: {USA: 3, FRA: 4}}
        offers:
          - {name: trial, type: introductory, mode: free_trial, period: P3D}
          - {name: comeback, type: win_back, id: RETURN, mode: pay_as_you_go, percent: 40}
          - {name: quarter, type: promotional, id: Q, mode: pay_up_front, period: P3M, percent: 80}
        """

    private func client(
        customers: Int? = nil, scenario: String? = nil, catalogue: String = text
    ) throws -> SimulatorClient {
        try SimulatorClient(customers: 0) { settings in
            settings.customers = customers
            settings.scenario = scenario
            settings.catalogue = catalogue
        }
    }

    @Test func `gives the app its ids`() throws {
        let client = try client(scenario: "customers: [{name: anna, life: [{at: -1d, buy: plus}]}]")
        #expect(client.simulator.report.app.bundleID == "com.example.reader")
        #expect(client.simulator.report.app.appAppleID == 987_654_321)
        let id = try client.id("anna")
        let answer = try client.get("/inApps/v1/subscriptions/\(id)")
        #expect(answer.json["bundleId"] as? String == "com.example.reader")
        #expect(answer.json["appAppleId"] as? Int == 987_654_321)
        let transaction = try client.statement(id).transaction
        #expect(transaction["bundleId"] as? String == "com.example.reader")
        // A token of another app is none.
        let foreign = try client.token(claims: ["bid": "com.example.app"])
        #expect(try client.get("/inApps/v1/subscriptions/\(id)", token: foreign).status == 401)
    }

    @Test func `is what customers buy, at the prices of their storefronts`() throws {
        let client = try client(
            scenario: """
                customers:
                  - name: anna
                    storefront: FRA
                    life:
                      - {at: -50d, buy: plus, offer: trial}
                      - {at: -2d, redeem_offer: quarter}
                  - {name: bert, life: [{at: -3d, buy: coins}, {at: -2d, buy: other.pass}]}
                  - {name: cleo, life: [{at: -40d, buy: year}]}
                  - name: dora
                    life: [{at: -20d, buy: basic}, {at: -19d, cancel: true}]
                """)
        let anna = try client.statement(client.id("anna"))
        #expect(anna.transaction["productId"] as? String == "com.example.reader.plus")
        #expect(anna.transaction["subscriptionGroupIdentifier"] as? String == "21500001")
        #expect(anna.transaction["price"] as? Int == 10_990)
        #expect(anna.transaction["currency"] as? String == "EUR")
        #expect(anna.transaction["storefrontId"] as? String == "143442")
        #expect(anna.renewal["offerIdentifier"] as? String == "Q")
        #expect(anna.renewal["offerDiscountType"] as? String == "PAY_UP_FRONT")
        #expect(anna.renewal["offerPeriod"] as? String == "P3M")
        #expect(anna.renewal["renewalPrice"] as? Int == 8792)
        let first = try #require(try client.history(client.id("anna")).first)
        #expect(first["offerType"] as? Int == 1 && first["offerPeriod"] as? String == "P3D")
        #expect(first["price"] as? Int == 0)
        let bought = try #require(first["purchaseDate"] as? Int64)
        #expect(first["expiresDate"] as? Int64 == bought + 3 * SimulatorClient.day)
        let bert = try client.history(try #require(try client.ids()["bert"]?["purchase 1"]))
        #expect(bert.map { $0["price"] as? Int } == [990, 3000])
        #expect(
            bert.map { $0["type"] as? String } == ["Consumable", "Non-Renewing Subscription"])
        let cleo = try client.statement(client.id("cleo"))
        let commitment = try #require(cleo.transaction["commitmentInfo"] as? [String: Any])
        #expect(commitment["commitmentPrice"] as? Int == 12 * 4990)
        let dora = try client.statement(client.id("dora"))
        #expect(dora.renewal["eligibleWinBackOfferIds"] as? [String] == ["RETURN"])
        // The offer that is paid up front covers its whole period.
        try client.advance(["days": 60])
        let quarter = try #require(
            try client.history(client.id("anna")).first { $0["offerIdentifier"] as? String == "Q" })
        #expect(quarter["price"] as? Int == 8792)
        let length =
            (quarter["expiresDate"] as? Int64 ?? 0) - (quarter["purchaseDate"] as? Int64 ?? 0)
        #expect((89...93).contains(length / SimulatorClient.day))
    }

    @Test(arguments: [("paid_renewals", 3), ("all", 4)])
    func `says how long the grace period is, and for whom`(graceFor: String, status: Int) throws {
        let client = try client(
            scenario: """
                customers:
                  - name: anna
                    life: [{at: -40d, buy: plus}, {at: -20d, billing_fails: true}]
                  - name: bert
                    life: [{at: -4d, buy: plus, offer: trial}, {at: -2d, billing_fails: true}]
                """,
            catalogue: Self.text.replacingOccurrences(of: "paid_renewals", with: graceFor))
        let trial = try client.statement(client.id("bert"))
        #expect(trial.status == status)
        let failed = try client.notifications(of: client.id("anna")).first {
            $0.name == "DID_FAIL_TO_RENEW/GRACE_PERIOD"
        }
        let end = failed?.renewal["gracePeriodExpiresDate"] as? Int64
        #expect(end == failed.map { $0.signedDate + 3 * SimulatorClient.day })
    }

    @Test func `is all that the population buys`() throws {
        let client = try client(customers: 80)
        var products: Set<String> = []
        for status in 0...5 {
            let query = status == 0 ? "life=one_time" : "status=\(status)"
            let answer = try client.control("GET", "/_simulator/customers?limit=10000&\(query)")
            for customer in answer.json["customers"] as? [[String: Any]] ?? [] {
                for purchase in customer["purchases"] as? [[String: Any]] ?? [] {
                    products.insert(purchase["product_id"] as? String ?? "")
                }
            }
        }
        let sold = ["plus", "basic", "year", "coins"].map { "com.example.reader." + $0 }
        #expect(products == Set(sold + ["other.pass"]))
    }

    @Test(arguments: [
        ("grace_days: 3", "grace_days: 5", 3, "3, 16, 28"),
        ("grace_for: paid_renewals", "grace_for: some", 4, "paid_renewals"),
        ("bundle_id: com.example.reader", "bundle: x", 1, "bundle"),
        ("currency: EUR}", "currency: euro}", 7, "three capital letters"),
        (", FRA: 10.99", "", 11, "no price"),
        (", FRA: 10.99", ", FRA: 10.99, ITA: 1", 11, "ITA"),
        ("period: P1W", "period: weekly", 12, "weekly"),
        ("level: 2, period: P1W,", "level: 2,", 12, "period"),
        ("level: 2", "level: 0", 12, "level"),
        ("commitment: true", "commitment: true, kind: consumable", 13, "period"),
        ("kind: consumable", "kind: toy", 15, "toy"),
        ("com.example.reader.basic", "com.example.reader.plus", 14, "twice"),
        ("type: win_back, id: RETURN", "type: win_back", 19, "id"),
        ("period: P3D", "percent: 5", 18, "period"),
        ("mode: pay_as_you_go, percent: 40", "mode: pay_later, percent: 40", 19, "mode"),
    ])
    func `that makes no sense is refused with its line`(
        part: String, wrong: String, line: Int, reason: String
    ) throws {
        let text = Self.text.replacingOccurrences(of: part, with: wrong)
        #expect(text != Self.text)
        let error = #expect(throws: SimulatorError.self) { try client(catalogue: text) }
        let said = error?.description ?? ""
        #expect(said.contains("line \(line):") && said.contains(reason), "\(said)")
    }

    @Test func `of the documentation can be read`() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(
            contentsOf: root.appendingPathComponent("docs/simulator.md"), encoding: .utf8)
        let blocks = page.components(separatedBy: "```yaml\n").dropFirst()
        let example = try #require(blocks.first { $0.hasPrefix("bundle_id:") })
        let yaml = try #require(example.components(separatedBy: "```").first)
        let client = try client(customers: 5, catalogue: yaml)
        #expect(client.simulator.report.app.bundleID == "com.example.reader")
    }
}
