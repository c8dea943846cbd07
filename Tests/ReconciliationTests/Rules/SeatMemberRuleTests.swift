import Reconciliation
import Subscriptions
import Testing

@Suite struct `The seat member rule` {
    private let row = Sample.row { $0.inAppOwnershipType = "SEAT_MEMBER" }

    @Test func `excludes the row without asking, and says so once`() throws {
        let policy = Sample.policy()
        #expect(exclusion(of: row, policy: policy) == .seatMember)
        let outcome = outcome(ofExcluded: row, because: .seatMember, policy: policy)
        #expect(outcome.verdict == .excluded(.seatMember))
        #expect(outcome.kinds == [.seatMember])
        let finding = try outcome.finding(.seatMember)
        #expect(finding.severity == .info && finding.action == .none)
        #expect(finding.localValue == .text("SEAT_MEMBER"))
        #expect(outcome.corrections.isEmpty && outcome.check == nil)
        // A not_found of the nights before the mark is over.
        #expect(outcome.examined == .periods)
    }

    @Test func `finds nothing about rows that are excluded for another reason`() {
        let inFlight = Sample.row { $0.signedDate = Sample.now(minutes: -1) }
        let outcome = outcome(ofExcluded: inFlight, because: .inFlight, policy: Sample.policy())
        #expect(outcome.findings.isEmpty && outcome.examined == .nothing)
    }

    @Test(arguments: ["PURCHASED", "ASSIGNED", "seat_member", "SEAT_MEMBER ", ""])
    func `goes by the mark alone`(ownership: String) {
        let other = Sample.row { $0.inAppOwnershipType = ownership }
        #expect(exclusion(of: other, policy: Sample.policy()) == nil)
    }

    @Test func `leaves a held row of the answer as it is`() throws {
        let asked = Sample.stated("3000")
        let stated = Sample.stated(Sample.id, .expired)
        let outcome = try outcome(
            Sample.item(Sample.row(of: asked), [asked, stated], held: [row]), of: Sample.id)
        #expect(outcome.verdict == .excluded(.seatMember))
        #expect(outcome.kinds == [.seatMember] && outcome.corrections.isEmpty)
    }
}
