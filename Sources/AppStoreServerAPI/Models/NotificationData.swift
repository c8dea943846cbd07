/// What a notification says of a subscription or transaction; the signed parts are not verified yet.
///
/// Source: App Store Server Notifications, data.
package struct NotificationData: AppStoreModel {
    package static let modelName = "data"

    package let environment: String?
    package let appAppleId: Int64?
    package let bundleId: String?
    package let bundleVersion: String?
    package let signedTransactionInfo: ArraySlice<UInt8>?
    package let signedRenewalInfo: ArraySlice<UInt8>?
    package let status: Int?
    package let consumptionRequestReason: String?

    package init(reading reader: inout ObjectReader) throws(UndecodableModel) {
        environment = try reader.enumeration(
            "environment", known: KnownValues.environments, .strict)
        appAppleId = try reader.integer("appAppleId", .strict)
        bundleId = try reader.text("bundleId", .strict)
        bundleVersion = try reader.text("bundleVersion")
        signedTransactionInfo = try reader.textBytes("signedTransactionInfo", .strict)
        signedRenewalInfo = try reader.textBytes("signedRenewalInfo", .strict)
        status = try reader.enumeration("status", known: KnownValues.statuses)
        consumptionRequestReason = try reader.enumeration(
            "consumptionRequestReason", known: KnownValues.consumptionRequestReasons)
    }
}
