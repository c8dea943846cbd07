import AppStoreSimulation
import Foundation
import Testing

/// Compares the life of a subscription with Apple's documentation.
@Suite struct `A life` {
    private func names(_ client: SimulatorClient, _ id: String) throws -> [String] {
        try client.notifications(of: id).map(\.name)
    }

    @Test func `of a family member is told like the purchaser's`() throws {
        let client = try SimulatorClient(
            scenario: """
                grace_days: 16
                customers:
                  - name: parent
                    life:
                      - {at: -75d, buy: video.basic.monthly, label: own}
                      - {at: -70d, share_with: child}
                      - {at: -20d, billing_fails: true}
                  - name: child
                  - name: leaver
                    life:
                      - {at: -25d, buy: news.monthly, label: own}
                      - {at: -24d, share_with: friend}
                      - {at: -20d, cancel: true}
                  - name: friend
                """)
        let ids = try client.ids()
        let child = try #require(ids["child"]?["shared"])
        let friend = try #require(ids["friend"]?["shared"])
        #expect(
            try names(client, child) == [
                "SUBSCRIBED/INITIAL_BUY", "DID_RENEW", "DID_FAIL_TO_RENEW/GRACE_PERIOD",
            ])
        #expect(try client.statement(child).status == 4)
        try client.advance(["days": 60])
        #expect(
            try names(client, child).suffix(2) == [
                "GRACE_PERIOD_EXPIRED", "EXPIRED/BILLING_RETRY",
            ])
        #expect(
            try names(client, friend) == [
                "SUBSCRIBED/INITIAL_BUY", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED",
                "EXPIRED/VOLUNTARY",
            ])
        let expired = try #require(try client.notifications(of: child).last)
        let parent = try #require(ids["parent"]?["own"])
        #expect(try client.notifications(of: parent).last?.signedDate == expired.signedDate)
        #expect(expired.status == 2 && expired.renewal["expirationIntent"] as? Int == 2)
    }

    @Test func `begins a new cycle where a shorter period would be over before it is paid`() throws
    {
        let client = try SimulatorClient(
            scenario: """
                grace_days: 16
                customers:
                  - name: anna
                    life:
                      - {at: -45d, buy: news.monthly}
                      - {at: -44d, downgrade: news.weekly}
                      - {at: -20d, billing_fails: true}
                      - {at: -2d, billing_recovers: true}
                """)
        let periods = try client.history(try client.id("anna"))
        #expect(periods.count == 2, "\(periods)")
        let now = try client.now()
        let last = try #require(
            periods.first { ($0["productId"] as? String)?.hasSuffix("weekly") ?? false })
        #expect(last["purchaseDate"] as? Int64 == now - 2 * SimulatorClient.day)
        #expect(last["expiresDate"] as? Int64 == now + 5 * SimulatorClient.day)
        #expect(try client.statement(try client.id("anna")).status == 1)
    }

    @Test func `of a family member begins when the sharing does`() throws {
        let client = try SimulatorClient(
            scenario: """
                customers:
                  - name: parent
                    life: [{at: -100d, buy: video.premium.yearly}, {at: -30d, share_with: child}]
                  - name: child
                """)
        let told = try #require(try client.notifications(of: try client.id("child")).first)
        let then = try client.now() - 30 * SimulatorClient.day
        #expect(told.name == "SUBSCRIBED/INITIAL_BUY" && told.signedDate == then)
        #expect(told.transaction["purchaseDate"] as? Int64 == then)
        #expect(told.transaction["inAppOwnershipType"] as? String == "FAMILY_SHARED")
    }

    /// Whoever is not told of a refund keeps what is stated.
    @Test func `shared with the family is not changed by the refund of an earlier period`() throws {
        let client = try SimulatorClient(
            scenario: """
                customers:
                  - name: parent
                    life:
                      - {at: -70d, buy: video.premium.monthly}
                      - {at: -69d, share_with: child}
                      - {at: -1d, refund: 100, period: 1}
                  - name: child
                """)
        let child = try client.id("child")
        #expect(try client.statement(child).status == 1)
        let periods = try client.history(child)
        #expect(periods.count >= 3)
        #expect(periods.allSatisfy { $0["revocationDate"] == nil }, "\(periods)")
        #expect(!(try names(client, child)).contains("REVOKE"))
    }

    @Test(arguments: [
        ("news.yearly", "introductory_half_price", "P1Y"),
        ("news.weekly", "introductory_half_price", "P1W"),
        ("news.monthly", "introductory_half_price", "P1M"),
        ("news.yearly", "introductory_trial", "P1W"),
    ])
    func `with an offer lasts as long as the offer says`(
        product: String, offer: String, period: String
    ) throws {
        let client = try SimulatorClient(
            scenario: """
                customers:
                  - name: anna
                    life: [{at: -2d, buy: \(product), offer: \(offer)}]
                """)
        let bought = try client.statement(try client.id("anna")).transaction
        #expect(bought["offerPeriod"] as? String == period)
        let start = try #require(bought["purchaseDate"] as? Int64)
        let days = (try #require(bought["expiresDate"] as? Int64) - start) / SimulatorClient.day
        let expected: [String: ClosedRange<Int64>] = [
            "P1W": 7...7, "P1M": 28...31, "P1Y": 365...366,
        ]
        #expect(expected[period]?.contains(days) == true, "\(days) days")
    }

    @Test func `with a trial code at the return lasts as long as the trial`() throws {
        let client = try SimulatorClient(
            scenario: """
                customers:
                  - name: anna
                    life:
                      - {at: -70d, buy: news.yearly}
                      - {at: -60d, refund: 100}
                      - {at: -5d, resubscribe: news.yearly, offer: introductory_trial}
                """)
        let trial = try client.statement(try client.id("anna")).transaction
        let start = try #require(trial["purchaseDate"] as? Int64)
        #expect(trial["expiresDate"] as? Int64 == start + 7 * SimulatorClient.day)
    }

    @Test func `in a commitment ends with the commitment when it is cancelled`() throws {
        let client = try SimulatorClient(
            scenario: """
                customers:
                  - name: anna
                    life: [{at: -70d, buy: storage.commitment}, {at: -60d, cancel: true}]
                """)
        let id = try client.id("anna")
        let committed = try client.statement(id)
        #expect(committed.status == 1)
        // The next billing period renews; the commitment does not.
        #expect(committed.renewal["autoRenewStatus"] as? Int == 1)
        let info = try #require(committed.renewal["commitmentInfo"] as? [String: Any])
        #expect(info["commitmentAutoRenewStatus"] as? Int == 0)
        let end = try #require(info["commitmentRenewalDate"] as? Int64)
        try client.advance(["days": 240])
        #expect(try client.statement(id).status == 1)
        try client.advance(["days": 80])
        let over = try client.statement(id)
        #expect(over.status == 2 && over.date("expiresDate") == end)
        let payments = try client.history(id).compactMap {
            ($0["commitmentInfo"] as? [String: Any])?["billingPeriodNumber"] as? Int
        }
        #expect(payments.sorted() == Array(1...12))
    }

    @Test func `of a deleted account neither renews nor is told`() throws {
        let client = try SimulatorClient(
            scenario: """
                customers:
                  - name: gone
                    life: [{at: -70d, buy: news.monthly}, {at: +2d, delete_account: true}]
                """)
        let id = try client.id("gone")
        func told() throws -> Int {
            try client.notifications().count {
                $0.transaction["originalTransactionId"] as? String == id
            }
        }
        func periods() throws -> Int {
            let answer = try client.control("GET", "/_simulator/customers")
            let customers = answer.json["customers"] as? [[String: Any]]
            let purchases = customers?.first?["purchases"] as? [[String: Any]]
            return (purchases?.first?["transaction_ids"] as? [String])?.count ?? 0
        }
        let before = (try told(), try periods())
        try client.advance(["days": 90])
        #expect(try told() == before.0 && (try periods()) == before.1)
        #expect(try client.get("/inApps/v1/subscriptions/\(id)").errorCode == 4_040_001)
        let path = "/inApps/v1/transactions/appTransactions/\(id)"
        #expect(try client.get(path).errorCode == 4_040_010)
    }

    @Test func `with a pending price increase leaves it behind at an upgrade`() throws {
        let client = try SimulatorClient(
            scenario: """
                customers:
                  - name: anna
                    life:
                      - {at: -20d, buy: video.basic.monthly}
                      - {at: -10d, price_increase: 50}
                      - {at: -5d, upgrade: video.premium.monthly}
                """)
        let statement = try client.statement(try client.id("anna"))
        #expect(statement.renewal["priceIncreaseStatus"] == nil)
        #expect(statement.transaction["price"] as? Int == 14_990)
        #expect(statement.renewal["renewalPrice"] as? Int == 14_990)
        try client.advance(["days": 40])
        #expect(try client.statement(try client.id("anna")).status == 1)
    }

    @Test func `changes at once by a crossgrade of equal duration`() throws {
        let client = try SimulatorClient(
            scenario: """
                customers:
                  - name: anna
                    life:
                      - {at: -20d, buy: storage.large.monthly}
                      - {at: -5d, crossgrade: storage.commitment}
                """)
        let id = try client.id("anna")
        #expect(try names(client, id).last == "DID_CHANGE_RENEWAL_PREF/UPGRADE")
        let now = try client.statement(id).transaction["productId"] as? String
        #expect(now?.hasSuffix("storage.commitment") == true)
    }

    @Test func `with a consumable shows it in the old history until it is finished`() throws {
        let client = try SimulatorClient(
            scenario: """
                customers:
                  - name: shopper
                    life: [{at: -60d, buy: coins.100}]
                  - name: finisher
                    life: [{at: -60d, buy: coins.100}, {at: -59d, finish: true}]
                """)
        let (open, finished) = (try client.id("shopper"), try client.id("finisher"))
        #expect(try client.history(open, version: 1).count == 1)
        #expect(try client.history(finished, version: 1).isEmpty)
        #expect(try client.history(finished, version: 2).count == 1)
    }

    @Test func `with two refunds at one moment is told of both, under different ids`() throws {
        let client = try SimulatorClient(
            scenario: """
                customers:
                  - name: anna
                    life:
                      - {at: -100d, buy: news.monthly}
                      - {at: -3d, refund: 100, period: 0}
                      - {at: -3d, refund: 100, period: 1}
                """)
        let refunds = try client.notifications().filter { $0.name == "REFUND" }
        #expect(refunds.count == 2 && Set(refunds.map(\.uuid)).count == 2)
    }
}
