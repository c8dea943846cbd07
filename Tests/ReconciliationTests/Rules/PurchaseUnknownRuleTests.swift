import Reconciliation
import Subscriptions
import Testing

@Suite struct `The purchase unknown rule` {
    private let shown = Purchased.signed("7")
    private let absent = Purchased.stored(Purchased.signed("8"))

    private var policy: Policy { Sample.policy { $0.keepsPurchases = true } }

    /// The customer's history shows one purchase; two are stored.
    private func item(
        _ change: (inout LocalTransaction) -> Void = { _ in },
        info: Lookup<SignedTransaction>? = .transactionNotFound
    ) -> Case {
        var absent = absent
        change(&absent)
        let stored = Purchased.stored(shown)
        var item = Purchased.item([shown], stored: [stored])
        item.customerPurchases = [stored, absent]
        item.purchaseInfos = info.map { [absent.key.transactionID: $0] }
        return item
    }

    private func unknown(_ item: Case, _ policy: Policy? = nil) -> [Finding] {
        Purchased.outcomes(of: item, policy ?? self.policy).flatMap(\.findings)
            .filter { $0.kind == .purchaseUnknown }
    }

    @Test func `asks about each purchase that the history lacks, by its own id`() {
        #expect(judge(item(info: nil), policy: policy) == .needs(.purchases(["8"])))
        var complete = item(info: nil)
        complete.customerPurchases = [Purchased.stored(shown)]
        #expect(judge(complete, policy: policy) != .needs(.purchases(["8"])))
    }

    @Test(arguments: [Lookup<SignedTransaction>.transactionNotFound, .invalidID])
    func `reports a purchase that Apple finds by neither question, and writes nothing`(
        info: Lookup<SignedTransaction>
    ) throws {
        let outcomes = Purchased.outcomes(of: item(info: info), policy)
        let outcome = try #require(outcomes.first { $0.key.originalTransactionID == "8" })
        #expect(outcome.kinds == [.purchaseUnknown] && outcome.corrections.isEmpty)
        #expect(outcome.verdict == nil && outcome.examined == .periods && !outcome.isDoubtful)
        let finding = outcome.findings[0]
        #expect(finding.severity == .high && finding.action == .none && finding.evidence == nil)
        #expect(finding.field == "8" && finding.localValue == .text("8"))
        #expect(finding.customerID == "customer 1" && finding.productID == "coins")
        #expect(finding.amount == 990 && finding.currency == "EUR")
    }

    /// Of another Apple Account of the customer, so that this history does not show it.
    @Test func `compares a purchase that Apple finds by its id`() throws {
        let agreeing = Purchased.outcomes(
            of: item(info: .answered(Purchased.signed("8"))), policy)
        let outcome = try #require(agreeing.first { $0.key.originalTransactionID == "8" })
        #expect(outcome.findings.isEmpty && outcome.examined == .periods)
        let refunded = Purchased.outcomes(
            of: item(info: .answered(Purchased.refunded("8"))), policy)
        let corrected = try #require(refunded.first { $0.key.originalTransactionID == "8" })
        #expect(corrected.kinds == [.purchaseRefundMissed] && corrected.corrections.count == 1)
    }

    @Test(arguments: [
        Lookup<SignedTransaction>.internalFault, .rateLimited, .accountNotFound,
        .answered(Purchased.signed("9")),
    ])
    func `decides nothing by another answer`(info: Lookup<SignedTransaction>) {
        let outcomes = Purchased.outcomes(of: item(info: info), policy)
        #expect(outcomes.map(\.key.originalTransactionID) == ["7"])
    }

    @Test func `says nothing by a history that is not complete`() {
        let complete = item(info: nil)
        for history in [
            HistoryReading.incomplete("a page is missing"),
            .since(revision: "r", [shown, Sample.stated().transaction]),
        ] {
            var item = complete
            item.history = history
            #expect(judge(item, policy: policy) != .needs(.purchases(["8"])))
            item.purchaseInfos = ["8": .transactionNotFound]
            #expect(unknown(item).isEmpty)
        }
    }

    /// Apple may find a new transaction late.
    @Test func `says nothing of a purchase that is younger than a day`() {
        let young = Sample.now(minutes: -60)
        #expect(unknown(item { $0.purchaseDate = young }).isEmpty)
        #expect(unknown(item { $0.signedDate = young }).isEmpty)
        #expect(unknown(item()).count == 1)
        let patient = Sample.policy { $0.settleMilliseconds = 90 * Milliseconds.perDay }
        #expect(unknown(item(), patient).isEmpty)
    }

    @Test func `says nothing of a row that cannot be read, or beside a row in doubt`() {
        #expect(unknown(item { $0.unreadable = [.purchaseDate: "soon"] }).isEmpty)
        var doubted = item()
        doubted.asked = ScopedRow(
            row: Sample.row { $0.appAccountToken = "00000000-0000-0000-0000-000000000002" })
        #expect(unknown(doubted).isEmpty)
    }

    @Test func `is left out by a run that is filtered to other kinds`() {
        let policy = Sample.policy { $0.onlyKinds = [.expiry] }
        #expect(judge(item(info: nil), policy: policy) != .needs(.purchases(["8"])))
        #expect(unknown(item(), policy).isEmpty)
    }

    /// A name as `guest` has purchases of many accounts.
    @Test func `asks about no customer of whom many purchases are absent`() {
        var item = item(info: nil)
        item.customerPurchases = (100..<117).map { Purchased.stored(Purchased.signed("\($0)")) }
        guard case .outcomes = judge(item, policy: policy) else {
            Issue.record("seventeen purchases are asked about")
            return
        }
        item.customerPurchases.removeLast()
        #expect(
            judge(item, policy: policy) == .needs(.purchases((100..<116).map(String.init))))
    }

    @Test func `accepts a history by a purchase only if it is that customer's`() {
        var other = Purchased.signed("9")
        other.appTransactionID = "account 2"
        var own = shown
        own.appTransactionID = "account 1"
        #expect(
            customerHistory(.complete([own]), ofPurchase: "7") == .complete([own]))
        for foreign in [[own, other], [other], []] {
            guard case .incomplete = customerHistory(.complete(foreign), ofPurchase: "7") else {
                Issue.record("accepted \(foreign.map(\.transactionID))")
                continue
            }
        }
    }
}
