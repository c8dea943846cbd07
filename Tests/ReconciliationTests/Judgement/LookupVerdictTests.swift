import Reconciliation
import Subscriptions
import Testing

@Suite struct `The verdict on a lookup` {
    @Test(arguments: [
        (Lookup<StatusAnswer>.rateLimited, UndecidedReason.rateLimited),
        (.unavailable("connection reset"), .unavailable), (.internalFault, .unavailable),
        (.restart, .unavailable),
        (.refused(code: 4_000_123, httpStatus: 400, message: "no"), .unavailable),
        (.undecodable("not JSON"), .undecodable),
        (.answered(StatusAnswer(subscriptions: [])), .noSubscriptionInAnswer),
        (.answered(StatusAnswer(subscriptions: [Sample.stated("5")])), .idNotInAnswer),
    ])
    func `an answer that decides nothing leaves the row undecided and untouched`(
        lookup: Lookup<StatusAnswer>, reason: UndecidedReason
    ) throws {
        let row = Sample.row { $0.status = 2 }
        let outcomes = outcomes(of: Sample.item(row, lookup), policy: Sample.policy())
        #expect(outcomes.count == 1)
        #expect(outcomes[0].verdict == .undecided(reason))
        #expect(outcomes[0].findings.isEmpty)
        #expect(outcomes[0].corrections.isEmpty)
        #expect(outcomes[0].absence == .nothing)
        #expect(outcomes[0].figures == nil)
    }

    @Test func `asks what the id is when the answer does not contain it`() {
        let item = Sample.item(Sample.row(), [Sample.stated("5")])
        #expect(nextQuestion(for: item, policy: Sample.policy()) == .transactionInfo)
        let empty = Sample.item(Sample.row(), [])
        #expect(nextQuestion(for: empty, policy: Sample.policy()) == nil)
    }

    @Test(arguments: [
        Lookup<SignedTransaction>.transactionNotFound, .rateLimited, .unavailable("reset"),
        .answered(Sample.stated().transaction),
    ])
    func `stays undecided where transaction info proves nothing else`(
        info: Lookup<SignedTransaction>
    ) throws {
        let item = Sample.item(Sample.row(), [Sample.stated("5")]) { $0.transactionInfo = info }
        #expect(nextQuestion(for: item, policy: Sample.policy()) == nil)
        #expect(try outcome(item).verdict == .undecided(.idNotInAnswer))
    }

    @Test func `asks through a row's own app, and for a stray bundle through its environment's`() {
        var policy = Sample.policy { $0.apps = [Sample.sandbox, Sample.app] }
        #expect(appToAsk(about: Sample.row(), policy: policy) == Sample.app)
        #expect(appToAsk(about: Sample.row(app: Sample.sandbox), policy: policy) == Sample.sandbox)
        #expect(appToAsk(about: Sample.row(app: Sample.otherApp), policy: policy) == nil)
        #expect(appToAsk(about: Sample.row(app: Sample.sandbox), policy: Sample.policy()) == nil)
        policy.unconfiguredBundles = [Sample.otherApp.bundleID]
        #expect(appToAsk(about: Sample.row(app: Sample.otherApp), policy: policy) == Sample.app)
    }
}
