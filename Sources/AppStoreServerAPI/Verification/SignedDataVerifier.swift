package import JSONWebSignature
package import Subscriptions

/// Verifies and decodes Apple's signed data for one app in one environment.
///
/// First the signature, chain and dates (`JWSVerifier`), then the payload's app, then its
/// environment. Data from Xcode or local testing is not signed by the App Store and is never
/// accepted; these environments cannot be configured.
package struct SignedDataVerifier: Sendable {
    package let app: AppIdentity
    private let appAppleID: Int64?
    private let verifier: JWSVerifier

    /// - Parameters:
    ///   - app: The app and environment whose data is accepted.
    ///   - appAppleID: The app's id in the App Store; needed for production notifications.
    ///   - verifier: Shared by all apps, so that they share its cache.
    package init(app: AppIdentity, appAppleID: Int64?, verifier: JWSVerifier) {
        self.app = app
        self.appAppleID = appAppleID
        self.verifier = verifier
    }

    /// Remarks on revocation, in sentences for the person on call; empty when there is not a
    /// problem.
    package var remarks: [String] {
        guard let mode = verifier.revocationMode else { return [] }
        let tally = verifier.revocationTally
        let app = "\(app.bundleID) (\(app.environment.rawValue))"
        var sentences: [String] = []
        if tally.revoked > 0 {
            sentences.append(
                "\(tally.revoked) signed payloads of \(app) were refused: \(tally.revocation). "
                    + "No row was changed by them. Ask Apple which certificate signs now before "
                    + "running again.")
        }
        if tally.undetermined > 0 {
            let consequence =
                switch mode {
                case .soft: "They were accepted, because revocation is soft."
                case .hard:
                    "Because revocation is hard they were not believed: no row was changed by "
                        + "them, and the next run asks again."
                }
            sentences.append(
                "\(tally.undetermined) signed payloads of \(app) hold as far as they could be "
                    + "checked, but \(tally.doubt). \(consequence)")
        }
        return sentences
    }

    package func transaction(
        _ jws: ArraySlice<UInt8>
    ) async throws(VerificationFailure) -> VerifiedModel<JWSTransactionDecodedPayload> {
        try await verify(jws)
    }

    /// Renewal info names no app; callers must compare it with the transaction next to it.
    package func renewalInfo(
        _ jws: ArraySlice<UInt8>
    ) async throws(VerificationFailure) -> VerifiedModel<JWSRenewalInfoDecodedPayload> {
        try await verify(jws)
    }

    /// The signed parts inside the notification are not verified here.
    ///
    /// Apple adds kinds of content with new types. A notification with unknown content names no app
    /// that could be compared. It is accepted, so that reading the history can continue.
    package func notification(
        _ jws: ArraySlice<UInt8>
    ) async throws(VerificationFailure) -> VerifiedModel<ResponseBodyV2DecodedPayload> {
        try await verify(jws) { $0.namesApp }
    }

    package func appTransaction(
        _ jws: ArraySlice<UInt8>
    ) async throws(VerificationFailure) -> VerifiedModel<AppTransaction> {
        try await verify(jws)
    }

    /// Whether an unsigned envelope names this app and environment.
    func envelopeFailure(of envelope: some AnswerEnvelope) -> VerificationFailure? {
        expected.failure(of: envelope.statedIdentity)
    }

    /// Verifies and decodes a payload, and compares the app and environment that it names.
    ///
    /// - Parameters:
    ///   - jws: The payload as received.
    ///   - namesApp: Whether it names an app at all.
    /// - Returns: The payload, with the bytes that prove it.
    /// - Throws: Why it is refused.
    private func verify<Model: SignedModel>(
        _ jws: ArraySlice<UInt8>, namesApp: (Model) -> Bool = { _ in true }
    ) async throws(VerificationFailure) -> VerifiedModel<Model> {
        let verified: VerifiedModel<Model> = try await verifySignature(of: jws)
        if namesApp(verified.model),
            let failure = expected.failure(of: verified.model.statedIdentity)
        {
            throw failure
        }
        return verified
    }

    private func verifySignature<Model: SignedModel>(
        of jws: ArraySlice<UInt8>
    ) async throws(VerificationFailure) -> VerifiedModel<Model> {
        do throws(JSONWebSignatureError) {
            let unverified = try UnverifiedJWS(jws)
            var decoded: Model?
            let verified = try await verifier.verify(unverified) {
                (payload) throws(JSONWebSignatureError) in
                do throws(UndecodableModel) {
                    let model = try Model(payload.root)
                    decoded = model
                    return model.signedDate?.unixMilliseconds
                } catch {
                    throw JSONWebSignatureError(.format, error.description)
                }
            }
            guard let decoded else {
                throw JSONWebSignatureError(.format, "the payload was not read")
            }
            return VerifiedModel(
                model: decoded,
                evidence: SignedPayload(
                    digest: EvidenceDigest(hexadecimal: verified.digest),
                    received: verified.received))
        } catch {
            throw VerificationFailure(error)
        }
    }

    private var expected: ExpectedIdentity {
        ExpectedIdentity(
            bundleID: app.bundleID, appAppleID: appAppleID, environment: app.environment)
    }
}

