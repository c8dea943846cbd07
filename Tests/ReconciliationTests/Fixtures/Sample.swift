import Reconciliation
import Subscriptions

/// Made-up facts that agree with each other, for tests to bend.
enum Sample {
    static let app = AppIdentity(bundleID: "com.example.app", environment: .production)
    static let sandbox = AppIdentity(bundleID: "com.example.app", environment: .sandbox)
    static let otherApp = AppIdentity(bundleID: "com.example.other", environment: .production)
    static let id = "2000000000000100"
    static let token = "7e3fb20b-4cdb-47cc-936d-99d65f608138"
    static let now = Timestamp(unixMilliseconds: 1_795_144_624_000)

    static func now(days: Int64 = 0, minutes: Int64 = 0, milliseconds: Int64 = 0) -> Timestamp {
        now.adding(milliseconds: (days * 1440 + minutes) * 60_000 + milliseconds)
    }

    static func policy(_ change: (inout Policy) -> Void = { _ in }) -> Policy {
        var policy = Policy(
            now: now, apps: [app], settleMilliseconds: 15 * 60_000, notFoundConfirmations: 3,
            history: .whenNeeded, reportOnlyFields: ["price", "currency"])
        change(&policy)
        return policy
    }

    static func payload(_ name: String) -> SignedPayload {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        let digits = String(hash, radix: 16)
        let padded = String(repeating: "0", count: 64 - digits.count) + digits
        return SignedPayload(digest: EvidenceDigest(hexadecimal: padded), jws: "jws of \(name)")
    }

    /// Signed fields as Apple has them beside a status; signed just now.
    static func stated(
        _ id: String = id, _ status: SubscriptionStatus = .active,
        _ change: (inout StatedSubscription) -> Void = { _ in }
    ) -> StatedSubscription {
        var transaction = SignedTransaction(
            evidence: payload("transaction \(id)"), transactionID: id + "7",
            originalTransactionID: id, signedDate: now(milliseconds: -300))
        transaction.bundleID = app.bundleID
        transaction.environment = app.environment.rawValue
        transaction.webOrderLineItemID = id + "8"
        transaction.productID = "gold.monthly"
        transaction.subscriptionGroupID = "group"
        transaction.type = "Auto-Renewable Subscription"
        transaction.purchaseDate = now(days: -10)
        transaction.originalPurchaseDate = now(days: -100)
        transaction.expiresDate = now(days: 20)
        transaction.inAppOwnershipType = "PURCHASED"
        transaction.appAccountToken = token
        transaction.price = 10_990
        transaction.currency = "EUR"
        var renewal = SignedRenewal(
            evidence: payload("renewal \(id)"), originalTransactionID: id,
            signedDate: now(milliseconds: -290))
        renewal.autoRenewProductID = "gold.monthly"
        renewal.autoRenewStatus = 1
        var stated = StatedSubscription(
            status: status, subscriptionGroupID: "group", transaction: transaction,
            renewal: renewal)
        adapt(&stated, to: status)
        stated.renewal.renewalDate = stated.transaction.expiresDate
        change(&stated)
        return stated
    }

    private static func adapt(_ stated: inout StatedSubscription, to status: SubscriptionStatus) {
        switch status {
        case .expired:
            stated.transaction.expiresDate = now(days: -10)
            stated.renewal.autoRenewStatus = 0
            stated.renewal.expirationIntent = 1
        case .billingRetry:
            stated.transaction.expiresDate = now(days: -5)
            stated.renewal.isInBillingRetryPeriod = true
        case .billingGracePeriod:
            stated.transaction.expiresDate = now(days: -2)
            stated.renewal.isInBillingRetryPeriod = true
            stated.renewal.gracePeriodExpiresDate = now(days: 14)
        case .revoked:
            stated.transaction.revocationDate = now(days: -1)
        default: break
        }
    }

    /// A row that says exactly what Apple states, on a statement of the day before.
    static func row(
        of stated: StatedSubscription = stated(), app: AppIdentity = app,
        _ change: (inout LocalSubscription) -> Void = { _ in }
    ) -> LocalSubscription {
        var row = LocalSubscription(
            key: SubscriptionKey(app: app, originalTransactionID: stated.originalTransactionID))
        row.customerID = "customer 1"
        row.appAccountToken = stated.transaction.appAccountToken
        row.productID = stated.transaction.productID
        row.status = stated.status.rawValue
        row.expiresDate = stated.transaction.expiresDate
        row.gracePeriodExpiresDate = stated.renewal.gracePeriodExpiresDate
        row.autoRenewStatus = stated.renewal.autoRenewStatus
        row.autoRenewProductID = stated.renewal.autoRenewProductID
        row.revocationDate = stated.transaction.revocationDate
        row.inAppOwnershipType = stated.transaction.inAppOwnershipType
        row.latestTransactionID = stated.transaction.transactionID
        row.webOrderLineItemID = stated.transaction.webOrderLineItemID
        row.quantity = stated.transaction.seats?.quantity
        row.renewalQuantity = stated.renewal.renewalQuantity
        row.revokedSeats = stated.transaction.seats?.revoked
        row.signedDate = now(days: -1)
        row.rowVersion = 3
        change(&row)
        return row
    }

    /// A case in which the row is asked for and Apple answers with these statements.
    static func item(
        _ row: LocalSubscription, _ subscriptions: [StatedSubscription],
        held: [LocalSubscription] = [], _ change: (inout Case) -> Void = { _ in }
    ) -> Case {
        var item = item(row, .answered(StatusAnswer(subscriptions: subscriptions)))
        item.held = held.map { ScopedRow(row: $0) }
        change(&item)
        return item
    }

    /// A case in which the row is asked for and the lookup ends like this.
    static func item(
        _ row: LocalSubscription, _ lookup: Lookup<StatusAnswer>?,
        _ change: (inout Case) -> Void = { _ in }
    ) -> Case {
        var item = Case(
            app: app, askedID: row.key.originalTransactionID, asked: ScopedRow(row: row))
        item.statuses = lookup
        change(&item)
        return item
    }

    /// A stored period that says what Apple's transaction says.
    static func period(
        of transaction: SignedTransaction, _ change: (inout LocalTransaction) -> Void = { _ in }
    ) -> LocalTransaction {
        var local = LocalTransaction(
            key: TransactionKey(
                bundleID: app.bundleID, environment: app.environment.rawValue,
                transactionID: transaction.transactionID),
            originalTransactionID: transaction.originalTransactionID)
        local.productID = transaction.productID
        local.type = transaction.type
        local.purchaseDate = transaction.purchaseDate
        local.expiresDate = transaction.expiresDate
        local.revocationDate = transaction.revocationDate
        local.revocationReason = transaction.revocationReason
        local.webOrderLineItemID = transaction.webOrderLineItemID
        local.inAppOwnershipType = transaction.inAppOwnershipType
        local.isUpgraded = transaction.isUpgraded
        local.offerType = transaction.offerType
        local.price = transaction.price
        local.currency = transaction.currency
        local.signedDate = transaction.signedDate
        change(&local)
        return local
    }
}
