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
