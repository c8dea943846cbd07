import Reconciliation
import Subscriptions
import Testing

@Suite struct `The verification failed rule` {
    private func rejected(
        _ id: String?, _ reason: VerificationFailure.Reason = .signature
    ) -> RejectedStatement {
        RejectedStatement(
            originalTransactionID: id,
            failure: VerificationFailure(reason: reason, detail: "does not verify"),
            payload: Sample.payload("rejected \(id ?? "")"))
    }

    @Test(arguments: [VerificationFailure.Reason.format, .chain, .signature, .crossCheck])
    func `leaves the row undecided and keeps the payload`(
        reason: VerificationFailure.Reason
    ) throws {
        let answer = StatusAnswer(subscriptions: [], rejected: [rejected(Sample.id, reason)])
        let item = Sample.item(Sample.row { $0.status = 2 }, .answered(answer))
        #expect(nextQuestion(for: item, policy: Sample.policy()) == nil)
        let outcome = try outcome(item)
        #expect(outcome.verdict == .undecided(.verificationFailed))
        #expect(outcome.kinds == [.verificationFailed])
        #expect(outcome.findings[0].severity == .critical)
        #expect(outcome.corrections.isEmpty)
        #expect(outcome.hasAllEvidence)
    }

    @Test func `an undetermined entry leaves the row undecided and is not a finding`() throws {
        let answer = StatusAnswer(
            subscriptions: [], rejected: [rejected(Sample.id, .revocation)])
        let item = Sample.item(Sample.row { $0.status = 2 }, .answered(answer))
        #expect(nextQuestion(for: item, policy: Sample.policy()) == nil)
        let outcome = try outcome(item)
        #expect(outcome.verdict == .undecided(.unavailable))
        #expect(outcome.findings.isEmpty)
        #expect(outcome.corrections.isEmpty)
    }

    @Test func `an undetermined entry of no row next to the asked one is not a finding`() throws {
        let answer = StatusAnswer(
            subscriptions: [Sample.stated()], rejected: [rejected("777", .revocation)])
        let outcomes = outcomes(
            of: Sample.item(Sample.row(), .answered(answer)), policy: Sample.policy())
        #expect(outcomes.flatMap(\.findings).isEmpty)
        #expect(outcomes.flatMap(\.corrections).isEmpty)
    }

    @Test func `an entry of one id that is undetermined and invalid is invalid`() throws {
        let answer = StatusAnswer(
            subscriptions: [],
            rejected: [rejected(Sample.id, .revocation), rejected(Sample.id, .signature)])
        let outcome = try outcome(Sample.item(Sample.row { $0.status = 2 }, .answered(answer)))
        #expect(outcome.verdict == .undecided(.verificationFailed))
    }

    @Test func `an entry with nothing signed in it is undecodable and no alarm`() throws {
        let unreadable = RejectedStatement(
            originalTransactionID: Sample.id,
            failure: VerificationFailure(reason: .format, detail: "lacks its status"), payload: nil)
        let answer = StatusAnswer(subscriptions: [], rejected: [unreadable])
        let outcome = try outcome(Sample.item(Sample.row { $0.status = 2 }, .answered(answer)))
        #expect(outcome.verdict == .undecided(.undecodable))
        #expect(outcome.findings.isEmpty)
        #expect(outcome.corrections.isEmpty)
    }

    @Test func `believes no verified entry beside a rejected one of the same id`() throws {
        let answer = StatusAnswer(
            subscriptions: [Sample.stated()], rejected: [rejected(Sample.id)])
        let row = Sample.row { $0.status = 2 }
        let outcome = try outcome(Sample.item(row, .answered(answer)))
        #expect(outcome.verdict == .undecided(.verificationFailed))
    }

    @Test func `takes an entry without an id for the asked one where no other is`() throws {
        let answer = StatusAnswer(
            subscriptions: [Sample.stated("5")], rejected: [rejected(nil)])
        let outcome = try outcome(Sample.item(Sample.row(), .answered(answer)))
        #expect(outcome.verdict == .undecided(.verificationFailed))
    }

    @Test func `judges the asked row beside an entry without an id, and reports it`() throws {
        let answer = StatusAnswer(subscriptions: [Sample.stated()], rejected: [rejected(nil)])
        let outcome = try outcome(Sample.item(Sample.row(), .answered(answer)))
        #expect(outcome.verdict == .match)
        #expect(outcome.kinds == [.verificationFailed])
        #expect(outcome.findings[0].key == nil)
        #expect(outcome.hasAllEvidence)
    }

    @Test func `reports rejected siblings, held or not`() throws {
        let answer = StatusAnswer(
            subscriptions: [Sample.stated()], rejected: [rejected("3000"), rejected("4000")])
        let held = Sample.row(of: Sample.stated("3000"))
        let item = Sample.item(Sample.row(), .answered(answer)) {
            $0.held = [ScopedRow(row: held)]
        }
        let outcomes = outcomes(of: item, policy: Sample.policy())
        #expect(outcomes.map(\.key.originalTransactionID) == [Sample.id, "3000", "4000"])
        #expect(
            outcomes.map(\.verdict) == [.match, .undecided(.verificationFailed), nil])
        #expect(outcomes[2].kinds == [.verificationFailed])
    }

    @Test func `settles no sibling by an answer whose asked entry is rejected`() {
        let answer = StatusAnswer(
            subscriptions: [Sample.stated("3000"), Sample.stated("4000")],
            rejected: [rejected(Sample.id)])
        let item = Sample.item(Sample.row(), .answered(answer)) {
            $0.held = [ScopedRow(row: Sample.row(of: Sample.stated("3000")))]
        }
        let outcomes = outcomes(of: item, policy: Sample.policy())
        #expect(outcomes.map(\.key.originalTransactionID) == [Sample.id])
    }

    @Test func `reports an unverifiable answer that a notification caused`() throws {
        var item = Case(app: Sample.app, askedID: Sample.id, asked: nil)
        item.statuses = .unverified(rejected(nil))
        let outcome = try outcome(item)
        #expect(outcome.verdict == nil)
        #expect(outcome.kinds == [.verificationFailed])
    }

    @Test func `leaves the row undecided when transaction info does not verify`() throws {
        let item = Sample.item(Sample.row(), [Sample.stated("5")]) {
            $0.transactionInfo = .unverified(rejected(Sample.id))
        }
        #expect(try outcome(item).verdict == .undecided(.verificationFailed))
    }
}
