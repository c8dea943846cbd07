import Reconciliation
import Subscriptions
import Testing

@Suite struct `The disputed customer veto` {
    private let missing = Sample.stated("3000") { $0.transaction.subscriptionGroupID = "second" }
    private let second = Sample.stated("4000") { $0.transaction.subscriptionGroupID = "third" }

    private func finding(
        asked: Bool = true, _ change: (inout LocalSubscription) -> Void
    ) throws -> (Finding, [PlannedCorrection]) {
        var item = Sample.item(
            Sample.row(), [Sample.stated(), missing, second],
            held: [Sample.row(of: second, change)])
        if !asked {
            item.held.append(ScopedRow(row: Sample.row()))
            item.asked = nil
            item.askedID = "3000"
        }
        let outcome = try outcome(item, of: "3000")
        return (try outcome.finding(.missingLocally), outcome.corrections)
    }

    @Test(arguments: [true, false])
    func `rows of one account that name different customers stop its inserts`(
        asked: Bool
    ) throws {
        let (finding, corrections) = try finding(asked: asked) { $0.customerID = "customer 2" }
        #expect(corrections.isEmpty)
        #expect(finding.action == .refused)
        #expect(finding.cause == "rows of this account name different customers")
    }

    @Test(arguments: [true, false])
    func `so does a row with another account's token`(asked: Bool) throws {
        let (finding, corrections) = try finding(asked: asked) {
            $0.appAccountToken = "00000000-0000-4000-8000-000000000001"
        }
        #expect(corrections.isEmpty)
        #expect(finding.action == .refused)
        #expect(finding.cause == "a row of this account has another account's token")
    }

    @Test func `a row with another token that is in flight does too`() throws {
        let (finding, _) = try finding {
            $0.appAccountToken = "00000000-0000-4000-8000-000000000001"
            $0.signedDate = Sample.now(minutes: -1)
        }
        #expect(finding.action == .refused)
    }

    @Test func `a row that names no customer disagrees with none`() throws {
        let (finding, corrections) = try finding { $0.customerID = nil }
        #expect(finding.action == .planned)
        #expect(corrections[0].changes.ofSubscription[.customerID]?.after == .text("customer 1"))
    }
}