extension JWSTransactionDecodedPayload {
    /// The seats of a subscription for a group; `nil` for every other purchase.
    fileprivate var seats: SignedSeats? {
        let sharesPeriod = additionalTransactionReason == "SEAT_ADDITION"
        let quantity = quantity ?? 1
        guard type ?? "Auto-Renewable Subscription" == "Auto-Renewable Subscription",
            multiSeatInfo != nil || sharesPeriod || quantity > 1
        else { return nil }
        return SignedSeats(
            quantity: max(0, quantity),
            revoked: multiSeatInfo.flatMap { MultiSeatInfo($0).revokedSeatQuantity } ?? 0,
            sharesPeriod: sharesPeriod, pricePerSeat: price)
    }

    /// The price of the whole transaction: for seats the sum over the price tiers, because `price`
    /// is then the average of one.
    fileprivate var paidPrice: Int64? {
        guard let price, let seats else { return price }
        return multiSeatInfo.flatMap { MultiSeatInfo($0).price }
            ?? MultiSeatInfo.product(of: price, and: seats.quantity)
    }
}

extension VerificationFailure {
    init(_ error: JSONWebSignatureError) {
        let reason: Reason =
            switch error.reason {
            case .format: .format
            case .chainLength: .chainLength
            case .certificate: .certificate
            case .chain: .chain
            case .signature, .key: .signature
            case .undetermined: .revocation
            }
        self.init(reason: reason, detail: error.detail)
    }
}

/// A decoded payload whose signature, chain, dates, app and environment are verified.
///
/// Only `SignedDataVerifier` creates one.
package struct VerifiedModel<Model: AppStoreModel>: Sendable {
    package let model: Model
    package let evidence: SignedPayload
}

/// Verifies the entries of answers, each on its own.
extension SignedDataVerifier {
    /// One entry of a status answer.
    ///
    /// The unsigned id, the transaction and the renewal info must name the same original
    /// transaction: a renewal info names no app, and the id around them is not signed.
    func statement(
        of item: LastTransactionsItem?, groupID: String?
    ) async throws(RejectedStatement) -> StatedSubscription {
        let id = item?.originalTransactionId
        guard let item, let status = item.status, let groupID, let id,
            let transactionJWS = item.signedTransactionInfo,
            let renewalJWS = item.signedRenewalInfo
        else {
            throw Self.rejection(
                .format, "a status entry lacks its status, an id or a signed part", id: id)
        }
        let transaction: SignedTransaction
        do {
            transaction = try await signedTransaction(transactionJWS)
        } catch {
            throw Self.rejection(error, transactionJWS, id: id)
        }
        let renewal: SignedRenewal
        do {
            renewal = try await signedRenewal(renewalJWS)
        } catch {
            throw Self.rejection(error, renewalJWS, id: id)
        }
        guard transaction.originalTransactionID == id, renewal.originalTransactionID == id else {
            let culprit = transaction.originalTransactionID == id ? renewalJWS : transactionJWS
            throw Self.rejection(
                .crossCheck, "a status entry and its signed parts name different subscriptions",
                culprit, id: id)
        }
        return StatedSubscription(
            status: SubscriptionStatus(rawValue: status), subscriptionGroupID: groupID,
            transaction: transaction, renewal: renewal)
    }

