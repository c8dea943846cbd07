import Subscriptions

/// One purchased period or one-time purchase, in 32 bytes, because a world holds millions.
///
/// Ids (`IdentifierScheme`) and price (`Catalogue`) are computed from its position and product, so
/// they are not stored. Dates are stored as milliseconds after the purchase.
struct StoredTransaction: Sendable {
    private var purchase: PackedMilliseconds
    private var expiresAfter: PackedMilliseconds
    private var modifiedAfter: PackedMilliseconds
    /// `PackedMilliseconds.none` if it is not revoked.
    private var revokedAfter = PackedMilliseconds.none
    var product: UInt16
    /// Index into the catalogue's offers.
    var offer: UInt8
    private var flags: Flags
    /// Price increase in percent of the ordinary price.
    var priceIncreasePercent: UInt8
    private var percentAndReason: UInt8 = 0
    /// Number of the monthly payment within a twelve months' commitment, otherwise 0.
    var commitmentPayment: UInt8 = 0

    private struct Flags: OptionSet {
        let rawValue: UInt8

        static let isRenewal = Flags(rawValue: 1)
        static let isUpgraded = Flags(rawValue: 2)
        static let isFinished = Flags(rawValue: 4)
        /// Three bits hold the revocation.
        static let revocationShift: UInt8 = 3

        mutating func set(_ flag: Flags, to value: Bool) {
            if value { insert(flag) } else { remove(flag) }
        }
    }

    init(
        purchaseDate: Timestamp, expiresDate: Timestamp, modifiedDate: Timestamp,
        product: UInt16, priceIncreasePercent: UInt8 = 0, isRenewal: Bool, offer: UInt8
    ) {
        purchase = PackedMilliseconds(purchaseDate.unixMilliseconds)
        expiresAfter = PackedMilliseconds(expiresDate.milliseconds(since: purchaseDate))
        modifiedAfter = PackedMilliseconds(modifiedDate.milliseconds(since: purchaseDate))
        self.product = product
        self.offer = offer
        flags = isRenewal ? .isRenewal : []
        self.priceIncreasePercent = priceIncreasePercent
    }

    /// Setting it leaves the other dates as they are.
    var purchaseDate: Timestamp {
        get { Timestamp(unixMilliseconds: purchase.value) }
        set {
            let (expires, modified, revoked) = (expiresDate, modifiedDate, revocationDate)
            purchase = PackedMilliseconds(newValue.unixMilliseconds)
            (expiresDate, modifiedDate, revocationDate) = (expires, modified, revoked)
        }
    }

    /// Meaningless for one-time purchases other than non-renewing ones.
    var expiresDate: Timestamp {
        get { date(expiresAfter) }
        set { expiresAfter = packed(newValue) }
    }

    /// Changes when the customer upgrades or the store revokes the transaction; history is sorted
    /// by it.
    var modifiedDate: Timestamp {
        get { date(modifiedAfter) }
        set { modifiedAfter = packed(newValue) }
    }

    var revocationDate: Timestamp? {
        get { revokedAfter == .none ? nil : date(revokedAfter) }
        set { revokedAfter = newValue.map(packed) ?? .none }
    }

    private func date(_ offset: PackedMilliseconds) -> Timestamp {
        Timestamp(unixMilliseconds: purchase.value + offset.value)
    }

    private func packed(_ date: Timestamp) -> PackedMilliseconds {
        PackedMilliseconds(date.unixMilliseconds - purchase.value)
    }

    /// False for the first period of a subscription, a resubscription or an upgrade: those are
    /// purchases.
    var isRenewal: Bool {
        get { flags.contains(.isRenewal) }
        set { flags.set(.isRenewal, to: newValue) }
    }

    var isUpgraded: Bool {
        get { flags.contains(.isUpgraded) }
        set { flags.set(.isUpgraded, to: newValue) }
    }

    /// The app has delivered what was bought (Finish Transaction).
    var isFinished: Bool {
        get { flags.contains(.isFinished) }
        set { flags.set(.isFinished, to: newValue) }
    }

    var revocation: Revocation {
        get { Revocation(rawValue: flags.rawValue >> Flags.revocationShift) ?? .none }
        set {
            let others = flags.rawValue & (1 << Flags.revocationShift - 1)
            flags = Flags(rawValue: others | newValue.rawValue << Flags.revocationShift)
        }
    }

    /// Percent refunded; 0 where it does not apply.
    var revocationPercent: UInt8 {
        get { percentAndReason & 0x7F }
        set { percentAndReason = percentAndReason & 0x80 | newValue & 0x7F }
    }

    /// 1 = issue in the app, 0 = other.
    var revocationReason: UInt8 {
        get { percentAndReason >> 7 }
        set { percentAndReason = percentAndReason & 0x7F | newValue << 7 }
    }

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

    /// Whether a commitment still has payments to come: it then renews even if the customer
    /// cancelled.
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

/// The fields of a transaction that later events can change (a refund and its reversal, an upgrade,
/// an extension), as a notification stated them; in 14 bytes.
struct StatedTransaction: Hashable, Sendable {
    private let expires: PackedMilliseconds
    private let revoked: PackedMilliseconds
    /// The lowest two bits hold the revocation, the next two its reason and whether it is upgraded.
    private let flags: UInt8
    let revocationPercent: UInt8

    /// Stands for an absent one, without the byte of an optional.
    static let none = StatedTransaction()

    var expiresDate: Timestamp { Timestamp(unixMilliseconds: expires.value) }
    var revocationDate: Timestamp? {
        revoked == .none ? nil : Timestamp(unixMilliseconds: revoked.value)
    }
    var revocation: StoredTransaction.Revocation { .init(rawValue: flags & 3) ?? .none }
    var revocationReason: UInt8 { flags >> 2 & 1 }
    var isUpgraded: Bool { flags & 8 != 0 }

    init(_ transaction: StoredTransaction) {
        expires = PackedMilliseconds(transaction.expiresDate.unixMilliseconds)
        revoked =
            transaction.revocationDate.map { PackedMilliseconds($0.unixMilliseconds) } ?? .none
        flags =
            transaction.revocation.rawValue | transaction.revocationReason << 2
            | (transaction.isUpgraded ? 8 : 0)
        revocationPercent = transaction.revocationPercent
    }

    private init() {
        expires = .none
        revoked = .none
        flags = 0
        revocationPercent = 0
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
