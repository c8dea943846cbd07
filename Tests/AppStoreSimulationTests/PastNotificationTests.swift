import AppStoreSimulation
import Foundation
import Testing

/// A notification shows the state at the time of sending; later events do not change it.
@Suite struct `A notification of the past` {
    private func only(
        _ name: String, _ client: SimulatorClient, _ id: String
    ) throws -> ReadNotification {
        try #require(try client.notifications(of: id).first { $0.name == name }, "\(name)")
    }

    @Test func `keeps its refund though the refund was reversed`() throws {
        let client = try SimulatorClient(
            scenario: """
                customers:
                  - name: anna
                    life:
                      - {at: -20d, buy: news.monthly}
                      - {at: -15d, refund: 40, reason: 1}
                      - {at: -4d, refund_reversed: true}
                """)
        let id = try client.id("anna")
        let refund = try only("REFUND", client, id)
        #expect(refund.transaction["revocationType"] as? String == "REFUND_PRORATED")
        #expect(refund.transaction["revocationPercentage"] as? Int == 40_000)
        #expect(refund.transaction["revocationReason"] as? Int == 1)
        #expect(refund.transaction["revocationDate"] as? Int64 == refund.signedDate)
        let reversal = try only("REFUND_REVERSED", client, id)
        for name in ["Date", "Type", "Percentage", "Reason"] {
            #expect(reversal.transaction["revocation\(name)"] == nil)
        }
    }

    @Test func `keeps a full refund though a second one was prorated`() throws {
        let client = try SimulatorClient(
            scenario: """
                customers:
                  - name: anna
                    life:
                      - {at: -20d, buy: news.monthly}
                      - {at: -15d, refund: 100}
                      - {at: -10d, refund: 30}
                """)
        let refunds = try client.notifications(of: try client.id("anna")).filter {
            $0.name == "REFUND"
        }
        #expect(
            refunds.map { $0.transaction["revocationType"] as? String } == [
                "REFUND_FULL", "REFUND_PRORATED",
            ])
        #expect(refunds.first?.transaction["revocationPercentage"] == nil)
        #expect(
            refunds.map { $0.transaction["revocationDate"] as? Int64 } == refunds.map(\.signedDate))
    }

    @Test func `keeps the end that a period had before it was extended or upgraded`() throws {
        let client = try SimulatorClient(
            scenario: """
                customers:
                  - name: anna
                    life:
                      - {at: -20d, buy: news.monthly}
                      - {at: -10d, extend: 14}
                  - name: bert
                    life:
                      - {at: -20d, buy: video.basic.monthly}
                      - {at: -10d, upgrade: video.premium.monthly}
                """)
        let anna = try client.id("anna")
        let bought = try only("SUBSCRIBED/INITIAL_BUY", client, anna)
        let extended = try only("RENEWAL_EXTENDED", client, anna)
        let before = try #require(bought.transaction["expiresDate"] as? Int64)
        #expect(bought.renewal["renewalDate"] as? Int64 == before)
        #expect(
            extended.transaction["expiresDate"] as? Int64 == before + 14 * SimulatorClient.day)
        let first = try only("SUBSCRIBED/INITIAL_BUY", client, try client.id("bert"))
        #expect(first.transaction["isUpgraded"] == nil)
    }

    @Test func `names no start of a streak that lies after it`() throws {
        let client = try SimulatorClient(
            scenario: """
                customers:
                  - name: anna
                    life:
                      - {at: -170d, buy: news.monthly}
                      - {at: -160d, cancel: true}
                      - {at: -10d, resubscribe: news.monthly}
                """)
        let expired = try only("EXPIRED/VOLUNTARY", client, try client.id("anna"))
        let start = try #require(expired.renewal["recentSubscriptionStartDate"] as? Int64)
        #expect(start < expired.signedDate)
    }

    @Test(arguments: [5, 402] as [UInt64])
    func `says the same whenever it is read`(seed: UInt64) throws {
        let client = try SimulatorClient(
            scenario: """
                population:
                  customers: 16
                  rates:
                    {refund: 0.15, refund_reversal: 0.8, refund_of_earlier_period: 0.1,
                     upgrade: 0.1, renewal_extension: 0.1, cancel: 0.15, resubscription: 0.9,
                     family_sharing: 0.3, price_increase: 0.05}
                """, seed: seed)
        var random = RandomSteps(seed: seed)
        var stated: [String: String] = [:]
        for _ in 0..<4 {
            for notification in try client.notifications() {
                let text = try notification.text()
                #expect(
                    stated[notification.uuid] ?? text == text, "seed \(seed), \(notification.name)")
                stated[notification.uuid] = text
            }
            try client.advance(["seconds": Int.random(in: 1...2_000_000, using: &random)])
        }
        #expect(stated.count > 50)
    }

    @Test func `states nothing that lies after it`() throws {
        let client = try SimulatorClient(customers: 60)
        for notification in try client.notifications() {
            let dates = [
                notification.transaction["purchaseDate"],
                notification.transaction["originalPurchaseDate"],
                notification.transaction["revocationDate"],
                notification.renewal["recentSubscriptionStartDate"],
            ].compactMap { $0 as? Int64 }
            #expect(
                dates.allSatisfy { $0 <= notification.signedDate },
                "\(notification.name)")
        }
    }
}
