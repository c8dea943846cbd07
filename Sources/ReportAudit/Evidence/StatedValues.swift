import Subscriptions

/// What the two signed payloads of a correction say of each column, as canonical JSON text.
///
/// Written from Apple's documentation of the payloads and the contract's columns, not from the code
/// that made the correction. Source: App Store Server API, JWSTransactionDecodedPayload and
/// JWSRenewalInfoDecodedPayload; contract, sections 5 to 7.
struct StatedValues {
    let transaction: SignedTransaction
    let renewal: SignedRenewal?

    /// When Apple stated it: the earlier of the two signatures.
    var signedDate: Timestamp {
        renewal.map { min(transaction.signedDate, $0.signedDate) } ?? transaction.signedDate
    }

    /// A column's value in the table `subscriptions`; `nil` where no payload decides it: the
    /// customer is the company's, the status is not signed.
    func subscriptionValue(of column: String) -> CanonicalJSON? {
        switch column {
        case "original_transaction_id": .string(transaction.originalTransactionID)
        case "bundle_id": .text(transaction.bundleID)
        case "environment": .text(transaction.environment)
        case "app_account_token": .text(transaction.appAccountToken)
        case "product_id": .text(transaction.productID)
        case "expires_date": .time(transaction.expiresDate)
        case "revocation_date": .time(transaction.revocationDate)
        case "in_app_ownership_type": .text(transaction.inAppOwnershipType)
        case "latest_transaction_id": .string(transaction.transactionID)
        case "web_order_line_item_id": .text(transaction.webOrderLineItemID)
        case "signed_date": .time(signedDate)
        default: renewal.flatMap { Self.renewalValue(of: column, in: $0) }
        }
    }

    static func renewalValue(of column: String, in renewal: SignedRenewal) -> CanonicalJSON? {
        switch column {
        case "grace_period_expires_date": .time(renewal.gracePeriodExpiresDate)
        case "auto_renew_status":
            renewal.autoRenewStatus.map { .integer(Int64($0)) } ?? .null
        case "auto_renew_product_id": .text(renewal.autoRenewProductID)
        default: nil
        }
    }

    /// A column's value in the table `transactions`; all of it comes from the one payload.
    func periodValue(of column: String) -> CanonicalJSON? {
        switch column {
        case "transaction_id": .string(transaction.transactionID)
        case "type": .text(transaction.type)
        case "purchase_date": .time(transaction.purchaseDate)
        case "revocation_reason":
            transaction.revocationReason.map { .integer(Int64($0)) } ?? .null
        case "is_upgraded": .integer(transaction.isUpgraded ? 1 : 0)
        case "offer_type": transaction.offerType.map { .integer(Int64($0)) } ?? .null
        case "price": transaction.price.map(CanonicalJSON.integer) ?? .null
        case "currency": .text(transaction.currency)
        case "latest_transaction_id", "app_account_token": nil
        default: subscriptionValue(of: column)
        }
    }

    /// Why an unsigned status cannot stand beside the signed fields; `nil` when it can.
    ///
    /// Times count from the signatures. A day is left for renewals that come late and charges that
    /// come early, an hour for the clocks of two machines.
    func contradiction(ofStatus status: Int64) -> String? {
        let latest = max(transaction.signedDate, renewal?.signedDate ?? transaction.signedDate)
        let isRevoked = transaction.revocationDate != nil
        let isWhollyRevoked = isRevoked && transaction.revocationType != "REFUND_PRORATED"
        let runs = { (milliseconds: Int64) -> Bool in
            guard !isRevoked, !transaction.isUpgraded, let end = transaction.expiresDate else {
                return false
            }
            return end > latest.adding(milliseconds: milliseconds)
        }
        switch status {
        case 1, 4:
            if isWhollyRevoked { return "the signed transaction is revoked" }
            return status == 1 ? activeContradiction : graceContradiction(runs(Self.day))
        case 2: return runs(Self.hour) ? "the signed transaction goes on" : nil
        case 3: return runs(Self.day) ? "the signed transaction goes on" : nil
        case 5:
            return isRevoked || transaction.inAppOwnershipType == "FAMILY_SHARED"
                ? nil : "the signed transaction is not revoked"
        default: return nil
        }
    }

    private var activeContradiction: String? {
        guard let expires = transaction.expiresDate else { return nil }
        let end = max(expires, renewal?.renewalDate ?? expires)
        return hasPassed(end) ? "the signed transaction has ended" : nil
    }

    private func graceContradiction(_ runs: Bool) -> String? {
        if let end = renewal?.gracePeriodExpiresDate {
            return hasPassed(end) ? "the signed grace period has ended" : nil
        }
        return runs && renewal?.isInBillingRetryPeriod != true
            ? "the signed transaction goes on" : nil
    }

    private func hasPassed(_ end: Timestamp) -> Bool {
        end.adding(milliseconds: Self.day) < signedDate
    }

    private static let hour: Int64 = 60 * 60 * 1000
    private static let day: Int64 = 24 * hour
}
