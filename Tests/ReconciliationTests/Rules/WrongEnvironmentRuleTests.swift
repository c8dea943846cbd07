import Reconciliation
import Subscriptions
import Testing

@Suite struct `The wrong environment rule` {
    private let policy = Sample.policy { $0.apps = [Sample.app, Sample.sandbox] }

    private func item(
        _ statuses: Lookup<StatusAnswer>, _ row: LocalSubscription = Sample.row()
    ) -> Case {
        Sample.item(row, .transactionNotFound) {
            $0.elsewhere = .init(app: Sample.sandbox, statuses: statuses)
        }
    }

    @Test func `asks the bundle's other environment where it is configured`() {
        let item = Sample.item(Sample.row(), .transactionNotFound)
        #expect(nextQuestion(for: item, policy: policy) == .statuses(in: Sample.sandbox))
        #expect(nextQuestion(for: item, policy: Sample.policy()) == nil)
        let elsewhere = Sample.policy { $0.apps = [Sample.app, Sample.otherApp] }
        #expect(nextQuestion(for: item, policy: elsewhere) == nil)
    }

    @Test(arguments: [
        (1, 2, Severity.critical), (4, 2, .critical), (2, 2, .high), (5, 2, .high),
        (2, 1, .critical), (2, 4, .critical),
    ])
    func `is as severe as what it entitles to there, and what the row gives`(
        status: Int, held: Int, severity: Severity
    ) throws {
        let stated = Sample.stated(Sample.id, SubscriptionStatus(rawValue: status))
        let item = item(
            .answered(StatusAnswer(subscriptions: [stated])), Sample.row { $0.status = held })
        #expect(nextQuestion(for: item, policy: policy) == nil)
        let outcome = try outcome(item, policy)
        #expect(outcome.verdict == .discrepancy)
        #expect(outcome.kinds == [.wrongEnvironment])
        #expect(outcome.findings[0].severity == severity)
        #expect(outcome.findings[0].appleValue == .text("Sandbox"))
        #expect(outcome.corrections.isEmpty)
        #expect(outcome.absence == .present)
        #expect(outcome.hasAllEvidence)
    }

    @Test(arguments: [
        Lookup<StatusAnswer>.transactionNotFound, .unavailable("connection"),
        .answered(StatusAnswer(subscriptions: [Sample.stated("5")])),
    ])
    func `is not found without proof`(statuses: Lookup<StatusAnswer>) throws {
        #expect(try outcome(item(statuses), policy).kinds == [.notFound])
    }

    @Test func `reports a held row of the environment that did not answer`() throws {
        let held = Sample.row(app: Sample.sandbox)
        let item = Sample.item(Sample.row(), [Sample.stated()], held: [held])
        let outcomes = outcomes(of: item, policy: policy)
        #expect(outcomes.map(\.verdict) == [.match, .discrepancy])
        #expect(outcomes[1].kinds == [.wrongEnvironment])
        #expect(outcomes[1].findings[0].appleValue == .text("Production"))
    }

    @Test func `reports a payload that is genuine and made for another environment`() throws {
        let rejected = RejectedStatement(
            originalTransactionID: Sample.id,
            failure: VerificationFailure(reason: .environment, detail: "Sandbox"),
            payload: Sample.payload("sandbox"))
        let item = Sample.item(
            Sample.row(), .answered(StatusAnswer(subscriptions: [], rejected: [rejected])))
        let outcome = try outcome(item)
        #expect(outcome.verdict == .discrepancy)
        #expect(outcome.kinds == [.wrongEnvironment])
        #expect(outcome.findings[0].severity == .critical)
    }
}
