/// What a notification says of an app as a whole; the signed part is not verified yet.
///
/// Source: App Store Server Notifications 2.17, appData.
package struct AppData: AppStoreModel {
    package static let modelName = "appData"

    package let environment: String?
    package let appAppleId: Int64?
    package let bundleId: String?
    package let signedAppTransactionInfo: ArraySlice<UInt8>?

    package init(reading reader: inout ObjectReader) throws(UndecodableModel) {
        environment = try reader.enumeration(
            "environment", known: KnownValues.environments, .strict)
        appAppleId = try reader.integer("appAppleId", .strict)
        bundleId = try reader.text("bundleId", .strict)
        signedAppTransactionInfo = try reader.textBytes("signedAppTransactionInfo", .strict)
    }
}
