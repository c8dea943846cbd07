import AppStoreSimulation
import Foundation
import Subscriptions
import Testing

/// Compares the table with the answers, independently of the product, and expects exactly the planted
/// drift.
@Suite struct `A company's table` {
    @Test(arguments: [(1, 0.0), (1, 0.05), (5, 0.2)] as [(UInt64, Double)])
    func `differs from the store exactly where drift was planted`(seed: UInt64, rate: Double)
        throws
    {
        let client = try SimulatorClient(customers: 350, seed: seed, drift: rate)
        let planted = try plantedKinds(client)
        let rows = try client.tableRows()
        let held = Set(rows.compactMap { $0["original_transaction_id"] })
        var found: [String: Set<String>] = [:]
        var lineItems: [String: [String]] = [:]
        for row in rows {
            let id = try #require(row["original_transaction_id"])
            lineItems[row["web_order_line_item_id"] ?? "", default: []].append(id)
            found[id, default: []].formUnion(try differences(of: row, id: id, client, held: held))
            for missing in try missing(id: id, client, rows: rows, held: held) {
                found[missing, default: []].insert("missing_locally")
            }
        }
        for ids in lineItems.values where ids.count > 1 {
            for id in ids { found[id, default: []].insert("duplicate_local") }
        }
        found = found.filter { !$0.value.isEmpty }
        var expected = planted
        for (id, kinds) in planted where kinds.contains("notification_missed") {
            expected[id] = nil
        }
        #expect(found == expected)
        #expect(rate == 0 ? planted.isEmpty : Set(planted.values.flatMap(\.self)).count >= 20)
    }

