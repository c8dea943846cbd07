import Subscriptions
import Testing

@Suite struct `The digest of a row's values` {
    private func row(_ change: (inout LocalSubscription) -> Void = { _ in }) -> LocalSubscription {
        var row = LocalSubscription(
            key: SubscriptionKey(
                bundleID: "com.example.app", environment: "Production",
                originalTransactionID: "1"))
        row.status = 1
        row.productID = "gold"
        row.expiresDate = Timestamp(unixMilliseconds: 1_800_000_000_000)
        change(&row)
        return row
    }

    @Test func `changes with every column that Apple states`() {
        let digests = [
            ValuesDigest(of: row()), ValuesDigest(of: row { $0.status = 2 }),
            ValuesDigest(of: row { $0.productID = "silver" }),
            ValuesDigest(of: row { $0.productID = nil }),
            ValuesDigest(of: row { $0.expiresDate = nil }),
            ValuesDigest(of: row { $0.autoRenewProductID = "gold" }),
            ValuesDigest(of: row { $0.revocationDate = Timestamp(unixMilliseconds: 1) }),
            ValuesDigest(of: row { $0.gracePeriodExpiresDate = Timestamp(unixMilliseconds: 1) }),
        ]
        #expect(Set(digests).count == digests.count)
    }

    @Test func `does not change with what is the company's own, nor with the time of the word`() {
        let digest = ValuesDigest(of: row())
        #expect(ValuesDigest(of: row { $0.customerID = "c" }) == digest)
        #expect(ValuesDigest(of: row { $0.signedDate = Timestamp(unixMilliseconds: 5) }) == digest)
        #expect(ValuesDigest(of: row { $0.rowVersion = 9 }) == digest)
    }

    @Test func `a payment elsewhere changes it, and no digest that is stored without one`() {
        let paid = row { $0.paidElsewhereUntil = Timestamp(unixMilliseconds: 5) }
        #expect(ValuesDigest(of: paid) != ValuesDigest(of: row()))
        var stored = ValuesDigest()
        for field in ValuesDigest.fields { stored.add(row().value(of: field)) }
        #expect(ValuesDigest(of: row()) == stored)
    }

    @Test func `a value that moves from one added column to another changes it`() {
        #expect(
            ValuesDigest(of: row { $0.quantity = 5 })
                != ValuesDigest(of: row { $0.renewalQuantity = 5 }))
    }

    @Test func `covers every column that Apple states, and of added ones what they hold`() {
        let covered = Set(ValuesDigest.fields + ValuesDigest.later)
        #expect(
            covered
                == Set(SubscriptionField.stated).subtracting([.signedDate])
                .union([.paidElsewhereUntil]))
        // What is stored must stay what it was: only columns that every table has count empty.
        #expect(ValuesDigest.fields.allSatisfy { !$0.definition.isOptional })
        #expect(ValuesDigest.fields.count == 11)
    }

    @Test func `takes empty text for nothing, and no text for a number`() {
        #expect(
            ValuesDigest(of: row { $0.productID = "" })
                == ValuesDigest(of: row { $0.productID = nil }))
        var text = ValuesDigest()
        text.add("1")
        var number = ValuesDigest()
        number.add(1)
        #expect(text != number)
    }
}
