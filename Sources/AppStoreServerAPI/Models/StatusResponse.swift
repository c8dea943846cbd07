package import Subscriptions

/// The answer of Get All Subscription Statuses; nothing in it is verified yet.
///
/// Source: App Store Server API, StatusResponse.
package struct StatusResponse: AppStoreModel, AnswerEnvelope {
    package static let modelName = "statusResponse"

    package let environment: String?
    package let bundleId: String?
    package let appAppleId: Int64?
    /// `nil` when the answer has no such member, which is not the same as no subscription.
    package let data: [SubscriptionGroupIdentifierItem]?
    /// Members that this version does not know, those of groups and entries included.
    package let unknowns: [UnknownValue]

    package init(reading reader: inout ObjectReader) throws(UndecodableModel) {
        environment = try reader.enumeration(
            "environment", known: KnownValues.environments, .strict)
        bundleId = try reader.text("bundleId", .strict)
        appAppleId = try reader.integer("appAppleId", .strict)
        var groups: [SubscriptionGroupIdentifierItem] = []
        let elements = try reader.elements("data", .strict)
        for element in elements ?? [] {
            groups.append(try SubscriptionGroupIdentifierItem(element))
        }
        data = elements == nil ? nil : groups
        unknowns = try reader.finish() + groups.flatMap(\.unknowns)
    }
}
