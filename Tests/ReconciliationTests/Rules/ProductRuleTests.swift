import Reconciliation
import Subscriptions
import Testing

@Suite struct `The product rule` {
    @Test func `reports a missed upgrade as product and expiry`() throws {
        let stated = Sample.stated { $0.transaction.productID = "platinum.yearly" }
        let row = Sample.row(of: stated) {
            $0.productID = "gold.monthly"
            $0.expiresDate = Sample.now(days: 3)
            $0.latestTransactionID = "1"
            $0.webOrderLineItemID = "2"
        }
        let outcome = try outcome(row, beside: stated)
        #expect(outcome.kinds == [.expiry, .product])
        #expect(try outcome.finding(.product).severity == .high)
        #expect(outcome.corrections.count == 1)
        #expect(outcome.corrections[0].kinds == [.expiry, .product])
        #expect(try outcome.changes()["product_id"] == "platinum.yearly")
    }

    @Test func `says nothing of a product that is not known yet`() throws {
        let stated = Sample.stated()
        let row = Sample.row(of: stated) { $0.productID = nil }
        let outcome = try outcome(row, beside: stated)
        #expect(outcome.verdict == .match)
        #expect(outcome.findings.isEmpty)
    }

    @Test func `does not take the next period's product for the current one`() throws {
        let stated = Sample.stated { $0.renewal.autoRenewProductID = "silver.monthly" }
        let outcome = try outcome(Sample.row(), beside: stated)
        #expect(outcome.kinds == [.renewalPreference])
    }
}
