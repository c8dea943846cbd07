import AppStoreSimulation
import Foundation
import Testing

/// Lists of customers, and the unsigned truth of one, beside what the API answers.
@Suite struct `The list of customers` {
    struct Listed {
        let customer: String
        let purchase: String
    }

    private func listed(
        _ client: SimulatorClient, _ query: String
    ) throws -> (rows: [Listed], total: Int, next: String?) {
        let answer = try client.control(
            "GET", "/_simulator/customers?environment=Production&limit=10000&" + query)
        let customers = try #require(answer.json["customers"] as? [[String: Any]], "\(answer.json)")
        let rows = try customers.flatMap { customer in
            try (customer["purchases"] as? [[String: Any]] ?? []).map {
                Listed(
                    customer: try #require(customer["app_transaction_id"] as? String),
                    purchase: try #require($0["original_transaction_id"] as? String))
            }
        }
        let total = try #require(answer.json["total"] as? Int)
        return (rows, total, answer.json["next"] as? String)
    }

    @Test func `by status agrees with the API, and leaves nobody out`() throws {
        let client = try SimulatorClient(customers: 150)
        var found = 0
        for status in 1...5 {
            for row in try listed(client, "status=\(status)").rows {
                #expect(try client.statement(row.purchase).status == status)
                found += 1
            }
        }
        let health = try client.control("GET", "/_simulator/health").json
        let purchases = (health["production"] as? [String: Any])?["purchases"] as? Int
        #expect(purchases == found + (try listed(client, "life=one_time").rows.count))
    }

    @Test func `by product agrees with the API`() throws {
        let client = try SimulatorClient(customers: 100)
        let rows = try listed(client, "product=news.yearly").rows
        #expect(!rows.isEmpty)
        for row in rows {
            let statement = try client.statement(row.purchase)
            #expect(statement.transaction["productId"] as? String == "com.example.app.news.yearly")
        }
        let full = try listed(client, "product=com.example.app.news.yearly").rows
        #expect(full.map(\.purchase) == rows.map(\.purchase))
    }

    /// A life, and how Apple's fields show it.
    private static let lives:
        [(life: String, shows: @Sendable (Statement, [[String: Any]]) -> Bool)] = [
            (
                "trial",
                { now, _ in now.transaction["offerDiscountType"] as? String == "FREE_TRIAL" }
            ),
            (
                "cancelled",
                { now, _ in
                    now.renewal["autoRenewStatus"] as? Int == 0
                        || now.transaction["commitmentInfo"] != nil
                }
            ),
            ("grace", { now, _ in now.renewal["gracePeriodExpiresDate"] != nil }),
            ("billing_retry", { now, _ in now.renewal["isInBillingRetryPeriod"] as? Bool == true }),
            ("expired_voluntary", { now, _ in now.renewal["expirationIntent"] as? Int == 1 }),
            ("expired_billing_retry", { now, _ in now.renewal["expirationIntent"] as? Int == 2 }),
            ("expired_price_increase", { now, _ in now.renewal["expirationIntent"] as? Int == 3 }),
            (
                "refunded",
                { _, all in all.contains { $0["revocationType"] as? String == "REFUND_FULL" } }
            ),
            (
                "refund_prorated",
                { _, all in all.contains { $0["revocationType"] as? String == "REFUND_PRORATED" } }
            ),
            ("upgraded", { _, all in all.contains { $0["isUpgraded"] as? Bool == true } }),
            (
                "changing",
                { now, _ in
                    now.renewal["autoRenewProductId"] as? String
                        != now.transaction["productId"] as? String
                        || now.transaction["commitmentInfo"] != nil
                }
            ),
            ("price_increase", { now, _ in now.renewal["priceIncreaseStatus"] != nil }),
            (
                "family_member",
                { now, _ in now.transaction["inAppOwnershipType"] as? String == "FAMILY_SHARED" }
            ),
            ("commitment", { now, _ in now.transaction["commitmentInfo"] != nil }),
        ]

    @Test func `by life agrees with the API`() throws {
        let client = try SimulatorClient(customers: 600)
        for (life, shows) in Self.lives {
            let rows = try listed(client, "life=\(life)").rows
            #expect(!rows.isEmpty, "\(life)")
            for row in rows.prefix(20) {
                let history = try client.history(row.purchase).filter {
                    $0["originalTransactionId"] as? String == row.purchase
                }
                #expect(shows(try client.statement(row.purchase), history), "\(life) \(row)")
            }
        }
    }

    @Test func `by life knows what was told`() throws {
        let client = try SimulatorClient(customers: 600)
        for (life, name) in [
            ("recovered", "DID_RENEW/BILLING_RECOVERY"), ("resubscribed", "SUBSCRIBED/RESUBSCRIBE"),
            ("refund_reversed", "REFUND_REVERSED"),
        ] {
            let rows = try listed(client, "life=\(life)").rows
            #expect(!rows.isEmpty, "\(life)")
            for row in rows.prefix(5) {
                let told = try client.notifications(of: row.purchase).filter {
                    $0.transaction["originalTransactionId"] as? String == row.purchase
                }
                #expect(told.contains { $0.name == name }, "\(life) \(row)")
            }
        }
    }

    @Test func `comes in pages that together are the whole`() throws {
        let client = try SimulatorClient(customers: 40)
        func page(_ query: String) throws -> [String: Any] {
            try client.control("GET", "/_simulator/customers?" + query).json
        }
        func ids(_ page: [String: Any]) -> [String] {
            (page["customers"] as? [[String: Any]] ?? []).compactMap {
                $0["app_transaction_id"] as? String
            }
        }
        let whole = try page("limit=10000&life=expired_voluntary")
        var found: [String] = []
        var after = ""
        for _ in 0..<200 {
            let part = try page("limit=3&life=expired_voluntary" + after)
            #expect(part["total"] as? Int == whole["total"] as? Int)
            found += ids(part)
            guard let next = part["next"] as? String else { break }
            after = "&after=\(next)"
        }
        #expect(found == ids(whole) && found.count == whole["total"] as? Int && found.count > 3)
    }

    @Test(arguments: [
        ("status=6", "status"), ("product=nothing", "nothing"), ("life=happy", "happy"),
        ("colour=red", "colour"), ("limit=0", "limit"), ("environment=Xcode", "Xcode"),
        ("after=12", "12"), ("status=1&status=2", "twice"),
    ])
    func `refuses what it does not know`(query: String, name: String) throws {
        let client = try SimulatorClient(customers: 2)
        let answer = try client.control("GET", "/_simulator/customers?" + query)
        #expect(answer.status == 400)
        #expect((answer.json["error"] as? String)?.contains(name) == true)
    }

    @Test func `shows the truth of one customer, whatever faults are in force`() throws {
        let client = try SimulatorClient(customers: 30)
        let id = "420001000000000"
        let history = try client.history(id)
        let statements = try client.statements(id)
        _ = try client.control(
            "POST", "/_simulator/faults",
            ["faults": [["fault": "everything_expired"]]])
        let truth = try client.control("GET", "/_simulator/customers/\(id)").json
        let purchases = try #require(truth["purchases"] as? [[String: Any]])
        var told: Set<String> = []
        for purchase in purchases {
            let original = try #require(purchase["original_transaction_id"] as? String)
            #expect(purchase["status"] as? Int == statements[original]?.status)
            if let renewal = purchase["renewal_info"] as? [String: Any] {
                #expect(
                    try SimulatorClient.text(renewal)
                        == SimulatorClient.text(try #require(statements[original]).renewal))
            }
            for entry in purchase["notifications"] as? [[String: Any]] ?? [] {
                told.insert(try #require(entry["uuid"] as? String))
            }
        }
        let transactions = purchases.flatMap { $0["transactions"] as? [[String: Any]] ?? [] }
        #expect(
            try transactions.map(SimulatorClient.text).sorted()
                == history.map(SimulatorClient.text).sorted())
        #expect(try told == Set(client.notifications(of: id).map(\.uuid)))
    }
}
