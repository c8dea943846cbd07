package import Subscriptions

/// One subscription in a status answer: an unsigned status and two signed parts, not verified yet.
///
/// Everything is loose: a broken entry must not take the others of its answer along.
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
