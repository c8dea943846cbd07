import AppStoreSimulation
import Foundation
import Testing

@Suite struct `Transaction history` {
    /// An id whose account has more than one page.
    private func longID(_ client: SimulatorClient) throws -> String {
        for row in try client.tableRows() {
            let id = try #require(row["original_transaction_id"])
            if try client.get("/inApps/v2/history/\(id)").json["hasMore"] as? Bool == true {
                return id
            }
        }
        throw CocoaError(.featureUnsupported)
    }

    private func pages(
        _ client: SimulatorClient, _ id: String, _ query: String = ""
    ) throws -> (payloads: [[String: Any]], revision: String, pageSizes: [Int]) {
        var payloads: [[String: Any]] = []
        var sizes: [Int] = []
        var revision = ""
        while true {
            let next = revision.isEmpty ? query : "\(query)&revision=\(revision)"
            let answer = try client.get("/inApps/v2/history/\(id)?\(next)")
            let page = try #require(answer.json["signedTransactions"] as? [String])
            sizes.append(page.count)
            payloads += try page.map(SimulatorClient.payload)
            revision = try #require(answer.json["revision"] as? String)
            if answer.json["hasMore"] as? Bool == false { return (payloads, revision, sizes) }
        }
    }

    @Test func `comes in pages of twenty, each transaction once, and back to front when asked`()
        throws
    {
        let client = try SimulatorClient(customers: 300, drift: 0)
        let id = try longID(client)
        let ascending = try pages(client, id)
        #expect(ascending.pageSizes.dropLast().allSatisfy { $0 == 20 })
        let ids = ascending.payloads.compactMap { $0["transactionId"] as? String }
        #expect(Set(ids).count == ids.count && ids.count > 20)
        let descending = try pages(client, id, "sort=DESCENDING")
        #expect(descending.payloads.compactMap { $0["transactionId"] as? String } == ids.reversed())
    }

    @Test func `continues from the last revision with nothing while nothing is new`() throws {
        let client = try SimulatorClient(customers: 300, drift: 0)
        let id = try longID(client)
        let all = try pages(client, id)
        let answer = try client.get("/inApps/v2/history/\(id)?revision=\(all.revision)")
        #expect(answer.json["signedTransactions"] as? [String] == [])
        #expect(answer.json["hasMore"] as? Bool == false)
        #expect(answer.json["revision"] as? String == all.revision)
    }

    @Test func `refuses a revision of another question`() throws {
        let client = try SimulatorClient(customers: 300, drift: 0)
        let id = try longID(client)
        let all = try pages(client, id)
        for query in ["sort=DESCENDING&revision=\(all.revision)", "revision=abc", "revision="] {
            #expect(try client.get("/inApps/v2/history/\(id)?\(query)").errorCode == 4_000_005)
        }
    }

    @Test func `keeps what the filters ask for`() throws {
        let client = try SimulatorClient(customers: 300, drift: 0)
        let id = try longID(client)
        let all = try pages(client, id).payloads
        let middle = try #require(all[all.count / 2]["purchaseDate"] as? Int64)
        let early = try pages(client, id, "endDate=\(middle)").payloads
        let late = try pages(client, id, "startDate=\(middle)").payloads
        #expect(early.count + late.count == all.count && !early.isEmpty && !late.isEmpty)
        let product = try #require(all[0]["productId"] as? String)
        let only = try pages(client, id, "productId=\(product)").payloads
        #expect(only.allSatisfy { $0["productId"] as? String == product } && !only.isEmpty)
        let revoked = try pages(client, id, "revoked=true").payloads
        let standing = try pages(client, id, "revoked=False").payloads
        #expect(revoked.count + standing.count == all.count)
        #expect(revoked.allSatisfy { $0["revocationDate"] != nil })
    }

    @Test(arguments: [
        ("startDate=x", 4_000_015), ("endDate=-1", 4_000_016), ("startDate=5&endDate=5", 4_000_013),
        ("productType=SUBSCRIPTION", 4_000_022), ("productId=", 4_000_023), ("sort=UP", 4_000_021),
        ("subscriptionGroupIdentifier=", 4_000_024), ("excludeRevoked=1", 4_000_025),
        ("inAppOwnershipType=MINE", 4_000_026), ("revoked=maybe", 4_000_030),
    ])
    func `refuses what Apple refuses`(query: String, code: Int) throws {
        let client = try SimulatorClient(customers: 5)
        let answer = try client.get("/inApps/v2/history/420001000000000?\(query)")
        #expect(answer.errorCode == code && answer.status == 400)
    }

    @Test func `of refunds has a version without pages`() throws {
        let client = try SimulatorClient(
            scenario: """
                customers:
                  - name: anna
                    life:
                      - {at: -400d, buy: news.weekly}
                      - {at: -3d, refund: 100, period: 4}
                      - {at: -2d, refund: 40, period: 2}
                      - {at: -1d, refund: 100, period: 3}
                """)
        let id = try client.id("anna")
        let answer = try client.get("/inApps/v1/refund/lookup/\(id)")
        #expect(answer.status == 200 && Array(answer.json.keys) == ["signedTransactions"])
        let refunds = try #require(answer.json["signedTransactions"] as? [String]).map {
            try SimulatorClient.payload($0)
        }
        let dates = refunds.compactMap { $0["revocationDate"] as? Int64 }
        #expect(dates.count == 3 && dates == dates.sorted())
        #expect(try client.get("/inApps/v1/refund/lookup/12x").errorCode == 4_000_008)
        #expect(try client.get("/inApps/v1/refund/lookup/77").errorCode == 4_040_005)
    }

    @Test func `knows malformed ids from unknown ones`() throws {
        let client = try SimulatorClient(customers: 5)
        for (id, code) in [
            ("abc", 4_000_006), ("12.5", 4_000_006), ("99", 4_040_010),
            ("999999999999999999999999", 4_000_006), ("2000000100000000", 4_040_010),
        ] {
            #expect(try client.get("/inApps/v2/history/\(id)").errorCode == code, "\(id)")
            #expect(try client.get("/inApps/v1/subscriptions/\(id)").errorCode == code, "\(id)")
        }
        let bad = try client.get("/inApps/v1/subscriptions/420001000000000?status=6")
        #expect(bad.errorCode == 4_000_031)
    }
}
