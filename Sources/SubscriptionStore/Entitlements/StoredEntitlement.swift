import GRDB
import Reconciliation
import Subscriptions

extension StoredEntitlement.Key {
    var arguments: StatementArguments { [bundleID, environment, customerID, entitlement] }
}

/// Rows of `trueup_entitlements`.
extension StoredEntitlement {
    init(_ grant: EntitlementAccess, of customer: String) {
        self.init(
            key: Key(
                bundleID: grant.bundleID, environment: grant.environment, customerID: customer,
                entitlement: grant.entitlement),
            expiresDate: grant.until, gracePeriodExpiresDate: grant.graceUntil,
            originalTransactionID: grant.originalTransactionID, productID: grant.productID,
            willRenew: grant.willRenew, signedDate: grant.asOf, ownership: grant.ownership)
    }

    /// The columns that `init(_:)` reads, of the table `e`.
    static let columns = """
        e.bundle_id, e.environment, e.customer_id, e.entitlement, e.expires_date,
        e.grace_period_expires_date, e.original_transaction_id, e.product_id, e.will_renew,
        e.signed_date, e.ownership
        """

    init(_ row: Row) {
        var columns = RowColumns(row)
        self.init(
            key: Key(
                bundleID: columns.requiredText(), environment: columns.requiredText(),
                customerID: columns.requiredText(), entitlement: columns.requiredText()),
            expiresDate: columns.time(), gracePeriodExpiresDate: columns.time(),
            originalTransactionID: columns.requiredText(), productID: columns.requiredText(),
            willRenew: columns.integer().map { $0 != 0 }, signedDate: columns.time(),
            ownership: columns.text())
    }

    func lastsLonger(than other: StoredEntitlement) -> Bool {
        (expiresDate?.unixMilliseconds ?? .max) > (other.expiresDate?.unixMilliseconds ?? .max)
    }

    func rests(onOneOf keys: [SubscriptionKey]) -> Bool {
        keys.contains {
            $0.bundleID == key.bundleID && $0.environment == key.environment
                && $0.originalTransactionID == originalTransactionID
        }
    }
}
