package import Subscriptions

/// The payload of a version 2 notification, with exactly one of its four kinds of content.
///
/// Source: App Store Server Notifications, responseBodyV2DecodedPayload (2.23).
package struct ResponseBodyV2DecodedPayload: AppStoreModel {
    package static let modelName = "notification"

    package let notificationType: String?
    package let subtype: String?
    package let notificationUUID: String?
    package let data: NotificationData?
    package let version: String?
    package let signedDate: Timestamp?
    package let summary: NotificationSummary?
    package let externalPurchaseToken: ExternalPurchaseToken?
    package let appData: AppData?
    /// Members and values that this version does not know.
    package let unknowns: [UnknownValue]

    /// Whether it has one of the four known kinds of content, in which alone the app is named.
    package var hasKnownContent: Bool {
        data != nil || summary != nil || externalPurchaseToken != nil || appData != nil
    }

    package init(reading reader: inout ObjectReader) throws(UndecodableModel) {
        notificationType = try reader.enumeration(
            "notificationType", known: KnownValues.notificationTypes, .strict)
        subtype = try reader.enumeration("subtype", known: KnownValues.subtypes, .strict)
        notificationUUID = try reader.text("notificationUUID", .strict)
        data = try reader.object("data", as: NotificationData.self, .strict)
        version = try reader.text("version")
        signedDate = try reader.moment("signedDate", .strict)
        summary = try reader.object("summary", as: NotificationSummary.self, .strict)
        externalPurchaseToken = try reader.object(
            "externalPurchaseToken", as: ExternalPurchaseToken.self, .strict)
        appData = try reader.object("appData", as: AppData.self, .strict)
        unknowns = try reader.finish()
    }
}
