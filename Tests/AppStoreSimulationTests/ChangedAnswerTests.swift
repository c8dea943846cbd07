import AppStoreSimulation
import Crypto
import Foundation
import Subscriptions
import SwiftASN1
import Testing
import X509

/// Faults that change the content of answers, as a client sees them.
@Suite struct `A changed answer` {
    private static let id = "420001000000000"
    private static let statuses = "/inApps/v1/subscriptions/\(id)"
    private static let scenario = """
        customers:
          - name: weekly
            life: [{at: -200d, buy: news.weekly}]
        """

    private func client(_ plan: String) throws -> SimulatorClient {
        try SimulatorClient(customers: 30) { $0.faults = plan }
    }

    private func weekly(_ plan: String = "faults: []") throws -> (SimulatorClient, String) {
        let client = try SimulatorClient(customers: 0) { settings in
            settings.scenario = Self.scenario
            settings.faults = plan
        }
        let customers = try client.control("GET", "/_simulator/customers").json["customers"]
        let purchases = (customers as? [[String: Any]])?.first?["purchases"] as? [[String: Any]]
        return (client, try #require(purchases?.first?["original_transaction_id"] as? String))
    }

    /// Whether the signature is that of the leaf in the header.
    private func isSigned(_ jws: String) throws -> Bool {
        let parts = jws.components(separatedBy: ".")
        let header = try #require(SimulatorClient.data(base64URL: parts[0]))
        let json = try #require(JSONSerialization.jsonObject(with: header) as? [String: Any])
        let leaf = try #require(
            (json["x5c"] as? [String])?.first.flatMap { Data(base64Encoded: $0) })
        let certificate = try Certificate(derEncoded: Array(leaf))
        let key = try #require(P256.Signing.PublicKey(certificate.publicKey))
        let signature = try #require(SimulatorClient.data(base64URL: parts[2]))
        return key.isValidSignature(
            try P256.Signing.ECDSASignature(rawRepresentation: signature),
            for: Data("\(parts[0]).\(parts[1])".utf8))
    }

    private func firstEntry(_ client: SimulatorClient) throws -> [String: Any] {
        let data = try client.get(Self.statuses).json["data"] as? [[String: Any]]
        return try #require((data?.first?["lastTransactions"] as? [[String: Any]])?.first)
    }

    @Test func `has unsigned members set and left out`() throws {
        let client = try client(
            """
            faults:
              - {fault: change, set: {environment: Sandbox, "data.lastTransactions.status": 4, newMember: [1, true]}, drop: [bundleId]}
            """)
        let answer = try client.get(Self.statuses).json
        #expect(answer["environment"] as? String == "Sandbox")
        #expect(answer["bundleId"] == nil && answer["appAppleId"] != nil)
        #expect((answer["newMember"] as? [Any])?.count == 2)
        #expect(try firstEntry(client)["status"] as? Int == 4)
    }

