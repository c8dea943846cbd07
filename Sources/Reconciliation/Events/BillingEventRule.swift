package import Subscriptions

/// Names the one event that a correction is to billing.
///
/// A correction may carry several (a renewal into another product, with auto-renewal off): the
/// first that fits in this order is told, and the message holds the rest. Money given back comes
/// first, then whether the customer may use the service, then what they use and whose it is, and
/// last what will be.
///
/// 1. `first_fill`: nothing is mended, something not known yet is filled in.
/// 2. An inserted subscription: `initial_purchase` when it entitles, else `correction`; a period
///    in the history, and a row that is taken away: `correction`.
/// 3. `refund`: the status became revoked.
/// 4. `refund_reversed`: the status was revoked and became another.
/// 5. `expiration`: the status became expired.
/// 6. `billing_issue`: the status became billing retry or grace period, or the end of the grace
///    period moved.
/// 7. `renewal`: the status became active (recovered, resubscribed).
/// 8. `product_change`: another product.
/// 9. `renewal`: an entitling period ends later.
/// 10. `transfer`: another ownership, customer or account token, where both sides name one.
/// 11. `uncancellation`, `cancellation`: auto-renewal went on or off.
/// 12. `product_change`: another product from the next period on.
/// 13. `correction`: anything else, such as an identifier or an earlier end.
package enum BillingEventRule {
    /// - Parameters:
    ///   - entry: what was written.
    ///   - row: the subscription's row as it stands afterwards; `nil` when there is none.
    /// - Returns: The event's name; there is always one.
    package static func event(
        of entry: LedgerEntry, leaving row: LocalSubscription?
    ) -> BillingEvent {
        if entry.kinds.isEmpty, entry.undoOf == nil { return .firstFill }
        guard entry.table == "subscriptions", let row else { return .correction }
        let step = Step(changes: entry.changes, row: row)
        if step.isInsert { return step.isEntitling ? .initialPurchase : .correction }
        return step.event
    }

    /// Both sides of an updated row.
    private struct Step {
        let changes: [String: FieldChange]
        let row: LocalSubscription

        var event: BillingEvent {
            if let status = changedStatus, let event = event(ofNew: status) { return event }
            if changes(.gracePeriodExpiresDate), after(.status) == code(.billingGracePeriod) {
                return .billingIssue
            }
            if replaces(.productID) { return .productChange }
            if isEntitling, endsLater { return .renewal }
            if replaces(.inAppOwnershipType) || replaces(.customerID) || replaces(.appAccountToken)
            {
                return .transfer
            }
            if changes(.autoRenewStatus) {
                if after(.autoRenewStatus) == .integer(1) { return .uncancellation }
                if after(.autoRenewStatus) == .integer(0) { return .cancellation }
            }
            return changes(.autoRenewProductID) ? .productChange : .correction
        }

        private func event(ofNew status: SubscriptionStatus) -> BillingEvent? {
            if status == .revoked { return .refund }
            if before(.status) == code(.revoked) { return .refundReversed }
            return switch status {
            case .expired: .expiration
            case .billingRetry, .billingGracePeriod: .billingIssue
            case .active: .renewal
            default: nil
            }
        }

        /// The status now, where it is another than before.
        private var changedStatus: SubscriptionStatus? {
            changes(.status) ? row.status.map(SubscriptionStatus.init(rawValue:)) : nil
        }

        var isInsert: Bool { changes(.originalTransactionID) }

        var isEntitling: Bool {
            row.status.map { SubscriptionStatus(rawValue: $0).isEntitling } ?? false
        }

        private var endsLater: Bool {
            guard case .time(let old) = before(.expiresDate),
                case .time(let new) = after(.expiresDate)
            else { return false }
            return new > old
        }

        private func code(_ status: SubscriptionStatus) -> FieldValue {
            FieldValue(status.rawValue)
        }

        private func changes(_ field: SubscriptionField) -> Bool {
            changes[field.rawValue] != nil
        }

        /// Whether one known value took the place of another.
        private func replaces(_ field: SubscriptionField) -> Bool {
            guard let change = changes[field.rawValue] else { return false }
            return !change.before.isEmpty && !change.after.isEmpty
        }

        private func before(_ field: SubscriptionField) -> FieldValue {
            changes[field.rawValue]?.before ?? row.value(of: field)
        }

        private func after(_ field: SubscriptionField) -> FieldValue { row.value(of: field) }
    }
}
