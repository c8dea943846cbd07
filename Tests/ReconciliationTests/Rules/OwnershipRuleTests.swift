import Reconciliation
import Subscriptions
import Testing

@Suite struct `The ownership rule` {
    @Test func `reports family shared against purchased`() throws {
        let stated = Sample.stated { $0.transaction.inAppOwnershipType = "FAMILY_SHARED" }
        let outcome = try outcome(Sample.row(), beside: stated)
        #expect(outcome.kinds == [.ownership])
        #expect(try outcome.finding(.ownership).severity == .medium)
        #expect(
            try outcome.changes()
                == [
                    "in_app_ownership_type": "FAMILY_SHARED",
                    "signed_date": stated.signedDate.rfc3339,
                ])
    }

    @Test func `never takes over an ownership that it does not know`() throws {
        let stated = Sample.stated {
            $0.transaction.inAppOwnershipType = "BORROWED"
            $0.transaction.unknowns = [
                UnknownValue(field: "transaction.inAppOwnershipType", value: "BORROWED")
            ]
        }
        let outcome = try outcome(Sample.row(), beside: stated)
        #expect(outcome.verdict == .match)
        #expect(outcome.kinds == [.unknownValue])
        #expect(outcome.corrections.isEmpty)
    }
}
