import Reconciliation
import Subscriptions
import TestSupport
import Testing

/// What holds for every row and every answer, tried with random ones.
@Suite struct `Properties of a judgement` {
    @Test(arguments: [1, 20_261_120, 0xBAD_5EED] as [UInt64])
    func `a corrected row agrees with the same answer, and is not touched again`(
        seed: UInt64
    ) throws {
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        var corrected = 0
        for round in 0..<400 {
            let stated = Self.statement(Sample.id, using: &generator)
            let row = Self.row(beside: stated, using: &generator)
            let first = try outcome(row, beside: stated)
            #expect(first.hasAllEvidence, "seed \(seed), round \(round)")
            guard Self.isFullyCorrected(first) else { continue }
            corrected += 1
            let policy = Sample.policy { $0.settleMilliseconds = 0 }
            let second = try outcome(row.applying(first.corrections), beside: stated, policy)
            #expect(second.verdict == .match, "seed \(seed), round \(round)")
            #expect(second.corrections.isEmpty, "seed \(seed), round \(round)")
        }
        #expect(corrected > 100)
    }

    @Test(arguments: [2, 77, 0xFEED] as [UInt64])
    func `the order of the answer changes nothing`(seed: UInt64) {
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        for round in 0..<200 {
            let stated = (0..<Int.random(in: 1...5, using: &generator)).map {
                Self.statement("200000000000010\($0)", using: &generator)
            }
            let rows = stated.filter { _ in Bool.random(using: &generator) }.map {
                Self.row(beside: $0, using: &generator)
            }
            let asked = Self.row(beside: stated[0], using: &generator)
            let held = rows.filter { $0.key != asked.key }
            let first = Sample.item(asked, stated, held: held)
            let second = Sample.item(
                asked, stated.shuffled(using: &generator), held: held.shuffled(using: &generator))
            let policy = Sample.policy()
            #expect(
                outcomes(of: first, policy: policy) == outcomes(of: second, policy: policy),
                "seed \(seed), round \(round)")
        }
    }

    @Test(arguments: [3, 4_040_010] as [UInt64])
    func `undecided and excluded rows, and rows signed later, are never written`(
        seed: UInt64
    ) {
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        for round in 0..<400 {
            let stated = Self.statement(Sample.id, using: &generator)
            var row = Self.row(beside: stated, using: &generator)
            row.signedDate = Sample.now(
                minutes: Int64.random(in: -2000...2000, using: &generator))
            for outcome in outcomes(of: Sample.item(row, [stated]), policy: Sample.policy()) {
                let isJudged = outcome.verdict == .match || outcome.verdict == .discrepancy
                #expect(isJudged || outcome.corrections.isEmpty, "seed \(seed), round \(round)")
                // A date more than a day ahead of the clock counts as none.
                let isOlder =
                    row.signedDate.map {
                        $0 <= stated.signedDate || $0 > Sample.now(days: 1)
                    } ?? true
                #expect(isOlder || outcome.corrections.isEmpty, "seed \(seed), round \(round)")
            }
        }
    }

    @Test(arguments: [5, 1_000_003] as [UInt64])
    func `no two findings of an outcome share kind and field`(seed: UInt64) {
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        for round in 0..<400 {
            let stated = Self.statement(Sample.id, using: &generator)
            let row = Self.row(beside: stated, using: &generator)
            for outcome in outcomes(of: Sample.item(row, [stated]), policy: Sample.policy()) {
                let names = outcome.findings.map { "\($0.kind) \($0.field ?? "")" }
                #expect(Set(names).count == names.count, "seed \(seed), round \(round)")
            }
        }
    }

    private static func isFullyCorrected(_ outcome: RowOutcome) -> Bool {
        outcome.verdict == .discrepancy && outcome.findings.allSatisfy { $0.action == .planned }
            || outcome.verdict == .match && !outcome.corrections.isEmpty
    }

    private static func statement(
        _ id: String, using generator: inout SeededGenerator
    ) -> StatedSubscription {
        let status = SubscriptionStatus(rawValue: Int.random(in: 1...6, using: &generator))
        return Sample.stated(id, status) {
            if Int.random(in: 0..<6, using: &generator) == 0 { $0.transaction.price = nil }
            if Int.random(in: 0..<6, using: &generator) == 0 {
                $0.transaction.webOrderLineItemID = nil
            }
            if Int.random(in: 0..<6, using: &generator) == 0 { $0.renewal.autoRenewStatus = nil }
            if Int.random(in: 0..<6, using: &generator) == 0 {
                $0.renewal.gracePeriodExpiresDate = nil
            }
            if Int.random(in: 0..<6, using: &generator) == 0 {
                $0.transaction.inAppOwnershipType = "FAMILY_SHARED"
            }
            if Int.random(in: 0..<6, using: &generator) == 0 {
                $0.transaction.appAccountToken = nil
            }
        }
    }

    private static func row(
        beside stated: StatedSubscription, using generator: inout SeededGenerator
    ) -> LocalSubscription {
        Sample.row(of: stated) { row in
            for field in SubscriptionField.allCases
            where Int.random(in: 0..<3, using: &generator) == 0 {
                drift(&row, field, isEmpty: Bool.random(using: &generator), using: &generator)
            }
        }
    }

    private static func drift(
        _ row: inout LocalSubscription, _ field: SubscriptionField, isEmpty: Bool,
        using generator: inout SeededGenerator
    ) {
        let days = Int64.random(in: -40...40, using: &generator)
        let time = isEmpty ? nil : Sample.now(days: days)
        switch field {
        case .status: row.status = isEmpty ? nil : Int.random(in: 1...5, using: &generator)
        case .productID: row.productID = isEmpty ? nil : "silver.monthly"
        case .expiresDate: row.expiresDate = time
        case .gracePeriodExpiresDate: row.gracePeriodExpiresDate = time
        case .autoRenewStatus: row.autoRenewStatus = isEmpty ? nil : 0
        case .autoRenewProductID: row.autoRenewProductID = isEmpty ? nil : "silver.monthly"
        case .revocationDate: row.revocationDate = time
        case .inAppOwnershipType: row.inAppOwnershipType = isEmpty ? nil : "PURCHASED"
        case .latestTransactionID: row.latestTransactionID = isEmpty ? nil : "1"
        case .webOrderLineItemID: row.webOrderLineItemID = isEmpty ? nil : "2"
        case .appAccountToken where isEmpty: row.appAccountToken = nil
        case .signedDate where isEmpty: row.signedDate = nil
        default: break
        }
    }
}
