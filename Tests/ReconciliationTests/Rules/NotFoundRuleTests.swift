import Reconciliation
import Subscriptions
import Testing

@Suite struct `The not found rule` {
    private func item(
        days: Int, last: Timestamp = Sample.now(days: -1), info: Lookup<SignedTransaction>? = nil
    ) -> Case {
        Sample.item(Sample.row(), .transactionNotFound) {
            $0.transactionInfo = info
            if days > 0 {
                $0.asked?.absence = AbsenceRecord(
                    firstDay: "2026-01-01", lastDay: last.utcDay, distinctDays: days)
            }
        }
    }

    @Test func `is a suspect on the first night and changes nothing`() throws {
        let item = item(days: 0)
        #expect(nextQuestion(for: item, policy: Sample.policy()) == nil)
        let outcome = try outcome(item)
        #expect(outcome.verdict == .discrepancy)
        #expect(outcome.kinds == [.notFound])
        #expect(outcome.findings[0].severity == .high)
        #expect(outcome.findings[0].appleValue == .text("suspect"))
        #expect(outcome.findings[0].localValue == .integer(1))
        #expect(outcome.absence == .absent(day: Sample.now.utcDay))
        #expect(outcome.corrections.isEmpty)
    }

    @Test func `is confirmed after enough days, once transaction info agrees`() throws {
        let policy = Sample.policy()
        #expect(nextQuestion(for: item(days: 2), policy: policy) == .transactionInfo)
        let outcome = try outcome(item(days: 2, info: .transactionNotFound))
        #expect(outcome.findings[0].appleValue == .text("confirmed"))
        #expect(outcome.absence == .absent(day: Sample.now.utcDay))
    }

    @Test func `does not count a second run of the same day`() throws {
        let item = item(days: 2, last: Sample.now)
        #expect(nextQuestion(for: item, policy: Sample.policy()) == nil)
        #expect(try outcome(item).findings[0].appleValue == .text("suspect"))
    }

    @Test func `is undecided when transaction info knows the id after all`() throws {
        var info = Sample.stated().transaction
        info.transactionID = Sample.id
        let outcome = try outcome(item(days: 2, info: .answered(info)))
        #expect(outcome.verdict == .undecided(.noSubscriptionInAnswer))
        #expect(outcome.findings.isEmpty)
        #expect(outcome.absence == .present)
    }

    @Test func `is not confirmed while transaction info is out of reach`() throws {
        let outcome = try outcome(item(days: 2, info: .rateLimited))
        #expect(outcome.verdict == .undecided(.rateLimited))
        #expect(outcome.absence == .nothing)
    }

    @Test func `asks the other environment before the tie-breaker`() {
        let policy = Sample.policy { $0.apps = [Sample.app, Sample.sandbox] }
        var item = item(days: 2)
        #expect(nextQuestion(for: item, policy: policy) == .statuses(in: Sample.sandbox))
        item.elsewhere = .init(app: Sample.sandbox, statuses: .transactionNotFound)
        #expect(nextQuestion(for: item, policy: policy) == .transactionInfo)
    }

    @Test func `says nothing of an id that a notification named`() {
        var item = Case(app: Sample.app, askedID: Sample.id, asked: nil)
        item.statuses = .transactionNotFound
        #expect(nextQuestion(for: item, policy: Sample.policy()) == nil)
        #expect(outcomes(of: item, policy: Sample.policy()).isEmpty)
    }

    @Test func `leaves a young row in flight`() throws {
        let row = Sample.row { $0.signedDate = Sample.now(minutes: -2) }
        let outcome = try outcome(Sample.item(row, .transactionNotFound))
        #expect(outcome.verdict == .excluded(.inFlight))
        #expect(outcome.findings.isEmpty)
        #expect(outcome.absence == .nothing)
    }
}
