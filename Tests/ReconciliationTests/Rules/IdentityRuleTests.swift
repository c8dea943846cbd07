import Reconciliation
import Subscriptions
import Testing

@Suite struct `The identity rule` {
    private let otherToken = "00000000-0000-4000-8000-000000000001"

    @Test func `reports another account's token and writes nothing of the row`() throws {
        let stated = Sample.stated()
        let row = Sample.row(of: stated) {
            $0.appAccountToken = otherToken
            $0.expiresDate = Sample.now(days: 3)
        }
        let outcome = try outcome(row, beside: stated)
        #expect(outcome.verdict == .discrepancy)
        #expect(outcome.kinds == [.expiry, .identity])
        #expect(try outcome.finding(.identity).severity == .critical)
        #expect(outcome.findings.allSatisfy { $0.action == .none })
        #expect(outcome.corrections.isEmpty)
    }

    @Test func `forbids even the first fill`() throws {
        var row = LocalSubscription(key: Sample.row().key)
        row.appAccountToken = otherToken
        let outcome = try outcome(row, beside: Sample.stated())
        #expect(outcome.kinds == [.identity])
        #expect(outcome.corrections.isEmpty)
    }

    @Test func `compares tokens without regard to case`() throws {
        let row = Sample.row { $0.appAccountToken = Sample.token.uppercased() }
        #expect(try outcome(row, beside: Sample.stated()).verdict == .match)
    }

    @Test func `takes an absent token for no contradiction`() throws {
        let silent = Sample.stated { $0.transaction.appAccountToken = nil }
        #expect(try outcome(Sample.row(), beside: silent).verdict == .match)
        let row = Sample.row { $0.appAccountToken = nil }
        #expect(try outcome(row, beside: Sample.stated()).verdict == .match)
    }

    @Test func `inserts no sibling on the word of a doubtful customer`() throws {
        let row = Sample.row { $0.appAccountToken = otherToken }
        let sibling = Sample.stated("3000000000000100") {
            $0.subscriptionGroupID = "second"
            $0.transaction.subscriptionGroupID = "second"
        }
        let item = Sample.item(row, [Sample.stated(), sibling])
        let outcome = try outcome(item, of: "3000000000000100")
        #expect(outcome.kinds == [.missingLocally])
        #expect(outcome.corrections.isEmpty)
    }
}