    @Test func `has signed members set and left out under a right signature`() throws {
        let client = try client(
            """
            faults:
              - fault: change
                set:
                  data.lastTransactions.signedTransactionInfo.price: 7
                  data.lastTransactions.signedTransactionInfo.transactionId: "42"
                  data.lastTransactions.signedRenewalInfo.renewalDate: {seconds_from_now: 3600}
                drop: ["**.expiresDate"]
            """)
        let entry = try firstEntry(client)
        let jws = try #require(entry["signedTransactionInfo"] as? String)
        #expect(try isSigned(jws))
        let transaction = try SimulatorClient.payload(jws)
        #expect(transaction["price"] as? Int == 7)
        #expect(transaction["transactionId"] as? String == "42")
        #expect(transaction["expiresDate"] == nil && transaction["productId"] != nil)
        let renewal = try SimulatorClient.payload(
            try #require(entry["signedRenewalInfo"] as? String))
        let now = try #require(Timestamp(rfc3339: "2026-11-20T03:00:00Z")).unixMilliseconds
        #expect(renewal["renewalDate"] as? Int64 == now + 3_600_000)
    }

    @Test func `reaches what is signed inside of a notification`() throws {
        let (client, id) = try weekly(
            "faults: [{fault: change, set: {\"**.signedTransactionInfo.price\": 9}}]")
        let now = try #require(Timestamp(rfc3339: "2026-11-20T03:00:00Z")).unixMilliseconds
        let page = try client.post(
            "/inApps/v1/notifications/history",
            ["startDate": now - 170 * 86_400_000, "endDate": now, "transactionId": id])
        let records = try #require(page.json["notificationHistory"] as? [[String: Any]])
        let outer = try #require(records.first?["signedPayload"] as? String)
        #expect(try isSigned(outer))
        let data = try SimulatorClient.payload(outer)["data"] as? [String: Any]
        let inner = try #require(data?["signedTransactionInfo"] as? String)
        #expect(try isSigned(inner))
        #expect(try SimulatorClient.payload(inner)["price"] as? Int == 9)
    }

    @Test func `has lists in another order, doubled, or in small pages`() throws {
        func pages(_ plan: String) throws -> [[String]] {
            let (client, id) = try weekly(plan)
            var pages: [[String]] = []
            var revision: String?
            repeat {
                let query = revision.map { "?revision=\($0)" } ?? ""
                let answer = try client.get("/inApps/v2/history/\(id)\(query)")
                let jws = try #require(answer.json["signedTransactions"] as? [String])
                pages.append(
                    try jws.compactMap {
                        try SimulatorClient.payload($0)["transactionId"] as? String
                    })
                revision =
                    answer.json["hasMore"] as? Bool == true
                    ? answer.json["revision"] as? String : nil
            } while revision != nil
            return pages
        }
        let right = try pages("faults: []")
        #expect(right.first?.count == 20)
        let reversed = try pages("faults: [{fault: list_order, order: reversed}]")
        #expect(reversed.first == right.first?.reversed())
        let doubled = try pages("faults: [{fault: list_order, order: doubled}]")
        #expect(doubled.first?.count == 40)
        let small = try pages("faults: [{fault: page_size, size: 3}]")
        #expect(small.allSatisfy { $0.count <= 3 })
        #expect(small.flatMap(\.self) == right.flatMap(\.self))
    }

    @Test func `lists notifications late or never`() throws {
        let now = try #require(Timestamp(rfc3339: "2026-11-20T03:00:00Z")).unixMilliseconds
        func dates(_ plan: String) throws -> [Int64] {
            let (client, id) = try weekly(plan)
            let page = try client.post(
                "/inApps/v1/notifications/history",
                ["startDate": now - 100 * 86_400_000, "endDate": now, "transactionId": id])
            let records = try #require(page.json["notificationHistory"] as? [[String: Any]])
            return try records.compactMap { record in
                let jws = try #require(record["signedPayload"] as? String)
                return try SimulatorClient.payload(jws)["signedDate"] as? Int64
            }
        }
        let right = try dates("faults: []")
        let late = try dates("faults: [{fault: late_notifications, seconds: 2592000}]")
        #expect(late == right.filter { $0 <= now - 2_592_000_000 } && late.count < right.count)
        #expect(try dates("faults: [{fault: lost_notifications}]").isEmpty)
        let some = try dates("faults: [{fault: lost_notifications, portion: 0.5}]")
        #expect(Set(some).isSubset(of: right) && !some.isEmpty && some.count < right.count)
    }

    @Test func `refuses page tokens as expired, and nothing else`() throws {
        let (client, id) = try weekly("faults: [{fault: expired_token}]")
        let first = try client.get("/inApps/v2/history/\(id)")
        let revision = try #require(first.json["revision"] as? String)
        let second = try client.get("/inApps/v2/history/\(id)?revision=\(revision)")
        #expect(second.errorCode == 4_000_005)
        let page = try client.post(
            "/inApps/v1/notifications/history?paginationToken=abc", ["startDate": 1])
        #expect(page.errorCode == 4_000_017)
    }

    @Test func `says that the quota is used up until one moment`() async throws {
        let client = try client("faults: [{fault: quota_used_up, wait_seconds: 1}]")
        let answers = try (0..<2).map { _ in try client.get(Self.statuses) }
        #expect(answers.allSatisfy { $0.status == 429 && $0.errorCode == 4_290_000 })
        let moments = answers.map { answer in
            answer.raw.headers.first { $0.name == "Retry-After" }.flatMap { Int64($0.value) }
        }
        let moment = try #require(moments[0])
        #expect(moments[1] == moment)
        while Int64(Date().timeIntervalSince1970 * 1000) < moment {
            try await Task.sleep(for: .milliseconds(50))
        }
        #expect(try client.get(Self.statuses).status == 200)
    }

    @Test func `leaves what others have not used of a limit`() throws {
        let client = try client("limits: {statuses: 10, used: 0.8}")
        let statuses = try (0..<3).map { _ in try client.get(Self.statuses).status }
        #expect(statuses == [200, 200, 429])
    }

    @Test func `suffers several rules at once where they combine`() throws {
        let client = try client(
            """
            faults:
              - {fault: other_bundle, combine: true}
              - {fault: unknown_status, combine: true}
              - {fault: change, set: {appAppleId: 5}}
              - {fault: empty_data}
            """)
        let statement = try #require(try client.statements(Self.id)[Self.id])
        #expect(statement.status == 6)
        #expect(statement.transaction["bundleId"] as? String == "com.example.other")
        #expect(try client.get(Self.statuses).json["appAppleId"] as? Int == 5)
    }

    @Test func `concerns requests that match a regular expression`() throws {
        let client = try client(
            """
            faults:
              - {fault: status, status: 503, matches: "^GET /inApps/v2/history/[0-9]+\\\\?.*sort=DESC"}
              - {fault: status, status: 502, body_matches: '"onlyFailures" *: *true'}
            """)
        #expect(try client.get("/inApps/v2/history/\(Self.id)?sort=DESCENDING").status == 503)
        #expect(try client.get("/inApps/v2/history/\(Self.id)?sort=ASCENDING").status == 200)
        let history = "/inApps/v1/notifications/history"
        #expect(try client.post(history, ["onlyFailures": true]).status == 502)
        #expect(try client.post(history, ["onlyFailures": false]).status == 400)
    }

    @Test(arguments: [
        "{fault: html, matches: \"(\"}", "{fault: change}", "{fault: change, set: {\"a..b\": 1}}",
        "{fault: page_size}", "{fault: as_of}", "{fault: broken_jws}",
        "{fault: broken_jws, form: bent}",
        "{fault: list_order, order: odd}", "{fault: tls_expired, ids: [\"1\"]}",
        "{fault: connection_refused, count: 1}", "{fault: gzip, form: zip}",
        "{fault: rst_stream, form: maybe}", "{fault: html, share: 7}",
        "{fault: lost_notifications, portion: 2}",
    ])
    func `is not asked for in words that mean nothing`(rule: String) {
        #expect(throws: SimulatorError.self) { try client("faults: [\(rule)]") }
    }

    @Test func `shows the state of some time ago under a fresh signature`() throws {
        let (right, id) = try weekly()
        let (late, _) = try weekly("faults: [{fault: as_of, seconds: 864000}]")
        let now = try #require(Timestamp(rfc3339: "2026-11-20T03:00:00Z")).unixMilliseconds
        let present = try #require(try right.statements(id)[id])
        let past = try #require(try late.statements(id)[id])
        #expect(past.transaction["signedDate"] as? Int64 == now)
        let bought = try #require(past.date("purchaseDate"))
        #expect(bought <= now - 864_000_000)
        #expect(try bought < #require(present.date("purchaseDate")))
        #expect(past.status == 1)
    }

    @Test func `breaks one JWS and leaves the others right`() throws {
        let client = try client(
            "faults: [{fault: broken_jws, form: signature_zero, in: [signedRenewalInfo]}]")
        let entry = try firstEntry(client)
        #expect(try isSigned(try #require(entry["signedTransactionInfo"] as? String)))
        let renewal = try #require(entry["signedRenewalInfo"] as? String)
        #expect((try? isSigned(renewal)) != true)
    }
}
