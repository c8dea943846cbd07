/// Whose a row is and what they pay for, kept to find customers who pay under two Apple Accounts.
package struct Payer: Hashable, Sendable {
    /// The customer, as the company says.
    package var customer: CustomerDigest
    /// The subscription group that Apple's statement says is paid for; `nil` where none is.
    package var paidGroup: String?

    package init(customer: CustomerDigest, paidGroup: String?) {
        self.customer = customer
        self.paidGroup = paidGroup
    }
}

/// 64 bits over a `customer_id`, by which rows of one customer are found.
///
/// Two customers with the same bits are told apart by the ids in their rows.
package struct CustomerDigest: Hashable, Sendable {
    package let bits: UInt64

    /// `nil` for no id, or an empty one.
    package init?(customerID: String?) {
        guard let customerID, !customerID.isEmpty else { return nil }
        var digest = ValuesDigest()
        digest.add(customerID)
        bits = digest.bits
    }
}

/// Another subscription that a row's customer pays for, by Apple's last statement about it.
package struct PaidNeighbour: Hashable, Sendable {
    package var originalTransactionID: String
    package var group: String
    /// When that statement ends by itself.
    package var clock: Timestamp?

    /// Of how many paid subscriptions of one `customer_id` pairs are made.
    ///
    /// More of them stand under a name for nobody, such as `guest`.
    package static let most = 16

    package init(originalTransactionID: String, group: String, clock: Timestamp?) {
        self.originalTransactionID = originalTransactionID
        self.group = group
        self.clock = clock
    }
}

/// How two subscriptions of one customer are told to be a pair.
package enum OverlapCause {
    /// The cause of a finding about two that are paid for under different Apple Accounts.
    package static let twoAccounts = "paid for under two Apple Accounts"

    /// Which of two ids is the earlier one, as far as ids tell: the shorter, then the smaller.
    package static func isEarlier(_ id: String, than other: String) -> Bool {
        (id.utf8.count, id) < (other.utf8.count, other)
    }
}
