package import Subscriptions

/// The payload of a version 2 notification, with exactly one of its five kinds of content.
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
    package let unclaimInfo: UnclaimInfo?
    /// Members and values that this version does not know.
    package let unknowns: [UnknownValue]

    /// Whether it has one of the five known kinds of content.
    package var hasKnownContent: Bool { namesApp || unclaimInfo != nil }

    /// Whether its content names the app; released seats need not name it.
    package var namesApp: Bool {
        data != nil || summary != nil || externalPurchaseToken != nil || appData != nil
            || unclaimInfo?.bundleId != nil
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
        unclaimInfo = try reader.object("unclaimInfo", as: UnclaimInfo.self, .strict)
        unknowns = try reader.finish()
    }
}

/// The part of a notification about a subscription or transaction; the signed parts are not
/// verified yet.
///
/// Source: App Store Server Notifications, data.
package struct NotificationData: AppStoreModel, AnswerEnvelope {
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
        environment = try reader.environment()
        appAppleId = try reader.integer("appAppleId", .strict)
        bundleId = try reader.comparedText("bundleId", .strict)
        bundleVersion = try reader.text("bundleVersion")
        signedTransactionInfo = try reader.textBytes("signedTransactionInfo", .strict)
        signedRenewalInfo = try reader.textBytes("signedRenewalInfo", .strict)
        status = try reader.enumeration("status", known: KnownValues.statuses)
        consumptionRequestReason = try reader.enumeration(
            "consumptionRequestReason", known: KnownValues.consumptionRequestReasons)
    }
}

/// The part of a notification about a completed mass extension.
///
/// Source: App Store Server Notifications, summary.
package struct NotificationSummary: AppStoreModel, AnswerEnvelope {
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
        environment = try reader.environment()
        appAppleId = try reader.integer("appAppleId", .strict)
        bundleId = try reader.comparedText("bundleId", .strict)
        productId = try reader.text("productId")
        requestIdentifier = try reader.text("requestIdentifier")
        storefrontCountryCodes = try reader.texts("storefrontCountryCodes")
        succeededCount = try reader.integer("succeededCount")
        failedCount = try reader.integer("failedCount")
    }
}

/// The part of a notification about an app as a whole; the signed part is not verified yet.
///
/// Source: App Store Server Notifications 2.17, appData.
package struct AppData: AppStoreModel, AnswerEnvelope {
    package static let modelName = "appData"

    package let environment: String?
    package let appAppleId: Int64?
    package let bundleId: String?
    package let signedAppTransactionInfo: ArraySlice<UInt8>?

    package init(reading reader: inout ObjectReader) throws(UndecodableModel) {
        environment = try reader.environment()
        appAppleId = try reader.integer("appAppleId", .strict)
        bundleId = try reader.comparedText("bundleId", .strict)
        signedAppTransactionInfo = try reader.textBytes("signedAppTransactionInfo", .strict)
    }
}

/// Which seats of a developer-managed group were released.
///
/// The members that name the app are not documented; where they are there, they are compared. Source:
/// App Store Server Notifications 2.23, unclaimInfo.
package struct UnclaimInfo: AppStoreModel, AnswerEnvelope {
    package static let modelName = "unclaimInfo"

    package let environment: String?
    package let appAppleId: Int64?
    package let bundleId: String?
    package let unclaimSeatIds: [String]?

    package init(reading reader: inout ObjectReader) throws(UndecodableModel) {
        environment = try reader.environment()
        appAppleId = try reader.integer("appAppleId", .strict)
        bundleId = try reader.comparedText("bundleId", .strict)
        unclaimSeatIds = try reader.texts("unclaimSeatIds")
    }
}

/// The token of an external purchase; its id tells its environment.
///
/// Source: App Store Server Notifications, externalPurchaseToken.
package struct ExternalPurchaseToken: AppStoreModel, AnswerEnvelope {
    package static let modelName = "externalPurchaseToken"

    package let externalPurchaseId: String?
    package let tokenCreationDate: Timestamp?
    package let tokenType: String?
    package let tokenExpirationDate: Timestamp?
    package let appAppleId: Int64?
    package let bundleId: String?

    /// Only a prefix of the id shows it.
    package var environment: String? {
        externalPurchaseId.map {
            $0.utf8.starts(with: "SANDBOX".utf8)
                ? AppStoreEnvironment.sandbox.rawValue : AppStoreEnvironment.production.rawValue
        }
    }

    package init(reading reader: inout ObjectReader) throws(UndecodableModel) {
        externalPurchaseId = try reader.text("externalPurchaseId", .strict)
        tokenCreationDate = try reader.moment("tokenCreationDate")
        tokenType = try reader.text("tokenType")
        tokenExpirationDate = try reader.moment("tokenExpirationDate")
        appAppleId = try reader.integer("appAppleId", .strict)
        bundleId = try reader.comparedText("bundleId", .strict)
    }
}
