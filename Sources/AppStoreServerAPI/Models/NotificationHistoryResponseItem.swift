package import Subscriptions

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
        var attempts: [SendAttemptItem] = []
        for element in try reader.elements("sendAttempts", .strict) ?? [] {
            attempts.append(try SendAttemptItem(element))
        }
        sendAttempts = attempts
        firstSendAttemptResult = try reader.text("firstSendAttemptResult")
        unknowns = try reader.finish() + attempts.flatMap(\.unknowns)
    }
}
