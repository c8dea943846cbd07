import Subscriptions

/// `overlapping_subscriptions`: one customer pays twice, with two entitling originals in a group.
///
/// Only purchased ones count, because family sharing costs nothing. Reported once for each original
/// after the first, on the later one, with the first one's id as `apple_value`. Only the customer
/// can end one of them: never corrected.
struct OverlappingSubscriptionsRule: CustomerRule {
    static let version = 1

    func differences(in reading: CustomerReading) -> [Difference] {
        let paid = reading.comparable.filter {
            $0.status.isEntitling && $0.isPurchased && !$0.transaction.isUpgraded
        }
        return Dictionary(grouping: paid, by: \.group).values.flatMap { members -> [Difference] in
            let ordered = members.sorted { $0.began(before: $1) }
            guard let first = ordered.first else { return [] }
            return ordered.dropFirst().map { difference($0, beside: first, in: reading) }
        }
    }

    private func difference(
        _ later: StatedSubscription, beside first: StatedSubscription, in reading: CustomerReading
    ) -> Difference {
        let comparison = Comparison(scoped: ScopedRow(row: reading.row(of: later)), stated: later)
        var finding = comparison.finding(
            .overlappingSubscriptions, .medium, cause: "two subscriptions in one group")
        finding.field = SubscriptionField.originalTransactionID.rawValue
        finding.localValue = .text(later.originalTransactionID)
        finding.appleValue = .text(first.originalTransactionID)
        finding.direction = .customerLoses
        return Difference(finding, payload: later.transaction.evidence)
            .stating(priceOf: later.transaction)
    }
}