    /// One transaction of a history page or of a transaction answer.
    func transactionStatement(
        _ jws: ArraySlice<UInt8>?
    ) async throws(RejectedStatement) -> SignedTransaction {
        guard let jws else {
            throw Self.rejection(.format, "an entry is not a signed transaction")
        }
        do {
            return try await signedTransaction(jws)
        } catch {
            throw Self.rejection(error, jws)
        }
    }

    /// One entry of a notification history page.
    func statement(
        of item: NotificationHistoryResponseItem?
    ) async throws(RejectedStatement) -> RecordedNotification {
        guard let item, let jws = item.signedPayload else {
            throw Self.rejection(.format, "an entry has no signed notification")
        }
        var attempts: [SendAttempt] = []
        for attempt in item.sendAttempts {
            guard let date = attempt.attemptDate, let result = attempt.sendAttemptResult else {
                throw Self.rejection(.format, "a send attempt lacks its date or result", jws)
            }
            attempts.append(SendAttempt(attemptDate: date, result: result))
        }
        do {
            var notification = try await recordedNotification(jws, sendAttempts: attempts)
            notification.unknowns += item.unknowns
            return notification
        } catch {
            throw Self.rejection(error, jws)
        }
    }

    private static func rejection(
        _ reason: VerificationFailure.Reason, _ detail: String, _ jws: ArraySlice<UInt8>? = nil,
        id: String? = nil
    ) -> RejectedStatement {
        rejection(VerificationFailure(reason: reason, detail: detail), jws, id: id)
    }

    private static func rejection(
        _ failure: VerificationFailure, _ jws: ArraySlice<UInt8>?, id: String? = nil
    ) -> RejectedStatement {
        let payload = jws.map {
            SignedPayload(
                digest: EvidenceDigest(hexadecimal: VerifiedJWS.digest(of: $0)),
                received: $0)
        }
        return RejectedStatement(originalTransactionID: id, failure: failure, payload: payload)
    }
}

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
        statement.revocationPercentage = model.revocationPercentage
        statement.quantity = model.quantity
        statement.isUpgraded = model.isUpgraded ?? false
        statement.inAppOwnershipType = model.inAppOwnershipType
        statement.appAccountToken = model.appAccountToken
        statement.appTransactionID = model.appTransactionId
        statement.offerType = model.offerType
        statement.offerDiscountType = model.offerDiscountType
        statement.seats = model.seats
        statement.price = model.paidPrice.flatMap {
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
        statement.renewalQuantity = model.renewalQuantity
        statement.unknowns = model.unknowns
        return statement
    }

    /// A notification, with the signed parts inside verified as well.
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
        if !isSubscription { recorded.purchase = transaction }
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

/// The root and the markers of Apple's signing chains.
///
/// Source: Apple PKI; JWSDecodedHeader of the App Store Server API.
package enum AppleCertificates {
    /// SHA-256 of Apple Root CA - G3, valid 2014-04-30 to 2039-04-30.
    ///
    /// Every chain contains the certificate itself, so no file has to be shipped or replaced.
    package static let rootG3Fingerprint =
        "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179"

    /// Worldwide Developer Relations intermediates, and leaves that sign App Store receipts.
    package static let markers = CertificateMarkers(
        intermediate: "1.2.840.113635.100.6.2.1", leaf: "1.2.840.113635.100.6.11.1")
}
