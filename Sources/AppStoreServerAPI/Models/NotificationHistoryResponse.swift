package import Subscriptions

/// One page of Get Notification History; nothing in it is verified yet.
///
/// Source: App Store Server API, NotificationHistoryResponse.
package struct NotificationHistoryResponse: AppStoreModel {
    package static let modelName = "notificationHistoryResponse"

    package let paginationToken: String?
    package let hasMore: Bool?
    /// An entry that cannot be read is `nil` here.
    package let notificationHistory: [NotificationHistoryResponseItem?]?
    package let unknowns: [UnknownValue]

    package init(reading reader: inout ObjectReader) throws(UndecodableModel) {
        paginationToken = try reader.text("paginationToken", .strict)
        hasMore = try reader.boolean("hasMore", .strict)
        notificationHistory = try reader.elements("notificationHistory", .strict)?.map {
            try? NotificationHistoryResponseItem($0)
        }
        unknowns = try reader.finish()
    }
}

/// One notification of Apple's history and its deliveries.
///
/// Source: App Store Server API, NotificationHistoryResponseItem.
package struct NotificationHistoryResponseItem: AppStoreModel {
    package static let modelName = "notificationHistory"

    package let signedPayload: ArraySlice<UInt8>?
    package let sendAttempts: [SendAttemptItem]
    /// Deprecated; the only record of a delivery where `sendAttempts` is empty.
    package let firstSendAttemptResult: String?
    package let unknowns: [UnknownValue]

    package init(reading reader: inout ObjectReader) throws(UndecodableModel) {
        signedPayload = try reader.textBytes("signedPayload", .strict)
        sendAttempts = try (reader.elements("sendAttempts", .strict) ?? [])
            .map { element throws(UndecodableModel) in try SendAttemptItem(element) }
        firstSendAttemptResult = try reader.text("firstSendAttemptResult")
        unknowns = try reader.finish() + sendAttempts.flatMap(\.unknowns)
    }
}

/// One delivery of a notification that Apple attempted.
///
/// Source: App Store Server API, sendAttemptItem.
package struct SendAttemptItem: AppStoreModel {
    package static let modelName = "sendAttempts"

    package let attemptDate: Timestamp?
    package let sendAttemptResult: String?
    /// Members and values that this version does not know.
    package let unknowns: [UnknownValue]

    package init(reading reader: inout ObjectReader) throws(UndecodableModel) {
        attemptDate = try reader.moment("attemptDate", .strict)
        sendAttemptResult = try reader.enumeration(
            "sendAttemptResult", known: KnownValues.sendAttemptResults, .strict)
        unknowns = try reader.finish()
    }
}
