import GRDB
import Reconciliation
package import Subscriptions

/// A row of `trueup_entitlements`.
package struct StoredEntitlement: Hashable, Sendable {
    package struct Key: Hashable, Sendable {
        package var bundleID: String
        package var environment: String
        package var customerID: String
        package var entitlement: String

        var arguments: StatementArguments { [bundleID, environment, customerID, entitlement] }
    }

    package var key: Key
    /// `nil` for life.
    package var expiresDate: Timestamp?
    package var gracePeriodExpiresDate: Timestamp?
    package var originalTransactionID: String
    package var productID: String
    package var willRenew: Bool?
    package var signedDate: Timestamp?
    package var ownership: String?

    init(_ grant: EntitlementAccess, of customer: String) {
        key = Key(
            bundleID: grant.bundleID, environment: grant.environment, customerID: customer,
            entitlement: grant.entitlement)
        expiresDate = grant.until
        gracePeriodExpiresDate = grant.graceUntil
        originalTransactionID = grant.originalTransactionID
        productID = grant.productID
        willRenew = grant.willRenew
        signedDate = grant.asOf
        ownership = grant.ownership
    }

    /// The columns that `init(_:)` reads, of the table `e`.
    static let columns = """
        e.bundle_id, e.environment, e.customer_id, e.entitlement, e.expires_date,
        e.grace_period_expires_date, e.original_transaction_id, e.product_id, e.will_renew,
        e.signed_date, e.ownership
        """

    init(_ row: Row) {
        var columns = RowColumns(row)
        key = Key(
            bundleID: columns.requiredText(), environment: columns.requiredText(),
            customerID: columns.requiredText(), entitlement: columns.requiredText())
        expiresDate = columns.time()
        gracePeriodExpiresDate = columns.time()
        originalTransactionID = columns.requiredText()
        productID = columns.requiredText()
        willRenew = columns.integer().map { $0 != 0 }
        signedDate = columns.time()
        ownership = columns.text()
    }

    /// Whether the customer may use it at this moment.
    package func isActive(at now: Timestamp) -> Bool { expiresDate.map { $0 > now } ?? true }

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
