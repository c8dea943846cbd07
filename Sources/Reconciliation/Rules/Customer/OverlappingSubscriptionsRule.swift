import Subscriptions

extension AllRules {
    /// `overlapping_subscriptions`: one customer pays twice, with two entitling originals in a group.
    ///
    /// Only purchased ones count, because family sharing costs nothing. Reported once for each original
    /// after the first, on the later one, with the first one's id as `apple_value`. Only the customer
    /// can end one of them: never corrected.
    ///
    /// One customer may pay under two Apple Accounts, of which an answer shows one. Then the first
    /// subscription of the answer is reported, if it has the greater id, next to the row of the same
    /// `customer_id` with the smallest: of two answers only one reports the pair, in whatever order
    /// they come.
    static let overlappingSubscriptions = CustomerRule("OverlappingSubscriptionsRule") { reading in
        let paid = reading.comparable.filter(\.isPaid)
        return Dictionary(grouping: paid, by: \.group).values.flatMap { members -> [Difference] in
            let ordered = members.sorted { $0.began(before: $1) }
            guard let first = ordered.first else { return [] }
            let others = ordered.dropFirst().map { later in
                difference(
                    later, beside: first.originalTransactionID, in: reading,
                    cause: "two subscriptions in one group")
            }
            guard let elsewhere = idElsewhere(before: first, in: reading) else {
                return others
            }
            let pair = difference(
                first, beside: elsewhere, in: reading, cause: Finding.causeTwoAccounts)
            return [pair] + others
        }
    }

    /// The smallest id of another Apple Account's that the customer pays for, if it is smaller.
    private static func idElsewhere(
        before stated: StatedSubscription, in reading: CustomerReading
    ) -> String? {
        reading.neighbours(of: stated).map(\.originalTransactionID)
            .filter { PaidNeighbour.isEarlier($0, than: stated.originalTransactionID) }
            .min { PaidNeighbour.isEarlier($0, than: $1) }
    }

    private static func difference(
        _ later: StatedSubscription, beside first: String, in reading: CustomerReading,
        cause: String
    ) -> Difference {
        reading.difference(
            .overlappingSubscriptions, .medium, about: later, beside: first, cause: cause
        ).stating(priceOf: later.transaction)
    }
}
