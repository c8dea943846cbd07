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

    @Test func `leaves the date to the finding about the status where that differs`() throws {
        let stated = Sample.stated(Sample.id, .revoked)
        let row = Sample.row(of: stated) {
            $0.status = 2
            $0.revocationDate = Sample.now(days: -7)
        }
        #expect(try outcome(row, beside: stated).kinds == [.status])
    }

    @Test(arguments: 1...4)
    func `clears a date that Apple does not state`(status: Int) throws {
        let stated = Sample.stated(Sample.id, SubscriptionStatus(rawValue: status))
        let row = Sample.row(of: stated) { $0.revocationDate = Sample.now(days: -7) }
        let outcome = try outcome(row, beside: stated)
        #expect(outcome.kinds == [.revocationDate])
        #expect(try outcome.finding(.revocationDate).appleValue == .null)
        #expect(try Set(outcome.changes().keys) == ["revocation_date", "signed_date"])
    }

    @Test func `reports another date of a partial refund, and none that the row lacks`() throws {
        let stated = Sample.stated {
            $0.transaction.revocationDate = Sample.now(days: -1)
            $0.transaction.revocationType = "REFUND_PRORATED"
        }
        let other = Sample.row(of: stated) { $0.revocationDate = Sample.now(days: -2) }
        #expect(try outcome(other, beside: stated).kinds == [.revocationDate])
        let none = Sample.row(of: stated) { $0.revocationDate = nil }
        #expect(try outcome(none, beside: stated).verdict == .match)
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
