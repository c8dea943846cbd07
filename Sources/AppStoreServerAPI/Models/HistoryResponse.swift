import JSONWebSignature
package import Subscriptions

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
