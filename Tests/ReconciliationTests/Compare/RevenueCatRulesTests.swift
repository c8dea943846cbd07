import Reconciliation
import Subscriptions
import Testing

/// Each kind of difference between a line of RevenueCat's and what Apple signed, as a table.
@Suite struct `A line of RevenueCat's` {
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var change: @Sendable (inout RevenueCatLine, inout AppleTransaction) -> Void
        var expected: [CompareKind: Direction]

        init(
            _ description: String, _ expected: [CompareKind: Direction],
            _ change: @escaping @Sendable (inout RevenueCatLine, inout AppleTransaction) -> Void
        ) {
            testDescription = description
            self.expected = expected
            self.change = change
        }
    }

    private static let start = at("2026-11-01T08:27:06Z")
    private static let end = at("2026-12-01T08:27:06Z")
    private static let day: Int64 = Milliseconds.perDay

    private static func at(_ text: String) -> Timestamp {
        Timestamp(rfc3339: text) ?? Timestamp(unixMilliseconds: 0)
    }

    private static var line: RevenueCatLine {
        var line = RevenueCatLine(originalTransactionID: "1", transactionID: "2")
        line.productID = "pro.monthly"
        line.startTime = start
        line.endTime = end
        line.effectiveEndTime = end
        line.isSandbox = false
        line.ownership = "PURCHASED"
        line.price = 9990
        line.currency = "USD"
        line.entitlements = "pro"
        return line
    }

    private static var apple: AppleTransaction {
        var apple = AppleTransaction(environment: "Production")
        apple.productID = "pro.monthly"
        apple.purchaseDate = start
        apple.expiresDate = end
        apple.ownership = "PURCHASED"
        apple.price = 9990
        apple.currency = "USD"
        apple.entitlements = "pro"
        apple.current = .init(status: .active, renews: true)
        return apple
    }

    private static let product: [Case] = [
        Case("agrees", [:]) { _, _ in },
        Case("names another product", [.revenueCatProduct: .neutral]) { line, _ in
            line.productID = "pro.yearly"
        },
        Case("names no product", [.revenueCatProduct: .neutral]) { line, _ in
            line.productID = nil
        },
    ]

    private static let period: [Case] = [
        Case("has times without parts of a second", [:]) { _, apple in
            apple.purchaseDate = start.adding(milliseconds: 999)
            apple.expiresDate = end.adding(milliseconds: 1)
        },
        Case("begins a second later", [.revenueCatPeriod: .neutral]) { line, _ in
            line.startTime = start.adding(milliseconds: 1000)
        },
        Case("ends later", [.revenueCatPeriod: .companyLoses]) { line, _ in
            line.endTime = end.adding(milliseconds: day)
        },
        Case("ends earlier", [.revenueCatPeriod: .customerLoses]) { line, _ in
            line.endTime = end.adding(milliseconds: -day)
        },
        Case("ends an earlier period elsewhere", [.revenueCatPeriod: .neutral]) { line, apple in
            apple.current = nil
            line.endTime = end.adding(milliseconds: -day)
        },
    ]

    private static let grace: [Case] = [
        Case("lacks the grace period", [.revenueCatGrace: .customerLoses]) { line, apple in
            apple.current = .init(
                status: .billingGracePeriod,
                gracePeriodExpiresDate: end.adding(milliseconds: 6 * day), renews: true)
            line.billingIssuesDetectedAt = end
        },
        Case("grants a grace period", [.revenueCatGrace: .companyLoses]) { line, _ in
            line.gracePeriodEndTime = end.adding(milliseconds: 6 * day)
        },
        Case("ends the grace period earlier", [.revenueCatGrace: .customerLoses]) { line, apple in
            let grace = end.adding(milliseconds: 6 * day)
            apple.current = .init(
                status: .billingGracePeriod, gracePeriodExpiresDate: grace, renews: true)
            line.billingIssuesDetectedAt = end
            line.gracePeriodEndTime = grace.adding(milliseconds: -day)
        },
        Case("kept the end of a grace period without a payment", [:]) { line, apple in
            let grace = end.adding(milliseconds: 6 * day)
            apple.current = .init(
                status: .expired, gracePeriodExpiresDate: grace, renews: false)
            line.billingIssuesDetectedAt = end
            line.gracePeriodEndTime = grace
            line.effectiveEndTime = grace
        },
    ]

    private static let billing: [Case] = [
        Case("does not know of the retry", [.revenueCatBillingIssue: .neutral]) { _, apple in
            apple.current?.status = .billingRetry
        },
        Case("still has a billing issue", [.revenueCatBillingIssue: .neutral]) { line, _ in
            line.billingIssuesDetectedAt = start
        },
        Case("has the billing issue that ended the subscription", [:]) { line, apple in
            apple.current = .init(status: .expired, renews: false)
            line.billingIssuesDetectedAt = end
        },
    ]

    private static let access: [Case] = [
        Case("ends access within a day", [:]) { line, _ in
            line.effectiveEndTime = end.adding(milliseconds: day)
        },
        Case("ends access later than a day", [.revenueCatAccessEnd: .companyLoses]) { line, _ in
            line.effectiveEndTime = end.adding(milliseconds: day + 1)
        },
        Case("ends access too early", [.revenueCatAccessEnd: .customerLoses]) { line, _ in
            line.effectiveEndTime = start
        },
        Case("ends access at the refund", [:]) { line, apple in
            apple.revocationDate = start.adding(milliseconds: 5 * day)
            apple.current?.status = .revoked
            line.refundedAt = start.adding(milliseconds: 5 * day + 7)
            line.effectiveEndTime = start.adding(milliseconds: 5 * day + 7)
        },
    ]

    private static let refund: [Case] = [
        Case("misses the refund", [.revenueCatRefund: .companyLoses]) { _, apple in
            apple.revocationDate = start.adding(milliseconds: day)
            apple.current?.status = .revoked
        },
        Case("shows a refund", [.revenueCatRefund: .customerLoses]) { line, _ in
            line.refundedAt = start
            line.effectiveEndTime = start
        },
        Case("detected the refund of an earlier period later", [:]) { line, apple in
            apple.current = nil
            apple.revocationDate = start
            line.refundedAt = end
        },
    ]

    private static let renewal: [Case] = [
        Case("does not know of the cancellation", [.revenueCatRenewal: .neutral]) { _, apple in
            apple.current?.renews = false
        },
        Case("shows a cancellation", [.revenueCatRenewal: .neutral]) { line, _ in
            line.unsubscribeDetectedAt = start
        },
        Case("is not asked about renewal after the end", [:]) { _, apple in
            apple.current = .init(status: .expired, renews: false)
        },
    ]

    private static let rest: [Case] = [
        Case("calls it family shared", [.revenueCatOwnership: .neutral]) { line, _ in
            line.ownership = "FAMILY_SHARED"
        },
        Case("shows a sandbox purchase as real", [.revenueCatEnvironment: .companyLoses]) {
            _, apple in apple.environment = "Sandbox"
        },
        Case("shows a real purchase as sandbox", [.revenueCatEnvironment: .customerLoses]) {
            line, _ in line.isSandbox = true
        },
        Case("states another price", [.revenueCatPrice: .neutral]) { line, _ in
            line.price = 9980
        },
        Case("states another currency", [.revenueCatPrice: .neutral]) { line, _ in
            line.currency = "EUR"
        },
        Case("states no price", [:]) { line, _ in line.price = nil },
        Case("states a price of a family member", [:]) { line, apple in
            line.ownership = "FAMILY_SHARED"
            apple.ownership = "FAMILY_SHARED"
            apple.price = nil
        },
        Case("gives more entitlements", [.revenueCatEntitlement: .companyLoses]) { line, _ in
            line.entitlements = "extra,pro"
        },
        Case("gives no entitlement", [.revenueCatEntitlement: .customerLoses]) { line, _ in
            line.entitlements = nil
        },
        Case("gives entitlements without a catalogue", [:]) { line, apple in
            apple.entitlements = nil
            line.entitlements = "extra"
        },
    ]

    static let cases: [Case] =
        product + period + grace + billing + access + refund + renewal + rest

    @Test(arguments: cases) func `differs by exactly these kinds`(_ example: Case) {
        var line = Self.line
        var apple = Self.apple
        example.change(&line, &apple)
        let found = RevenueCatRule.differences(of: line, from: apple)
        #expect(
            Dictionary(found.map { ($0.kind, $0.direction) }) { first, _ in first }
                == example.expected, "\(found)")
    }

    @Test func `has a case for every rule, and every rule a sentence for each direction`() {
        let covered = Set(Self.cases.flatMap(\.expected.keys))
        #expect(covered == Set(RevenueCatRule.all.map(\.kind)))
        for kind in CompareKind.allCases where kind.rawValue.hasPrefix("revenuecat_") {
            for direction in Direction.allCases {
                let count = CompareCount(
                    kind: kind, direction: direction, differences: 1_234, customers: 1)
                let sentence = RevenueCatSentence.of(count)
                #expect(sentence.hasPrefix("1 customer (1,234 lines): "))
                #expect(sentence.hasSuffix("."))
            }
        }
    }
}
