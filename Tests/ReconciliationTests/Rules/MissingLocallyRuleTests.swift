import Reconciliation
import Subscriptions
import Testing

@Suite struct `The missing locally rule` {
    private func sibling(_ status: SubscriptionStatus) -> StatedSubscription {
        Sample.stated("3000", status) {
            $0.transaction.subscriptionGroupID = "second"
        }
    }

    @Test(arguments: [
        (SubscriptionStatus.active, Severity.critical), (.billingGracePeriod, .critical),
        (.expired, .high), (.billingRetry, .high), (.revoked, .high),
    ])
    func `reports and inserts a subscription that we do not hold`(
        status: SubscriptionStatus, severity: Severity
    ) throws {
        let stated = sibling(status)
        let item = Sample.item(Sample.row(), [stated, Sample.stated()])
        #expect(try outcome(item).verdict == .match)
        let outcome = try outcome(item, of: "3000")
        #expect(outcome.verdict == nil)
        #expect(outcome.kinds == [.missingLocally])
        let finding = outcome.findings[0]
        #expect(finding.severity == severity)
        #expect(finding.customerID == "customer 1")
        #expect(finding.productID == "gold.monthly")
        #expect(finding.amount == 10_990)
        #expect(finding.action == .planned)
        let key = SubscriptionKey(app: Sample.app, originalTransactionID: "3000")
        #expect(outcome.corrections.map(\.target) == [.insert(key)])
        #expect(outcome.corrections[0].kinds == [.missingLocally])
        #expect(outcome.absence == .present)
        #expect(outcome.hasAllEvidence)
    }

    @Test func `inserts every column that Apple states, with the asked row's customer`() throws {
        let stated = sibling(.active)
        let item = Sample.item(Sample.row(), [Sample.stated(), stated])
        let outcome = try outcome(item, of: "3000")
        #expect(
            try outcome.changes() == [
                "original_transaction_id": "3000", "environment": "Production",
                "bundle_id": "com.example.app", "customer_id": "customer 1",
                "app_account_token": Sample.token,
                "product_id": "gold.monthly", "status": "1",
                "expires_date": Sample.now(days: 20).rfc3339, "auto_renew_status": "1",
                "auto_renew_product_id": "gold.monthly", "in_app_ownership_type": "PURCHASED",
                "latest_transaction_id": "30007", "web_order_line_item_id": "30008",
                "signed_date": stated.signedDate.rfc3339,
            ])
        #expect(outcome.corrections[0].changes.before.values.allSatisfy { $0 == .null })
    }

    /// A table of the company's own holds no periods, so the database could take none of them.
    @Test(arguments: [true, false])
    func `plans periods of the inserted row only where they are kept`(areKept: Bool) throws {
        let stated = sibling(.active)
        let policy = Sample.policy {
            $0.history = .always
            $0.kept.hasPeriods = areKept
            $0.keepsPurchases = true
        }
        let item = Sample.item(Sample.row(), [Sample.stated(), stated]) {
            $0.history = .complete([Sample.stated().transaction, stated.transaction])
        }
        let outcome = try outcome(item, policy, of: "3000")
        #expect(outcome.corrections.first?.kinds == [.missingLocally])
        #expect(outcome.corrections.contains { $0.table == "transactions" } == areKept)
    }

    @Test func `inserts nothing from an answer that does not contain the asked id`() throws {
        let item = Sample.item(Sample.row(), [sibling(.active)]) {
            $0.transactionInfo = .transactionNotFound
        }
        let outcomes = outcomes(of: item, policy: Sample.policy())
        #expect(outcomes.map(\.verdict) == [.undecided(.idNotInAnswer)])
        #expect(outcomes[0].findings.isEmpty)
    }

    @Test func `takes a row of another environment for held`() {
        let held = Sample.row(of: sibling(.active), app: Sample.sandbox)
        let item = Sample.item(Sample.row(), [Sample.stated(), sibling(.active)], held: [held])
        let kinds = outcomes(of: item, policy: Sample.policy()).flatMap(\.kinds)
        #expect(kinds == [.wrongEnvironment])
    }

    @Test func `takes in what a notification named, for the customer that the others agree on`()
        throws
    {
        var item = Case(app: Sample.app, askedID: "3000", asked: nil)
        item.statuses = .answered(
            StatusAnswer(subscriptions: [sibling(.active), Sample.stated()]))
        #expect(try outcome(item).findings[0].customerID == nil)
        item.held = [ScopedRow(row: Sample.row())]
        let outcome = try outcome(item)
        #expect(outcome.kinds == [.missingLocally])
        #expect(outcome.findings[0].customerID == "customer 1")
        #expect(
            outcome.corrections[0].changes.ofSubscription[.customerID]?.after == .text("customer 1")
        )
    }

    @Test func `settles nothing when a notification's id is not in the answer`() {
        var item = Case(app: Sample.app, askedID: "9", asked: nil)
        item.statuses = .answered(StatusAnswer(subscriptions: [Sample.stated()]))
        item.held = [ScopedRow(row: Sample.row())]
        #expect(nextQuestion(for: item, policy: Sample.policy()) == nil)
        #expect(outcomes(of: item, policy: Sample.policy()).isEmpty)
    }

    @Test func `writes report-only columns into a new row`() throws {
        let policy = Sample.policy { $0.reportOnlyFields.insert("product_id") }
        let item = Sample.item(Sample.row(), [Sample.stated(), sibling(.active)])
        let outcome = try outcome(item, policy, of: "3000")
        #expect(try outcome.changes()["product_id"] == "gold.monthly")
    }
}
