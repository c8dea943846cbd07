import Subscriptions

/// One purchased period or one-time purchase, kept small: a world holds millions.
///
/// Its ids follow from its place (`IdentifierScheme`) and its price from what is sold, so they are
/// not stored.
struct StoredTransaction: Sendable {
    var purchaseDate: Timestamp
    /// Meaningless for one-time purchases other than non-renewing ones.
    var expiresDate: Timestamp
    /// Moves when the customer upgrades away or the store revokes it; history is sorted by it.
    var modifiedDate: Timestamp
    @Compact var revocationDate: Timestamp?
    var product: UInt16
    /// Percent on top of the ordinary price.
    var priceIncreasePercent: UInt8 = 0
    /// The first one of a subscription, a resubscription or an upgrade is bought, not renewed.
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

    /// Payments of a commitment are still to come: it goes on whatever the customer decides.
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
