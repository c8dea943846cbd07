import JSONWebSignature
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
        environment = try reader.environment()
        bundleId = try reader.comparedText("bundleId", .strict)
        appAppleId = try reader.integer("appAppleId", .strict)
        data = try reader.elements("data", .strict)?
            .map { element throws(UndecodableModel) in
                try SubscriptionGroupIdentifierItem(element)
            }
        unknowns = try reader.finish() + (data ?? []).flatMap(\.unknowns)
    }
}

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

/// One subscription in a status answer: an unsigned status and two signed parts, not verified yet.
///
/// All members are read loosely, so that a broken entry does not make the whole answer undecodable.
///
/// Source: App Store Server API, LastTransactionsItem.
package struct LastTransactionsItem: AppStoreModel {
    package static let modelName = "lastTransactions"

    package let status: Int?
    package let originalTransactionId: String?
    package let signedTransactionInfo: ArraySlice<UInt8>?
    package let signedRenewalInfo: ArraySlice<UInt8>?
    /// Members and values that this version does not know.
    package let unknowns: [UnknownValue]

    package init(reading reader: inout ObjectReader) throws(UndecodableModel) {
        status = try reader.enumeration("status", known: KnownValues.statuses)
        originalTransactionId = try reader.text("originalTransactionId")
        signedTransactionInfo = try reader.textBytes("signedTransactionInfo")
        signedRenewalInfo = try reader.textBytes("signedRenewalInfo")
        unknowns = try reader.finish()
    }
}

/// One page of Get Transaction History; nothing in it is verified yet.
///
/// Source: App Store Server API, HistoryResponse.
package struct HistoryResponse: AppStoreModel, AnswerEnvelope {
    package static let modelName = "historyResponse"

    package let revision: String?
    package let hasMore: Bool?
    package let bundleId: String?
    package let appAppleId: Int64?
    package let environment: String?
    /// An entry that is not a text is `nil` here.
    package let signedTransactions: [ArraySlice<UInt8>?]?
    package let unknowns: [UnknownValue]

    package init(reading reader: inout ObjectReader) throws(UndecodableModel) {
        revision = try reader.text("revision", .strict)
        hasMore = try reader.boolean("hasMore", .strict)
        bundleId = try reader.comparedText("bundleId", .strict)
        appAppleId = try reader.integer("appAppleId", .strict)
        environment = try reader.environment()
        signedTransactions = try reader.elements("signedTransactions", .strict)?.map(\.textBytes)
        unknowns = try reader.finish()
    }
}

/// The answer of Get Transaction Info.
///
/// Source: App Store Server API, TransactionInfoResponse.
package struct TransactionInfoResponse: AppStoreModel {
    package static let modelName = "transactionInfoResponse"

    package let signedTransactionInfo: ArraySlice<UInt8>?
    /// Members and values that this version does not know.
    package let unknowns: [UnknownValue]

    package init(reading reader: inout ObjectReader) throws(UndecodableModel) {
        signedTransactionInfo = try reader.textBytes("signedTransactionInfo", .strict)
        unknowns = try reader.finish()
    }
}
