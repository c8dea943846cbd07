package import Subscriptions

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
