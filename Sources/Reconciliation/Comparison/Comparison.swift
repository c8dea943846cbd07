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

    /// Whether the row has a status and yet this column is not known.
    ///
    /// An empty date of revocation or grace says that there is none (docs/columns.md). When
    /// Apple signed what the row rests on is no word of Apple's about the subscription: it is
    /// written together with something else and never for its own sake, else a table that does not
    /// keep it would be rewritten as a whole, and the company's own imports, which do not name it
    /// either, would be skipped as older from then on.
    func isNotKnownYet(_ field: SubscriptionField) -> Bool {
        switch field {
        case .revocationDate, .gracePeriodExpiresDate, .signedDate: false
        default: !isFirstFill && row.value(of: field) == .null
        }
    }

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
        case .expiresDate where isWithinExtension: return false
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

    /// Whether our end lies after the signed transaction's and not after the signed renewal date.
    ///
    /// Whether an extension moves the transaction's end or only the renewal date is not documented.
    /// Where it moved the latter alone our later end is Apple's too, and never cut.
    var isWithinExtension: Bool {
        guard let ours = row.expiresDate, let extended = extendedEnd,
            let theirs = stated.transaction.expiresDate
        else { return false }
        return ours.isLater(thanApple: theirs) && !ours.isLater(thanApple: extended)
    }

    /// The signed renewal date of an active subscription where it lies after the transaction's end.
    var extendedEnd: Timestamp? {
        guard stated.status == .active, let end = stated.transaction.expiresDate,
            let renewal = stated.renewal.renewalDate, renewal > end
        else { return nil }
        return renewal
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
