import Reconciliation
import Subscriptions
import Testing

@Suite struct `The wrong app rule` {
    @Test func `reports a row of another bundle that the asking app's answer holds`() throws {
        let row = Sample.row(app: Sample.otherApp) { $0.status = 2 }
        let outcome = try outcome(Sample.item(row, [Sample.stated()]))
        #expect(outcome.verdict == .discrepancy)
        #expect(outcome.kinds == [.wrongApp])
        let finding = try outcome.finding(.wrongApp)
        #expect(finding.severity == .critical)
        #expect(finding.localValue == .text("com.example.other"))
        #expect(finding.appleValue == .text("com.example.app"))
        #expect(outcome.corrections.isEmpty)
        #expect(outcome.hasAllEvidence)
    }

    @Test func `reports a payload that is genuine and made for another app`() throws {
        let payload = Sample.payload("foreign")
        let rejected = RejectedStatement(
            originalTransactionID: Sample.id,
            failure: VerificationFailure(reason: .app, detail: "another bundle"), payload: payload)
        let item = Sample.item(
            Sample.row(), .answered(StatusAnswer(subscriptions: [], rejected: [rejected])))
        let outcome = try outcome(item)
        #expect(outcome.verdict == .discrepancy)
        #expect(outcome.kinds == [.wrongApp])
        #expect(outcome.evidence == [payload])
    }

    @Test func `does not take the unsigned envelope for proof`() throws {
        let rejected = RejectedStatement(
            originalTransactionID: nil,
            failure: VerificationFailure(reason: .app, detail: "another bundle"), payload: nil)
        let outcome = try outcome(Sample.item(Sample.row(), .unverified(rejected)))
        #expect(outcome.verdict == .undecided(.verificationFailed))
        #expect(outcome.kinds == [.verificationFailed])
    }

    @Test func `does not take a payload without an id for the asked one's`() throws {
        let rejected = RejectedStatement(
            originalTransactionID: nil,
            failure: VerificationFailure(reason: .app, detail: "another bundle"),
            payload: Sample.payload("foreign"))
        let answer = StatusAnswer(subscriptions: [], rejected: [rejected])
        let outcome = try outcome(Sample.item(Sample.row(), .answered(answer)))
        #expect(outcome.kinds == [.verificationFailed])
    }

    @Test func `finds it in a held row and inserts nothing beside it`() throws {
        let held = Sample.row(app: Sample.otherApp)
        let item = Sample.item(Sample.row(), [Sample.stated()], held: [held])
        let outcomes = outcomes(of: item, policy: Sample.policy())
        #expect(outcomes.map(\.key) == [Sample.row().key, held.key])
        #expect(outcomes[0].verdict == .match)
        #expect(outcomes[1].kinds == [.wrongApp])
    }

    @Test(arguments: [
        Lookup<StatusAnswer>.transactionNotFound, .accountNotFound, .invalidID,
        .answered(StatusAnswer(subscriptions: [Sample.stated("5")])),
        .answered(StatusAnswer(subscriptions: [])),
    ])
    func `leaves out a row of an app that is neither configured nor known`(
        lookup: Lookup<StatusAnswer>
    ) throws {
        let item = Sample.item(Sample.row(app: Sample.otherApp), lookup)
        let policy = Sample.policy { $0.apps = [Sample.app, Sample.sandbox] }
        #expect(nextQuestion(for: item, policy: policy) == nil)
        let outcome = try outcome(item, policy)
        #expect(outcome.verdict == .excluded(.appNotConfigured))
        #expect(outcome.findings.isEmpty)
    }

    @Test func `keeps a row of an app that is not configured undecided while Apple is silent`()
        throws
    {
        let item = Sample.item(Sample.row(app: Sample.otherApp), .unavailable("connection"))
        #expect(try outcome(item).verdict == .undecided(.unavailable))
    }
}
