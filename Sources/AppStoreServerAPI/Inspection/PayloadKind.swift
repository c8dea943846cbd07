package import JSONWebSignature
package import Subscriptions

/// The kinds of signed payloads that Apple sends, by the names of `inspect --kind`.
package enum PayloadKind: String, Hashable, Sendable, CaseIterable {
    case transaction, renewalInfo, notification, appTransaction, realtimeRequest

    /// The contents of a payload that a verdict depends on, whatever its kind.
    package struct Contents: Sendable {
        package let stated: StatedIdentity
        /// When Apple signed it; `nil` when it states no date.
        package let signedDate: Timestamp?
        package let unknowns: [UnknownValue]
    }

    /// Recognises the kind by the payload's members; `nil` when it is unknown.
    ///
    /// Only for payloads whose signature and chain are valid.
    package init?(recognising payload: JSONValue) {
        let names = Set(payload.members.compactMap { $0.name.text })
        if names.contains("notificationType") || names.contains("notificationUUID") {
            self = .notification
        } else if names.contains("receiptType") || names.contains("receiptCreationDate") {
            self = .appTransaction
        } else if names.contains("requestIdentifier"), names.contains("userLocale") {
            self = .realtimeRequest
        } else if names.contains("transactionId") {
            self = .transaction
        } else if names.contains("autoRenewStatus") || names.contains("autoRenewProductId")
            || names.contains("renewalDate")
        {
            self = .renewalInfo
        } else if names.contains("bundleId") {
            // Only a transaction names the app at its top.
            self = .transaction
        } else {
            return nil
        }
    }

    /// Decodes a payload as this kind.
    package func contents(of payload: JSONValue) throws(UndecodableModel) -> Contents {
        switch self {
        case .transaction:
            let model = try JWSTransactionDecodedPayload(payload)
            return Contents(
                stated: model.statedIdentity, signedDate: model.signedDate,
                unknowns: model.unknowns)
        case .renewalInfo:
            let model = try JWSRenewalInfoDecodedPayload(payload)
            return Contents(
                stated: model.statedIdentity, signedDate: model.signedDate,
                unknowns: model.unknowns)
        case .notification:
            let model = try ResponseBodyV2DecodedPayload(payload)
            return Contents(
                stated: model.statedIdentity, signedDate: model.signedDate,
                unknowns: model.unknowns)
        case .appTransaction:
            let model = try AppTransaction(payload)
            return Contents(
                stated: model.statedIdentity, signedDate: model.receiptCreationDate,
                unknowns: model.unknowns)
        case .realtimeRequest:
            let model = try DecodedRealtimeRequestBody(payload)
            return Contents(
                stated: StatedIdentity(
                    namesBundle: false, namesAppAppleID: true, appAppleID: model.appAppleId,
                    environment: model.environment),
                signedDate: model.signedDate, unknowns: model.unknowns)
        }
    }

    /// The prefix of the names of unknown members and values (`UnknownValue.field`).
    package var modelName: String {
        switch self {
        case .transaction: JWSTransactionDecodedPayload.modelName
        case .renewalInfo: JWSRenewalInfoDecodedPayload.modelName
        case .notification: ResponseBodyV2DecodedPayload.modelName
        case .appTransaction: AppTransaction.modelName
        case .realtimeRequest: DecodedRealtimeRequestBody.modelName
        }
    }
}
