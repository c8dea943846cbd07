import Reconciliation
import Subscriptions
import Testing

@Suite struct `The foreign token veto` {
    private let other = "11111111-2222-4333-8444-555555555555"

    private func sibling(_ token: String?) -> StatedSubscription {
        Sample.stated("3000") {
            $0.transaction.subscriptionGroupID = "second"
            $0.transaction.appAccountToken = token
        }
    }

    private func outcome(_ token: String?, row: LocalSubscription) throws -> RowOutcome {
        try ReconciliationTests.outcome(
            Sample.item(row, [Sample.stated(), sibling(token)]), of: "3000")
    }

    @Test func `a subscription whose token names another account is reported, not inserted`()
        throws
    {
        let outcome = try outcome(other, row: Sample.row())
        #expect(outcome.corrections.isEmpty)
        let finding = try outcome.finding(.missingLocally)
        #expect(finding.severity == .critical)
        #expect(finding.action == .refused)
        #expect(
            finding.cause
                == "the signed account token names another account than the customer's rows"
        )
    }

    @Test func `also where only Apple names the asked row's token`() throws {
        let row = Sample.row { $0.appAccountToken = nil }
        #expect(try outcome(other, row: row).corrections.isEmpty)
    }

    @Test func `the same token, in capitals too, and none at all are inserted`() throws {
        for token in [Sample.token, Sample.token.uppercased(), nil] {
            #expect(try outcome(token, row: Sample.row()).corrections.count == 1)
        }
    }

    @Test func `a token that another row of the account has is the customer's`() throws {
        let second = Sample.stated("4000") {
            $0.transaction.subscriptionGroupID = "third"
            $0.transaction.appAccountToken = other
        }
        let item = Sample.item(
            Sample.row(), [Sample.stated(), second, sibling(other)], held: [Sample.row(of: second)])
        #expect(try ReconciliationTests.outcome(item, of: "3000").corrections.count == 1)
    }
}
