/// What a notification says of a completed mass extension.
///
/// Source: App Store Server Notifications, summary.
package struct NotificationSummary: AppStoreModel {
    package static let modelName = "summary"

    package let environment: String?
    package let appAppleId: Int64?
    package let bundleId: String?
    package let productId: String?
    package let requestIdentifier: String?
    package let storefrontCountryCodes: [String]?
    package let succeededCount: Int64?
    package let failedCount: Int64?

    package init(reading reader: inout ObjectReader) throws(UndecodableModel) {
        environment = try reader.enumeration(
            "environment", known: KnownValues.environments, .strict)
        appAppleId = try reader.integer("appAppleId", .strict)
        bundleId = try reader.text("bundleId", .strict)
        productId = try reader.text("productId")
        requestIdentifier = try reader.text("requestIdentifier")
        storefrontCountryCodes = try reader.texts("storefrontCountryCodes")
        succeededCount = try reader.integer("succeededCount")
        failedCount = try reader.integer("failedCount")
    }
}
