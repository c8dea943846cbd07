package import Subscriptions

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
