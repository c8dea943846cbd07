import AppStoreSimulation
import Foundation
import Testing

/// The world at a moment is the same, whether the clock came there in one step or in many.
@Suite struct `A world whose clock is stepped` {
    private static let populations = [
        "{customers: 14}",
        """
        {customers: 12, rates: {cancel: 0.4, reenable: 0.7, price_increase: 0.2, refund: 0.1,
         refund_declined: 0.1, late_delivery: 0.2, lost_delivery: 0.1, family_sharing: 0.3,
         billing_failure: 0.3, family_leaves: 0.1}}
        """,
        """
        {customers: 12, rates: {group_purchase: 0.8, seats_added: 0.4, seats_removed: 0.2,
         seats_refunded: 0.2, refund: 0.2, refund_reversal: 0.8, cancel: 0.1, billing_failure: 0.2}}
        """,
    ]

    private static func scenario(_ population: String) -> String {
        """
        customers:
          - name: anna
            life:
              - {at: -20d, buy: news.monthly}
              - {at: +3d, cancel: true}
              - {at: +4d, reenable: true}
              - {at: +12d, refund: 50, deliver: late}
              - {at: +13d, refund_reversed: true, deliver: unsent}
              - {at: +40d, refund_declined: true}
          - name: bert
            life:
              - {at: -8d, buy: video.premium.monthly}
              - {at: +5d, share_with: carla}
              - {at: +20d, billing_fails: true}
              - {at: +50d, billing_recovers: true}
          - name: carla
          - name: dora
            life: [{at: -50d, buy: storage.commitment}, {at: +1d, cancel: true}, {at: +35d, delete_account: true}]
        population: \(population)
        """
    }

    /// Everything that clients can read, except signatures.
    private func everything(_ client: SimulatorClient) throws -> [String] {
        var lines: [String] = []
        for environment in SimulatedEnvironment.allCases {
            lines += try client.notifications(environment: environment).map { try $0.text() }
            let base: UInt64 =
                environment == .production ? 420_001_000_000_000 : 2_000_000_100_000_000
            for chain in 0..<30 {
                let id = String(base + UInt64(chain) * 4096)
                let path = "/inApps/v1/subscriptions/\(id)"
                let answer = try client.get(path, environment: environment)
                guard answer.status == 200 else {
                    lines.append("\(id) \(answer.errorCode ?? 0)")
                    continue
                }
                lines += try statements(answer)
                lines += try client.history(id, environment: environment).map(SimulatorClient.text)
            }
        }
        return lines
    }

    private func statements(_ answer: Answer) throws -> [String] {
        let groups = answer.json["data"] as? [[String: Any]] ?? []
        return try groups.flatMap { $0["lastTransactions"] as? [[String: Any]] ?? [] }.map {
            var entry = $0
            for name in ["signedTransactionInfo", "signedRenewalInfo"] {
                entry[name] = try SimulatorClient.payload(try #require(entry[name] as? String))
            }
            return try SimulatorClient.text(entry)
        }
    }

    @Test(arguments: [3, 1009] as [UInt64], populations)
    func `shows the same bytes at the same time`(seed: UInt64, population: String) throws {
        let text = Self.scenario(population)
        let stepped = try SimulatorClient(scenario: text, seed: seed)
        let start = try stepped.now()
        var random = RandomSteps(seed: seed)
        for days in [45] as [Int64] {
            let end = start + days * SimulatorClient.day
            let atOnce = try SimulatorClient(scenario: text, seed: seed)
            try atOnce.advance(["seconds": Double(end - start) / 1000])
            var now = try stepped.now()
            while now < end {
                let longest = Bool.random(using: &random) ? 40_000_000 : 400_000_000
                let step = min(end - now, Int64.random(in: 1...Int64(longest), using: &random))
                try stepped.advance(["seconds": Double(step) / 1000])
                now = try stepped.now()
                if Int.random(in: 0..<40, using: &random) == 0 { _ = try everything(stepped) }
            }
            let (left, right) = (try everything(atOnce), try everything(stepped))
            let difference = left.difference(from: right)
            #expect(
                difference.isEmpty,
                "seed \(seed), \(days) days: \(difference.prefix(4))")
            #expect(left.count > 60)
        }
    }

    @Test func `tells as much in sixty days as in one step of sixty`() throws {
        let many = Self.populations[1].replacingOccurrences(
            of: "customers: 12", with: "customers: 60")
        let population = "population: \(many)"
        let daily = try SimulatorClient(scenario: population)
        let atOnce = try SimulatorClient(scenario: population)
        for _ in 0..<60 { try daily.advance(["days": 1]) }
        try atOnce.advance(["days": 60])
        func counts(_ client: SimulatorClient) throws -> [String: Int] {
            try client.notifications().reduce(into: [:]) { $0[$1.name, default: 0] += 1 }
        }
        let counts = (try counts(daily), try counts(atOnce))
        #expect(counts.0 == counts.1)
        #expect(counts.0["DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED"] ?? 0 > 0)
        #expect(counts.0["PRICE_INCREASE/ACCEPTED"] ?? 0 > 0)
    }
}
