/// 64 bits over an `appTransactionId`, which is one for each Apple Account and app: subscriptions with
/// the same are answered by one call.
///
/// Two accounts with the same bits would only wait for each other: what an answer does not contain
/// is asked for all the same.
package struct AccountDigest: Hashable, Sendable {
    package let bits: UInt64

    package init(bits: UInt64) { self.bits = bits }

    /// `nil` for no id, or an empty one.
    package init?(appTransactionID: String?) {
        guard let appTransactionID, !appTransactionID.isEmpty else { return nil }
        var digest = ValuesDigest()
        digest.add(appTransactionID)
        bits = digest.bits
    }
}