    /// The simulator names the columns by itself: one that it forgets would be empty in every row,
    /// and filled in by every rehearsal.
    @Test func `has every column that the product knows, and a value for each`() throws {
        let client = try SimulatorClient(customers: 350, seed: 1, drift: 0)
        let rows = try client.tableRows()
        // No App Store knows who pays elsewhere; subscriptions for groups come from scenarios.
        let others = SubscriptionField.optional.union([.paidElsewhereUntil])
        for field in SubscriptionField.allCases where !others.contains(field) {
            #expect(
                rows.contains { !($0[field.rawValue] ?? "").isEmpty }, "\(field.rawValue)")
        }
    }

    @Test func `only the wanted kinds are planted`() throws {
        let client = try SimulatorClient(customers: 350, seed: 2, drift: 0.05) {
            $0.driftKinds = [.accessMissing, .notFound]
        }
        let kinds = try plantedKinds(client).values.flatMap(\.self)
        #expect(Set(kinds) == ["access_missing", "not_found"])
        #expect(kinds.count > 10)
    }

    @Test func `of any later moment is shown by a control call`() throws {
        let client = try SimulatorClient(customers: 200, seed: 4, drift: 0)
        let path = try #require(client.simulator.report.tableFile)
        let atStart = try String(contentsOfFile: path, encoding: .utf8)
        let shown = try client.control("GET", "/_simulator/table").raw
        #expect(String(decoding: shown.body, as: UTF8.self) == atStart)
        _ = try client.control("POST", "/_simulator/advance", ["days": 40])
        let later = try client.control("GET", "/_simulator/table").raw
        let rows = SimulatorClient.rows(of: String(decoding: later.body, as: UTF8.self))
        #expect(rows.count == SimulatorClient.rows(of: atStart).count)
        let changed = zip(rows, SimulatorClient.rows(of: atStart)).filter {
            $0["status"] != $1["status"]
        }
        #expect(!changed.isEmpty)
        for row in rows.prefix(50) {
            let id = try #require(row["original_transaction_id"])
            #expect(
                try differences(
                    of: row, id: id, client,
                    held: Set(rows.compactMap { $0["original_transaction_id"] })
                ).isEmpty)
        }
    }

    /// Written from Apple's signed history, and not from the simulator's list of columns.
    @Test func `one-time purchases of any moment are what the history states`() throws {
        let scenario = """
            customers:
              - name: anna
                life:
                  - {at: -9d, buy: coins.100}
                  - {at: -8d, refund: 100, reason: 1}
              - name: bert
                life:
                  - {at: -7d, buy: themes}
                  - {at: -6d, refund: 40}
                  - {at: -5d, buy: season.pass}
              - name: cora
                life:
                  - {at: -9d, buy: themes}
                  - {at: -8d, refund: 100}
                  - {at: +2d, refund_reversed: true}
                  - {at: +3d, buy: coins.100}
            """
        let client = try SimulatorClient(scenario: scenario, customers: 200)
        let early = try purchases(client)
        _ = try client.control("POST", "/_simulator/advance", ["days": 4])
        let rows = try purchases(client)
        #expect(rows.count > early.count && rows.count > 20)
        #expect(
            Set(rows.compactMap { $0["type"] })
                == ["Consumable", "Non-Consumable", "Non-Renewing Subscription"])
        #expect(early.count { $0["revocation_date"] != "" } > 2)
        #expect(rows.contains { $0["revocation_percentage"] == "40000" })
        let names = [
            "transaction_id": "transactionId", "original_transaction_id": "originalTransactionId",
            "environment": "environment", "bundle_id": "bundleId",
            "app_account_token": "appAccountToken", "product_id": "productId", "type": "type",
            "quantity": "quantity", "revocation_reason": "revocationReason",
            "revocation_percentage": "revocationPercentage", "price": "price",
            "currency": "currency",
        ]
        for row in rows {
            let id = try #require(row["transaction_id"])
            let signed = try #require(
                try client.history(id).first { $0["transactionId"] as? String == id })
            for (column, name) in names {
                #expect(row[column] == text(signed[name]), "\(column) of \(id)")
            }
            for (column, name) in [
                ("purchase_date", "purchaseDate"), ("revocation_date", "revocationDate"),
            ] {
                let date = (signed[name] as? Int).map {
                    Timestamp(unixMilliseconds: Int64($0)).rfc3339
                }
                #expect(row[column] == date ?? "", "\(column) of \(id)")
            }
            #expect(row["customer_id"]?.isEmpty == false && row["signed_date"]?.isEmpty == false)
        }
    }

    /// Held against the exact rows, which the test above holds against Apple's signed history.
    @Test func `differs in its purchases exactly where drift was planted`() throws {
        let client = try SimulatorClient(customers: 600, seed: 6, drift: 0.3)
        let report = client.simulator.report
        let rows = SimulatorClient.rows(
            of: try String(contentsOfFile: #require(report.purchasesFile), encoding: .utf8))
        let file = try #require(report.plantedPurchasesFile)
        let planted = try #require(
            JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: file)))
                as? [[String: Any]])
        func byID(_ rows: [[String: String]]) -> [String: [String: String]] {
            Dictionary(uniqueKeysWithValues: rows.map { ($0["transaction_id"] ?? "", $0) })
        }
        let (held, exact) = (byID(rows), byID(try purchases(client)))
        var differences: [String: String] = [:]
        for id in Set(held.keys).union(exact.keys) where held[id] != exact[id] {
            differences[id] =
                held[id] == nil
                ? "purchase_missing"
                : exact[id] == nil ? "purchase_unknown" : "purchase_refund_missed"
        }
        let list = planted.map {
            ($0["original_transaction_id"] as? String ?? "", $0["kind"] as? String ?? "")
        }
        #expect(differences == Dictionary(uniqueKeysWithValues: list))
        #expect(Set(list.map(\.1)).count == 3 && list.count > 20)
        // At most one mistake for a customer, in the purchases or in the subscriptions.
        let subscriptions = try JSONSerialization.jsonObject(
            with: Data(contentsOf: URL(fileURLWithPath: #require(report.plantedFile))))
        let customers = (planted + (subscriptions as? [[String: Any]] ?? []))
            .filter { $0["kind"] as? String != "duplicate_local" }
            .compactMap { $0["customer_id"] as? String }
        #expect(Set(customers).count == customers.count)
    }

    private func purchases(_ client: SimulatorClient) throws -> [[String: String]] {
        let shown = try client.control("GET", "/_simulator/purchases").raw
        return SimulatorClient.rows(of: String(decoding: shown.body, as: UTF8.self))
    }

    private func plantedKinds(_ client: SimulatorClient) throws -> [String: Set<String>] {
        let path = try #require(client.simulator.report.plantedFile)
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        let list = try #require(JSONSerialization.jsonObject(with: data) as? [[String: Any]])
        var planted: [String: Set<String>] = [:]
        for entry in list {
            let id = try #require(entry["original_transaction_id"] as? String)
            #expect(planted[id] == nil)
            planted[id] = Set(try #require(entry["kinds"] as? [String]))
            if entry["kind"] as? String == "notification_missed" {
                #expect(entry["notification_uuid"] != nil)
            }
        }
        return planted
    }

    private func missing(
        id: String, _ client: SimulatorClient, rows: [[String: String]], held: Set<String>
    ) throws -> [String] {
        guard let statements = try? client.statements(id), statements[id] != nil else { return [] }
        return statements.keys.filter { !held.contains($0) }
    }

    private func differences(
        of row: [String: String], id: String, _ client: SimulatorClient, held: Set<String>
    ) throws -> Set<String> {
        let answer = try client.get("/inApps/v1/subscriptions/\(id)")
        if answer.errorCode == 4_040_010 { return ["not_found"] }
        if answer.errorCode == 4_040_001 { return ["account_not_found"] }
        guard let apple = try client.statements(id)[id] else { return ["invalid_id"] }
        var kinds: Set<String> = []
        if row["bundle_id"] != client.simulator.report.app.bundleID { kinds.insert("wrong_app") }
        if let kind = statusKind(ours: row["status"] ?? "", apple: apple, row: row) {
            kinds.insert(kind)
        }
        func compare(_ column: String, _ value: Any?, _ kind: String) {
            if (row[column] ?? "") != text(value) { kinds.insert(kind) }
        }
        func compareDate(_ column: String, _ value: Int64?, _ kind: String) {
            let text = value.map { Timestamp(unixMilliseconds: $0).rfc3339 } ?? ""
            if (row[column] ?? "") != text { kinds.insert(kind) }
        }
        compareDate("expires_date", apple.date("expiresDate"), "expiry")
        compare("product_id", apple.transaction["productId"], "product")
        compare("auto_renew_status", apple.renewal["autoRenewStatus"], "renewal_preference")
        compare("auto_renew_product_id", apple.renewal["autoRenewProductId"], "renewal_preference")
        compare("in_app_ownership_type", apple.transaction["inAppOwnershipType"], "ownership")
        compare("latest_transaction_id", apple.transaction["transactionId"], "latest_transaction")
        compare("app_account_token", apple.transaction["appAccountToken"], "identity")
        if apple.status == 5, row["status"] == "5" {
            compareDate("revocation_date", apple.date("revocationDate"), "revocation_date")
        }
        return kinds
    }

    private func statusKind(ours: String, apple: Statement, row: [String: String]) -> String? {
        let grace = apple.date("gracePeriodExpiresDate").map {
            Timestamp(unixMilliseconds: $0).rfc3339
        }
        switch (ours, apple.status) {
        case ("5", 1), ("5", 4): return "refund_reversal_missed"
        case ("4", 4): return row["grace_period_expires_date"] == grace ? nil : "grace_missed"
        case (_, 4): return "grace_missed"
        case ("1", 5), ("4", 5): return "revocation_missed"
        case ("2", 1), ("3", 1): return "access_missing"
        case ("1", 2), ("1", 3), ("4", 2), ("4", 3): return "access_unpaid"
        default: return ours == String(apple.status) ? nil : "status"
        }
    }

    private func text(_ value: Any?) -> String {
        if let value = value as? String { return value }
        return (value as? Int).map(String.init) ?? ""
    }
}
