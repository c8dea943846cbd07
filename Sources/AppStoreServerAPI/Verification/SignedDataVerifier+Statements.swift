package import Subscriptions

/// Converts verified payloads to the values of `Subscriptions`.
extension SignedDataVerifier {
    /// - Throws: `.format` also when the payload lacks one of its ids or its date.
    package func signedTransaction(
        _ jws: ArraySlice<UInt8>
    ) async throws(VerificationFailure) -> SignedTransaction {
        let verified = try await transaction(jws)
        let model = verified.model
        guard let transactionID = model.transactionId, !transactionID.isEmpty,
            let originalTransactionID = model.originalTransactionId,
            !originalTransactionID.isEmpty, let signedDate = model.signedDate
        else { throw Self.incomplete("transaction") }
        var statement = SignedTransaction(
            evidence: verified.evidence, transactionID: transactionID,
            originalTransactionID: originalTransactionID, signedDate: signedDate)
        statement.previousOriginalTransactionID = model.previousOriginalTransactionId
        statement.webOrderLineItemID = model.webOrderLineItemId
        statement.bundleID = model.bundleId
        statement.environment = model.environment
        statement.productID = model.productId
        statement.subscriptionGroupID = model.subscriptionGroupIdentifier
        statement.type = model.type
        statement.purchaseDate = model.purchaseDate
        statement.originalPurchaseDate = model.originalPurchaseDate
        statement.expiresDate = model.expiresDate
        statement.revocationDate = model.revocationDate
        statement.revocationReason = model.revocationReason
        statement.revocationType = model.revocationType
        statement.isUpgraded = model.isUpgraded ?? false
        statement.inAppOwnershipType = model.inAppOwnershipType
        statement.appAccountToken = model.appAccountToken
        statement.appTransactionID = model.appTransactionId
        statement.offerType = model.offerType
        statement.offerDiscountType = model.offerDiscountType
        statement.price = model.price.flatMap {
            $0.magnitude <= ObjectReader.largestAmount ? $0 : nil
        }
        statement.currency = model.currency
        statement.unknowns = model.unknowns
        return statement
    }

    /// - Throws: `.format` also when the payload lacks its id or its date.
    package func signedRenewal(
        _ jws: ArraySlice<UInt8>
    ) async throws(VerificationFailure) -> SignedRenewal {
        let verified = try await renewalInfo(jws)
        let model = verified.model
        guard let originalTransactionID = model.originalTransactionId,
            !originalTransactionID.isEmpty, let signedDate = model.signedDate
        else { throw Self.incomplete("renewal info") }
        var statement = SignedRenewal(
            evidence: verified.evidence, originalTransactionID: originalTransactionID,
            signedDate: signedDate)
        statement.environment = model.environment
        statement.productID = model.productId
        statement.autoRenewProductID = model.autoRenewProductId
        statement.autoRenewStatus = model.autoRenewStatus
        statement.renewalDate = model.renewalDate
        statement.isInBillingRetryPeriod = model.isInBillingRetryPeriod
        statement.gracePeriodExpiresDate = model.gracePeriodExpiresDate
        statement.expirationIntent = model.expirationIntent
        statement.appAccountToken = model.appAccountToken
        statement.unknowns = model.unknowns
        return statement
    }

    /// A notification, with the signed parts inside verified, too.
    ///
    /// - Throws: Also when a part inside is invalid, or the parts name different subscriptions.
    package func recordedNotification(
        _ jws: ArraySlice<UInt8>, sendAttempts: [SendAttempt]
    ) async throws(VerificationFailure) -> RecordedNotification {
        let verified = try await notification(jws)
        let model = verified.model
        guard let uuid = model.notificationUUID, !uuid.isEmpty,
            let type = model.notificationType, let signedDate = model.signedDate
        else { throw Self.incomplete("notification") }
        var unknowns = model.unknowns
        if !model.hasKnownContent {
            unknowns.append(UnknownValue(field: "notification.content", value: type))
        }
        var ids: [String] = []
        var isSubscription = true
        var transaction: SignedTransaction?
        var renewal: SignedRenewal?
        if let part = model.data?.signedTransactionInfo {
            let part = try await signedTransaction(part)
            transaction = part
            ids.append(part.originalTransactionID)
            isSubscription = part.isSubscription
            unknowns += part.unknowns
        }
        if let part = model.data?.signedRenewalInfo {
            let part = try await signedRenewal(part)
            renewal = part
            ids.append(part.originalTransactionID)
            unknowns += part.unknowns
        }
        guard Set(ids).count <= 1 else {
            throw VerificationFailure(
                reason: .crossCheck,
                detail: "the notification's signed parts name different subscriptions")
        }
        var recorded = RecordedNotification(
            evidence: verified.evidence, notificationUUID: uuid, notificationType: type,
            subtype: model.subtype, signedDate: signedDate,
            originalTransactionID: isSubscription ? ids.first : nil,
            sendAttempts: sendAttempts, unknowns: unknowns)
        if isSubscription, let transaction, let renewal, let status = model.data?.status {
            recorded.stated = StatedSubscription(
                status: SubscriptionStatus(rawValue: status),
                subscriptionGroupID: transaction.subscriptionGroupID ?? "",
                transaction: transaction, renewal: renewal)
        }
        if isSubscription {
            recorded.event = BusinessEvent(
                type: type, subtype: model.subtype, transaction: transaction, renewal: renewal)
        }
        return recorded
    }

    private static func incomplete(_ what: String) -> VerificationFailure {
        VerificationFailure(
            reason: .format, detail: "the \(what) lacks an id, a type or its signedDate")
    }
}
