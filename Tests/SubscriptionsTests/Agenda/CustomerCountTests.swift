import Subscriptions
import Testing

@Suite struct `Counting distinct customers` {
    @Test func `counts each once, and each row without one`() {
        var count = CustomerCount()
        for customer in ["a", "b", "a", nil, "", nil, "b"] { count.add(customer) }
        #expect(count.count == 5)
        #expect(count.isExact)
    }

    @Test func `counts rows without a customer by the Apple Account that is known`() {
        let account = AccountDigest(ofID: "704346128300000001")
        var count = CustomerCount()
        for customer in [nil, "", "a", "a"] { count.add(customer, account: account) }
        count.add(nil, account: AccountDigest(ofID: ""))
        #expect(count.count == 3)
    }

    @Test func `is exact up to its capacity, and close beyond it`() {
        var count = CustomerCount(capacity: 4096)
        for customer in 0..<4096 { count.add("customer-\(customer)") }
        #expect(count.count == 4096)
        #expect(count.isExact)
        for customer in 0..<100_000 { count.add("customer-\(customer)") }
        #expect(!count.isExact)
        // Four standard errors of 1 in the square root of 2,048.
        #expect(abs(count.count - 100_000) < 9_000, "\(count.count)")
    }
}
