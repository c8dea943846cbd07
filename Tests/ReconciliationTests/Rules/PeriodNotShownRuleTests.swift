import Reconciliation
import Subscriptions
import Testing

@Suite struct `The period not shown rule` {
    private let seats = GroupPeriod(revoked: [.all, .all])

    @Test func `leaves a row undecided whose other purchases were not read`() throws {
        var item = Sample.item(
            Sample.row(of: seats.statement(showing: 0, status: .active)),
            [seats.statement(showing: 0, status: .revoked)])
        item.history = .incomplete("a page is missing")
        let outcome = try outcome(item)
        #expect(outcome.verdict == .undecided(.periodNotShown))
        #expect(outcome.findings.isEmpty && outcome.corrections.isEmpty)
        #expect(outcome.statedAt != nil && outcome.check == nil)
    }

    @Test func `asks for the whole history first, unless the job reads none`() throws {
        var item = Sample.item(
            Sample.row(of: seats.statement(showing: 0, status: .active)),
            [seats.statement(showing: 0, status: .revoked)])
        item.asked?.historyRevision = "r7"
        #expect(nextQuestion(for: item, policy: Sample.policy()) == .history(after: nil))
        let never = Sample.policy { $0.history = .never }
        #expect(nextQuestion(for: item, policy: never) == nil)
        item.history = .complete(seats.transactions)
        #expect(nextQuestion(for: item, policy: Sample.policy()) == nil)
        // What was only added or changed since may lack the one that remains.
        item.history = .since(revision: "r7", seats.transactions)
        #expect(try outcome(item).verdict == .undecided(.periodNotShown))
    }

    /// Apple's mark says that there are several; a history with one of them lacks the others.
    @Test func `trusts no history that shows one purchase of several`() throws {
        var item = Sample.item(
            Sample.row(of: seats.statement(showing: 0, status: .active)),
            [seats.statement(showing: 0, status: .revoked)])
        item.history = .complete([seats.transactions[0]])
        #expect(try outcome(item).verdict == .undecided(.periodNotShown))
    }

    @Test func `keeps a missing subscription out of the table until it is known`() throws {
        let sibling = seats.statement(showing: 0, status: .revoked)
        let asked = Sample.stated("3000")
        var item = Sample.item(Sample.row(of: asked), [asked, sibling])
        #expect(nextQuestion(for: item, policy: Sample.policy()) == .history(after: nil))
        item.history = .incomplete("a page is missing")
        let outcome = try outcome(item, of: Sample.id)
        #expect(outcome.kinds == [.missingLocally] && outcome.corrections.isEmpty)
    }
}
