import Subscriptions

/// One held row beside Apple's statement about the same original transaction id.
struct Comparison: Hashable, Sendable {
    var scoped: ScopedRow
    var stated: StatedSubscription

    var row: LocalSubscription { scoped.row }

    /// Our status; `nil` when the row is not known yet.
    var ourStatus: SubscriptionStatus? { row.status.map(SubscriptionStatus.init(rawValue:)) }

    /// Whether the row waits to be filled in for the first time.
    var isFirstFill: Bool { row.status == nil }

    /// Whether both sides state the column and state different things.
    func disagrees(in field: SubscriptionField) -> Bool {
        row.value(of: field) != .null && stated.value(of: field) != .null && differs(in: field)
    }

    /// Whether writing Apple's statement would change the column.
    ///
    /// The company's own columns never change, and a token only where none is known. Apple saying
    /// nothing empties a column only where emptiness means something: a revocation date of a
    /// subscription that is not revoked, a grace date of one that is not in its grace period (a
    /// grace period with a null date is a known quirk of Apple's: hold, do not cut).
    func differs(in field: SubscriptionField) -> Bool {
        let ours = row.value(of: field)
        let theirs = stated.value(of: field)
        switch field {
        case .originalTransactionID, .environment, .bundleID, .customerID: return false
        case .appAccountToken: return ours == .null && theirs != .null
        case .latestTransactionID, .webOrderLineItemID:
            return theirs != .null && ours != theirs && (ours == .null || !isSamePeriod)
        case .revocationDate where theirs == .null:
            return ours != .null && stated.status != .revoked
        case .gracePeriodExpiresDate where theirs == .null:
            return ours != .null && stated.status != .billingGracePeriod
        default:
            guard theirs != .null else { return false }
            if case .time(let our) = ours, case .time(let their) = theirs {
                return !our.agrees(withApple: their)
            }
            return ours != theirs
        }
    }

    /// Whether the row's current transaction belongs to the period that Apple states.
    ///
    /// Restores and further devices make other transactions of one web order line item; the line
    /// item names the period, the transaction id only where no line item is known.
    var isSamePeriod: Bool {
        guard let theirItem = stated.transaction.webOrderLineItemID else {
            return row.latestTransactionID == stated.transaction.transactionID
        }
        if let ourItem = row.webOrderLineItemID { return ourItem == theirItem }
        guard let ours = row.latestTransactionID else { return false }
        return ours == stated.transaction.transactionID
            || scoped.periods.contains {
                $0.key.transactionID == ours && $0.webOrderLineItemID == theirItem
            }
    }
}
