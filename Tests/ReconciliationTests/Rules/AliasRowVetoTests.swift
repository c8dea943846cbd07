import Reconciliation
import Subscriptions
import Testing

@Suite struct `The stand-in veto` {
    private let missing = Sample.stated("3000") { $0.transaction.subscriptionGroupID = "second" }
    private let aliasRow = SubscriptionKey(app: Sample.app, originalTransactionID: "30005")

    private func item(_ change: (inout Case) -> Void = { _ in }) -> Case {
        Sample.item(Sample.row(), [Sample.stated(), missing], change)
    }

    @Test(arguments: HistoryUse.allCases)
    func `the whole history is read before anything is inserted`(use: HistoryUse) {
        let policy = Sample.policy { $0.history = use }
        #expect(nextQuestion(for: item(), policy: policy) == .history(after: nil))
        let read = item { $0.history = .complete([missing.transaction]) }
        #expect(nextQuestion(for: read, policy: policy) == nil)
        #expect(
            nextQuestion(
                for: Sample.item(Sample.row(), [Sample.stated()]),
                policy: Sample.policy { $0.history = .never }) == nil)
    }

    @Test func `nothing is inserted beside a row under a later transaction's id`() throws {
        let known = item {
            $0.history = .complete([missing.transaction])
            $0.aliasRows = ["3000": [aliasRow]]
        }
        let outcome = try outcome(known, of: "3000")
        #expect(outcome.corrections.isEmpty)
        let finding = try outcome.finding(.missingLocally)
        #expect(finding.action == .refused)
        #expect(finding.cause == "a row is stored under one of its later transaction ids")
        // What an earlier look found needs no second one.
        let before = item { $0.aliasRows = ["3000": [aliasRow]] }
        #expect(nextQuestion(for: before, policy: Sample.policy()) == nil)
    }

    @Test func `nor while the history could not be read`() throws {
        let cutOff = item { $0.history = .incomplete("cut off") }
        let missing = try outcome(cutOff, of: "3000")
        #expect(missing.corrections.isEmpty)
        #expect(try missing.finding(.missingLocally).action == .refused)
        // The next run must read it, by the row that was asked for or by the missing one.
        #expect(missing.lacksHistory)
        #expect(try outcome(cutOff).lacksHistory)
        let read = item { $0.history = .complete([self.missing.transaction]) }
        #expect(try !outcome(read).lacksHistory && !outcome(read, of: "3000").lacksHistory)
    }

    @Test func `nor for a notification that names it`() throws {
        var item = Case(app: Sample.app, askedID: "3000", asked: nil)
        item.statuses = .answered(StatusAnswer(subscriptions: [missing, Sample.stated()]))
        item.held = [ScopedRow(row: Sample.row())]
        #expect(nextQuestion(for: item, policy: Sample.policy()) == .history(after: nil))
        item.history = .complete([missing.transaction])
        item.aliasRows = ["3000": [aliasRow]]
        #expect(try outcome(item).corrections.isEmpty)
    }

    @Test func `a held true original stays as it is while that row stands`() throws {
        let drifted = Sample.row { $0.status = 2 }
        let item = Sample.item(drifted, [Sample.stated()]) { $0.asked?.aliasRows = [aliasRow] }
        let outcome = try outcome(item)
        #expect(outcome.verdict == .discrepancy)
        #expect(outcome.corrections.isEmpty)
        #expect(try outcome.finding(.accessMissing).action == .refused)
    }
}
