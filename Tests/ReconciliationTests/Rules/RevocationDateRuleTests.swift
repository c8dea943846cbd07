import Reconciliation
import Subscriptions
import Testing

@Suite struct `The revocation date rule` {
    @Test(arguments: [-7, nil] as [Int64?])
    func `reports another or an empty date when both are revoked`(days: Int64?) throws {
        let stated = Sample.stated(Sample.id, .revoked)
        let row = Sample.row(of: stated) { $0.revocationDate = days.map { Sample.now(days: $0) } }
        let outcome = try outcome(row, beside: stated)
        #expect(outcome.kinds == [.revocationDate])
        #expect(try outcome.finding(.revocationDate).severity == .medium)
        #expect(try Set(outcome.changes().keys) == ["revocation_date", "signed_date"])
    }

    @Test func `says nothing unless both are revoked`() throws {
        let stated = Sample.stated(Sample.id, .revoked)
        let row = Sample.row(of: stated) {
            $0.status = 2
            $0.revocationDate = Sample.now(days: -7)
        }
        #expect(try outcome(row, beside: stated).kinds == [.status])
        let leftover = Sample.row { $0.revocationDate = Sample.now(days: -7) }
        #expect(try outcome(leftover, beside: Sample.stated()).verdict == .match)
    }

    @Test func `leaves a family member's revocation without a date undecided`() throws {
        let stated = Sample.stated(Sample.id, .revoked) {
            $0.transaction.inAppOwnershipType = "FAMILY_SHARED"
            $0.transaction.revocationDate = nil
        }
        let row = Sample.row(of: stated) { $0.revocationDate = Sample.now(days: -7) }
        #expect(try outcome(row, beside: stated).verdict == .undecided(.contradiction))
    }
}
