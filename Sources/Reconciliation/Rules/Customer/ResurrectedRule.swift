import Subscriptions

/// `resurrected`: an old original id is back in billing retry beside a newer one.
///
/// Apple goes on charging for up to 60 days, and a late success revives the old subscription while
/// the customer already pays for the newer one of the group. Access must not be ended on the old
/// id's word alone; `apple_value` is the newest entitling id. High, never corrected.
struct ResurrectedRule: CustomerRule {
    static let version = 1

    func differences(in reading: CustomerReading) -> [Difference] {
        let purchased = reading.comparable.filter(\.isPurchased)
        return purchased.compactMap { old in
            guard old.status == .billingRetry || old.status == .billingGracePeriod else {
                return nil
            }
            let newer = purchased.filter {
                $0.group == old.group && $0.status.isEntitling && old.began(before: $0)
            }
            guard let newest = newer.max(by: { $0.began(before: $1) }) else { return nil }
            let comparison = Comparison(
                scoped: ScopedRow(row: reading.row(of: old)), stated: old)
            var finding = comparison.finding(
                .resurrected, .high, cause: "old subscription in billing retry")
            finding.field = SubscriptionField.originalTransactionID.rawValue
            finding.localValue = .text(old.originalTransactionID)
            finding.appleValue = .text(newest.originalTransactionID)
            finding.direction = .customerLoses
            return Difference(finding, payload: old.transaction.evidence)
        }
    }
}
