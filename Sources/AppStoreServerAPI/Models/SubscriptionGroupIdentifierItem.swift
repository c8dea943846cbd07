package import Subscriptions

/// The subscriptions of one group in a status answer.
///
/// The group's id is read loosely: without it its entries are refused, but not those of other
/// groups.
///
/// Source: App Store Server API, SubscriptionGroupIdentifierItem.
package struct SubscriptionGroupIdentifierItem: AppStoreModel {
    package static let modelName = "statusResponse.data"

    package let subscriptionGroupIdentifier: String?
    /// An entry that is not even an object is `nil` here.
    package let lastTransactions: [LastTransactionsItem?]
    package let unknowns: [UnknownValue]

    package init(reading reader: inout ObjectReader) throws(UndecodableModel) {
        subscriptionGroupIdentifier = try reader.text("subscriptionGroupIdentifier")
        let elements = try reader.elements("lastTransactions", .strict) ?? []
        lastTransactions = elements.map { try? LastTransactionsItem($0) }
        unknowns = try reader.finish() + lastTransactions.flatMap { $0?.unknowns ?? [] }
    }
}
