package import Subscriptions

/// The token of an external purchase; its id tells its environment.
///
/// Source: App Store Server Notifications, externalPurchaseToken.
package struct ExternalPurchaseToken: AppStoreModel {
    package static let modelName = "externalPurchaseToken"

    package let externalPurchaseId: String?
    package let tokenCreationDate: Timestamp?
    package let tokenType: String?
    package let tokenExpirationDate: Timestamp?
    package let appAppleId: Int64?
    package let bundleId: String?

    package init(reading reader: inout ObjectReader) throws(UndecodableModel) {
        externalPurchaseId = try reader.text("externalPurchaseId", .strict)
        tokenCreationDate = try reader.moment("tokenCreationDate")
        tokenType = try reader.text("tokenType")
        tokenExpirationDate = try reader.moment("tokenExpirationDate")
        appAppleId = try reader.integer("appAppleId", .strict)
        bundleId = try reader.text("bundleId", .strict)
    }
}
