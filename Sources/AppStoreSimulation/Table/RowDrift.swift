import Subscriptions

/// Puts one mistake into a row.
struct RowDrift {
    /// Selects between several forms of a kind of drift.
    let variant: Int
    let now: Timestamp

    private var day: Int64 { CivilCalendar.millisecondsPerDay }

    /// Changes the row and returns the field that is now wrong.
    func apply(
        _ kind: DriftKind, to row: inout LocalSubscription, chain: PurchaseChain, world: World,
        index: Int
    ) -> SubscriptionField {
        switch kind {
        case .refundReversalMissed:
            row.status = 5
            row.revocationDate = now.adding(milliseconds: -9 * day)
            return .status
        case .graceMissed: return missGrace(&row)
        case .revocationMissed:
            row.status = 1
            row.revocationDate = nil
            return .status
        case .accessMissing:
            row.status = variant.isMultiple(of: 2) ? 2 : 3
            return .status
        case .accessUnpaid:
            row.status = 1
            return .status
        case .status:
            row.status = row.status == 2 ? 3 : 2
            return .status
        case .expiry:
            let days: Int64 = variant.isMultiple(of: 2) ? -2 : 3
            row.expiresDate = row.expiresDate?.adding(milliseconds: days * day)
            return .expiresDate
        case .product:
            row.productID = otherProduct(than: row.productID, in: world.catalogue)
            return .productID
        case .renewalPreference:
            guard variant.isMultiple(of: 2) else {
                row.autoRenewProductID = otherProduct(
                    than: row.autoRenewProductID, in: world.catalogue)
                return .autoRenewProductID
            }
            row.autoRenewStatus = row.autoRenewStatus == 1 ? 0 : 1
            return .autoRenewStatus
        case .revocationDate:
            row.revocationDate = row.revocationDate?.adding(milliseconds: -3 * day)
            return .revocationDate
        case .latestTransaction:
            let earlier = chain.transactions.count - 2
            row.latestTransactionID = String(
                world.identifiers.transactionID(chain: index, period: earlier))
            row.webOrderLineItemID = String(
                world.identifiers.lineItemID(chain: index, period: earlier))
            return .latestTransactionID
        case .ownership:
            row.inAppOwnershipType =
                row.inAppOwnershipType == "PURCHASED" ? "FAMILY_SHARED" : "PURCHASED"
            return .inAppOwnershipType
        case .seats:
            guard variant.isMultiple(of: 2) else {
                row.revokedSeats = (row.revokedSeats ?? 0) + 1
                return .revokedSeats
            }
            row.quantity = (row.quantity ?? 1) + 2
            return .quantity
        case .identity:
            row.appAccountToken = world.identifiers.uuid(UInt64(index), 0x0DD)
            return .appAccountToken
        case .wrongApp:
            row.key = SubscriptionKey(
                bundleID: row.key.bundleID + ".other", environment: row.key.environment,
                originalTransactionID: row.key.originalTransactionID)
            return .bundleID
        case .missingLocally, .notFound, .accountNotFound, .invalidID, .duplicateLocal,
            .notificationMissed, .purchaseMissing, .purchaseRefundMissed, .purchaseUnknown:
            return .originalTransactionID
        }
    }

    private func missGrace(_ row: inout LocalSubscription) -> SubscriptionField {
        guard variant.isMultiple(of: 2) else {
            row.gracePeriodExpiresDate = row.gracePeriodExpiresDate?.adding(milliseconds: -3 * day)
            return .gracePeriodExpiresDate
        }
        row.status = 3
        row.gracePeriodExpiresDate = nil
        return .status
    }

    /// Another product of the same group.
    private func otherProduct(than id: String?, in catalogue: Catalogue) -> String? {
        guard let id, let product = catalogue.products.first(where: { $0.id == id }) else {
            return nil
        }
        return catalogue.products.first { $0.group == product.group && $0.id != id }?.id
    }
}
