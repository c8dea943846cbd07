package import Subscriptions

/// The payload of a signed app transaction.
///
/// Source: App Store Server API, JWSAppTransactionDecodedPayload (1.22).
package struct AppTransaction: AppStoreModel {
    package static let modelName = "appTransaction"

    /// The environment.
    package let receiptType: String?
    package let appAppleId: Int64?
    package let bundleId: String?
    package let applicationVersion: String?
    package let versionExternalIdentifier: Int64?
    package let receiptCreationDate: Timestamp?
    package let originalPurchaseDate: Timestamp?
    package let originalApplicationVersion: String?
    package let deviceVerification: String?
    package let deviceVerificationNonce: String?
    package let preorderDate: Timestamp?
    package let appTransactionId: String?
    package let originalPlatform: String?
    package let storeType: String?
    /// Members and values that this version does not know.
    package let unknowns: [UnknownValue]

    package init(reading reader: inout ObjectReader) throws(UndecodableModel) {
        receiptType = try reader.enumeration(
            "receiptType", known: KnownValues.environments, .strict)
        appAppleId = try reader.integer("appAppleId", .strict)
        bundleId = try reader.comparedText("bundleId", .strict)
        applicationVersion = try reader.text("applicationVersion")
        versionExternalIdentifier = try reader.integer("versionExternalIdentifier")
        receiptCreationDate = try reader.moment("receiptCreationDate", .strict)
        originalPurchaseDate = try reader.moment("originalPurchaseDate")
        originalApplicationVersion = try reader.text("originalApplicationVersion")
        deviceVerification = try reader.text("deviceVerification")
        deviceVerificationNonce = try reader.text("deviceVerificationNonce")
        preorderDate = try reader.moment("preorderDate")
        appTransactionId = try reader.text("appTransactionId")
        originalPlatform = try reader.enumeration("originalPlatform", known: KnownValues.platforms)
        storeType = try reader.text("storeType")
        unknowns = try reader.finish()
    }
}

/// The payload with which Apple asks a server for a retention message; it names no bundle.
///
/// Only `inspect` reads it. Source: the published conformance vectors.
package struct DecodedRealtimeRequestBody: AppStoreModel {
    package static let modelName = "realtimeRequest"

    package let originalTransactionId: String?
    package let appAppleId: Int64?
    package let productId: String?
    package let userLocale: String?
    package let requestIdentifier: String?
    package let environment: String?
    package let signedDate: Timestamp?
    /// Members and values that this version does not know.
    package let unknowns: [UnknownValue]

    package init(reading reader: inout ObjectReader) throws(UndecodableModel) {
        originalTransactionId = try reader.text("originalTransactionId", .strict)
        appAppleId = try reader.integer("appAppleId", .strict)
        productId = try reader.text("productId", .strict)
        userLocale = try reader.text("userLocale", .strict)
        requestIdentifier = try reader.text("requestIdentifier", .strict)
        environment = try reader.environment()
        signedDate = try reader.moment("signedDate", .strict)
        unknowns = try reader.finish()
    }
}
