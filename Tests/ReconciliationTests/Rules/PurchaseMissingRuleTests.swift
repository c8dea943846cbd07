import Reconciliation
import Subscriptions
import Testing

@Suite struct `The purchase missing rule` {
    private let other = Purchased.stored(Purchased.signed("9"))

    @Test func `reports a purchase that is not stored, and inserts it for the customer`() throws {
        let missing = Purchased.signed("7")
        let outcomes = Purchased.outcomes(of: Purchased.item([missing], stored: [other]))
        let outcome = try #require(outcomes.first)
        #expect(outcomes.count == 1)
        #expect(outcome.key.originalTransactionID == "7")
        // It is no row of the table of subscriptions.
        #expect(outcome.verdict == nil && outcome.examined == .periods)
        #expect(outcome.kinds == [.purchaseMissing])
        let finding = outcome.findings[0]
        #expect(finding.severity == .high && finding.action == .planned)
        #expect(finding.field == "7" && finding.customerID == "customer 1")
        #expect(finding.amount == 990 && finding.direction == .customerLoses)
        let correction = try #require(outcome.corrections.first)
        #expect(
            correction.target
                == .insertPeriod(Purchased.stored(missing).key, of: outcome.key))
        #expect(correction.table == "purchases" && correction.evidenceRenewal == nil)
        #expect(correction.kinds == [.purchaseMissing])
        #expect(correction.rules.map(\.rule.name) == ["PurchaseMissingRule"])
        #expect(correction.changes.after["customer_id"] == .text("customer 1"))
        #expect(correction.changes.after["quantity"] == .integer(3))
        #expect(correction.changes.after["original_transaction_id"] == .text("7"))
        #expect(outcome.hasAllEvidence)
    }

    @Test func `is less severe once it is refunded`() throws {
        let outcome = try #require(
            Purchased.outcomes(
                of: Purchased.item([Purchased.refunded("7")], stored: [other])
            ).first)
        #expect(outcome.findings[0].severity == .medium)
        #expect(outcome.findings[0].direction == .neutral)
        #expect(outcome.corrections[0].changes.after["revocation_reason"] == .integer(1))
    }

    @Test func `asks for nothing where no purchases of the app are stored`() {
        #expect(
            Purchased.outcomes(of: Purchased.item([Purchased.signed("7")], stored: nil)).isEmpty)
    }

    @Test func `finds nothing in a purchase that is stored, or in a period`() throws {
        let stored = Purchased.signed("7")
        let item = Purchased.item([stored], stored: [Purchased.stored(stored)])
        let outcomes = Purchased.outcomes(of: item)
        #expect(outcomes.map(\.key.originalTransactionID) == ["7"])
        #expect(outcomes[0].findings.isEmpty && outcomes[0].corrections.isEmpty)
        #expect(outcomes[0].examined == .periods)
    }

    /// Whose the purchase is must not be in doubt.
    @Test func `is not inserted for another customer's token, or beside a row in doubt`() throws {
        let foreign = Purchased.signed("7") {
            $0.appAccountToken = "00000000-0000-0000-0000-000000000001"
        }
        let outcome = try #require(
            Purchased.outcomes(of: Purchased.item([foreign], stored: [other])).first)
        #expect(outcome.kinds == [.purchaseMissing] && outcome.corrections.isEmpty)
        #expect(outcome.findings[0].action == .refused)
        #expect(outcome.findings[0].cause?.contains("another customer") == true)
        let disputed = Sample.row {
            $0.appAccountToken = "00000000-0000-0000-0000-000000000002"
        }
        let item = Purchased.item(
            [Purchased.signed("7") { $0.appAccountToken = nil }], stored: [other], row: disputed)
        let beside = try #require(Purchased.outcomes(of: item).first)
        #expect(beside.corrections.isEmpty && beside.findings[0].action == .refused)
    }

    @Test func `is only reported where no stored row says whose it is`() {
        let signed = Purchased.signed("7") { $0.signedDate = Sample.now(days: -1) }
        let outcome = Reconciliation.outcome(
            ofPurchase: signed, stored: nil, app: Sample.app, policy: Sample.policy())
        #expect(outcome.kinds == [.purchaseMissing] && outcome.corrections.isEmpty)
        #expect(outcome.findings[0].action == .refused)
        #expect(outcome.findings[0].cause == "no stored row says whose purchase it is")
    }

    @Test func `waits for a purchase that is younger than settle`() throws {
        let young = Purchased.signed("7") { $0.purchaseDate = Sample.now(minutes: -5) }
        let outcome = try #require(
            Purchased.outcomes(of: Purchased.item([young], stored: [other])).first)
        #expect(outcome.findings.isEmpty && outcome.examined == .nothing)
    }

    /// The next run asks about a purchase whose correction could not be written, by its own id.
    @Test func `checks an id without a row by what Apple signed of that transaction`() throws {
        let policy = Sample.policy { $0.keepsPurchases = true }
        var item = Case(app: Sample.app, askedID: "7", asked: nil)
        item.statuses = .answered(StatusAnswer(subscriptions: [Sample.stated()]))
        #expect(judge(item, policy: policy) == .needs(.transactionInfo))
        #expect(judge(item, policy: Sample.policy()) != .needs(.transactionInfo))
        item.transactionInfo = .answered(Purchased.refunded("7"))
        item.purchases = ["7": Purchased.stored(Purchased.signed("7"))]
        guard case .outcomes(let outcomes) = judge(item, policy: policy) else {
            Issue.record("nothing else is to be asked")
            return
        }
        let outcome = try #require(outcomes.first { $0.key.originalTransactionID == "7" })
        #expect(outcome.kinds == [.purchaseRefundMissed] && outcome.corrections.count == 1)
    }

    @Test func `is left out by a run that is filtered to other kinds`() {
        let policy = Sample.policy { $0.onlyKinds = [.expiry] }
        let outcomes = Purchased.outcomes(
            of: Purchased.item([Purchased.signed("7")], stored: [other]), policy)
        #expect(outcomes.allSatisfy { $0.findings.isEmpty && $0.corrections.isEmpty })
    }

    @Test func `says nothing by a history that could not be read`() {
        var item = Purchased.item([Purchased.signed("7")], stored: [other])
        item.history = .incomplete("a page is missing")
        #expect(Purchased.outcomes(of: item).isEmpty)
    }
}
