import Subscriptions

/// One purchased period or one-time purchase; compact, because a world holds millions.
///
/// Ids (`IdentifierScheme`) and price (`Catalogue`) are computed from its position and product, so
/// they are not stored.
struct StoredTransaction: Sendable {
    var purchaseDate: Timestamp
    /// Meaningless for one-time purchases other than non-renewing ones.
    var expiresDate: Timestamp
    /// Changes when the customer upgrades or the store revokes the transaction; history is sorted by it.
    var modifiedDate: Timestamp
    @CompactTimestamp var revocationDate: Timestamp?
    var product: UInt16
    /// Price increase in percent of the ordinary price.
    var priceIncreasePercent: UInt8 = 0
    /// False for the first period of a subscription, a resubscription or an upgrade: those are purchases.
    var isRenewal: Bool
    var isUpgraded = false
    /// The app has delivered what was bought (Finish Transaction).
    var isFinished = false
    /// Index into the catalogue's offers.
    var offer: UInt8
    var revocation = Revocation.none
    /// Percent refunded; 0 where it does not apply.
    var revocationPercent: UInt8 = 0
    /// 1 = issue in the app, 0 = other.
    var revocationReason: UInt8 = 0
    /// Number of the monthly payment within a twelve months' commitment, else 0.
    var commitmentPayment: UInt8 = 0

    /// Apple's `revocationType`.
    enum Revocation: UInt8, Sendable {
        case none, refundFull, refundProrated, familyRevoke

        var name: String? {
            switch self {
            case .none: nil
            case .refundFull: "REFUND_FULL"
            case .refundProrated: "REFUND_PRORATED"
            case .familyRevoke: "FAMILY_REVOKE"
            }
        }
    }

    /// Whether a commitment still has payments to come: it then renews even if the customer cancelled.
    var owesPayments: Bool { (1..<12).contains(commitmentPayment) }

    mutating func revoke(_ kind: Revocation, percent: UInt8, reason: UInt8, at moment: Timestamp) {
        revocationDate = moment
        modifiedDate = moment
        revocation = kind
        revocationPercent = percent
        revocationReason = reason
    }

    mutating func reinstate(at moment: Timestamp) {
        revocationDate = nil
        modifiedDate = moment
        revocation = .none
        revocationPercent = 0
        revocationReason = 0
    }
}

/// The fields of a transaction that later events can change (a refund and its reversal, an upgrade, an
/// extension), as a notification stated them.
struct StatedTransaction: Sendable {
    var expiresDate: Timestamp
    @CompactTimestamp var revocationDate: Timestamp?
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

    /// The transaction with these fields as they were.
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

/// An optional timestamp in eight bytes instead of sixteen, because a world holds millions.
@propertyWrapper
struct CompactTimestamp: Hashable, Sendable {
    /// The smallest value stands for `nil`: no event has that date.
    private var milliseconds: Int64

    init(wrappedValue: Timestamp?) {
        milliseconds = wrappedValue?.unixMilliseconds ?? .min
    }

    var wrappedValue: Timestamp? {
        get { milliseconds == .min ? nil : Timestamp(unixMilliseconds: milliseconds) }
        set { milliseconds = newValue?.unixMilliseconds ?? .min }
    }
}
