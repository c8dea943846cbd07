import Subscriptions

/// One period of a subscription for a group, as the purchases of its seats and what was refunded of
/// each.
struct GroupPeriod: Hashable, Sendable, CustomStringConvertible {
    /// How much of one purchase's seats was refunded.
    enum Refund: Int, Hashable, Sendable, CaseIterable {
        case none, some, all
    }

    /// By purchase, the first purchase first.
    var revoked: [Refund]
    /// Whether all purchases have one line item; Apple does not document it.
    var sharesLineItem = false

    var description: String { "\(revoked.map(\.rawValue)), one line item: \(sharesLineItem)" }

    /// Every combination of one to three purchases and what was refunded of each.
    static let all: [GroupPeriod] = (1...3).flatMap { count in
        (0..<count).reduce([[Refund]()]) { lists, _ in
            lists.flatMap { list in Refund.allCases.map { list + [$0] } }
        }.flatMap { list in
            [false, true].map { GroupPeriod(revoked: list, sharesLineItem: $0) }
        }
    }

    static func transactionID(of purchase: Int) -> String { Sample.id + "7\(purchase)" }

    static func revocationDate(of purchase: Int) -> Timestamp {
        // The first purchase is refunded last.
        Sample.now(days: -1, minutes: -60 * Int64(purchase))
    }

    /// As Apple signs them: a mark on each where there are several, a date of revocation where every
    /// seat was refunded, otherwise the number of refunded seats.
    var transactions: [SignedTransaction] {
        revoked.indices.map { purchase in
            var transaction = Sample.stated().transaction
            transaction.evidence = Sample.payload("purchase \(purchase) of \(self)")
            transaction.transactionID = Self.transactionID(of: purchase)
            transaction.webOrderLineItemID =
                Sample.id + (sharesLineItem ? "8" : "8\(purchase)")
            transaction.purchaseDate = Sample.now(days: -10 + Int64(purchase))
            transaction.price = 20_000 + Int64(purchase)
            transaction.seats = SignedSeats(
                quantity: 5, revoked: revoked[purchase] == .some ? 2 : 0,
                sharesPeriod: revoked.count > 1, pricePerSeat: 4_000)
            if revoked[purchase] == .all {
                transaction.revocationDate = Self.revocationDate(of: purchase)
                transaction.revocationType = "REFUND_FULL"
            }
            return transaction
        }
    }

    /// What a row says of the seats: five of each purchase, and what was refunded of them.
    var seats: (quantity: Int64, revoked: Int64) {
        (
            5 * Int64(revoked.count),
            revoked.reduce(0) { $0 + ($1 == .all ? 5 : $1 == .some ? 2 : 0) }
        )
    }

    /// An entry of a status answer that shows one of the purchases.
    func statement(showing purchase: Int, status: SubscriptionStatus) -> StatedSubscription {
        Sample.stated {
            $0.status = status
            $0.transaction = transactions[purchase]
        }
    }
}
