import Reconciliation
import Subscriptions
import Testing

@Suite struct `The unknown product rule` {
    private func outcome(
        _ stated: StatedSubscription = Sample.stated(), listing products: [String]?,
        _ change: (inout LocalSubscription) -> Void = { _ in }
    ) throws -> RowOutcome {
        let row = Sample.row(of: stated, change)
        let policy = Sample.policy { policy in
            policy.catalogue = products.map { names in
                ProductCatalogue(
                    products: Dictionary(
                        uniqueKeysWithValues: names.map { ($0, CatalogueProduct(grants: ["pro"])) })
                )
            }
        }
        return try ReconciliationTests.outcome(row, beside: stated, policy)
    }

    @Test func `reports a signed product that the catalogue lacks, and the row still matches`()
        throws
    {
        let outcome = try outcome(listing: ["gold.yearly"])
        #expect(outcome.verdict == .match)
        #expect(outcome.kinds == [.unknownProduct])
        let finding = try outcome.finding(.unknownProduct)
        #expect(finding.severity == .medium)
        #expect(finding.field == "product_id")
        #expect(finding.localValue == .text("gold.monthly"))
        #expect(finding.appleValue == .text("gold.monthly"))
        #expect(finding.action == .none)
        #expect(outcome.corrections.isEmpty)
        #expect(outcome.hasAllEvidence)
    }

    @Test func `is silent where the product is listed, or there is no catalogue`() throws {
        #expect(try outcome(listing: ["gold.monthly"]).kinds.isEmpty)
        #expect(try outcome(listing: nil).kinds.isEmpty)
    }

    @Test func `reports the product that a subscription renews into`() throws {
        let stated = Sample.stated { $0.renewal.autoRenewProductID = "gold.weekly" }
        let finding = try outcome(stated, listing: ["gold.monthly"]).finding(.unknownProduct)
        #expect(finding.field == "auto_renew_product_id")
        #expect(finding.appleValue == .text("gold.weekly"))
        let ending = Sample.stated {
            $0.renewal.autoRenewProductID = "gold.weekly"
            $0.renewal.autoRenewStatus = 0
        }
        #expect(try outcome(ending, listing: ["gold.monthly"]).kinds.isEmpty)
    }

    /// Apple's product counts, which the row then gets.
    @Test func `stands beside the correction of a row with another product`() throws {
        let outcome = try outcome(listing: ["gold.yearly"]) { $0.productID = "gold.yearly" }
        #expect(outcome.verdict == .discrepancy)
        #expect(outcome.kinds == [.product, .unknownProduct])
        #expect(outcome.corrections.count == 1)
    }

    @Test func `looks at a row that is filled for the first time`() throws {
        let outcome = try outcome(listing: []) { $0 = LocalSubscription(key: $0.key) }
        #expect(outcome.kinds == [.unknownProduct])
        #expect(outcome.corrections.count == 1)
    }
}
