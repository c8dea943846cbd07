package import Subscriptions

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
