import Subscriptions

/// What a notification stated of its transaction, as far as later events can change it: a refund and
/// its reversal, an upgrade, an extension.
struct StatedTransaction: Sendable {
    var expiresDate: Timestamp
    @Compact var revocationDate: Timestamp?
    var revocation: StoredTransaction.Revocation
    var revocationPercent: UInt8
    var revocationReason: UInt8
    var isUpgraded: Bool

    init(_ transaction: StoredTransaction) {
        expiresDate = transaction.expiresDate
        revocationDate = transaction.revocationDate
        revocation = transaction.revocation
        revocationPercent = transaction.revocationPercent
        revocationReason = transaction.revocationReason
        isUpgraded = transaction.isUpgraded
    }

    /// The transaction as it was then.
    func restored(_ transaction: StoredTransaction) -> StoredTransaction {
        var then = transaction
        then.expiresDate = expiresDate
        then.revocationDate = revocationDate
        then.revocation = revocation
        then.revocationPercent = revocationPercent
        then.revocationReason = revocationReason
        then.isUpgraded = isUpgraded
        return then
    }
}
