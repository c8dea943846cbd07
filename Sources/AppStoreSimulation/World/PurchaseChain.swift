import Subscriptions

/// Everything bought under one original transaction id: a subscription with its periods, or a
/// single one-time purchase.
struct PurchaseChain: Sendable {
    /// Where a subscription stands; `status` is Apple's number for it.
    enum Phase: UInt8, Sendable {
        case single, active, expired, billingRetry, grace, revoked

        /// Apple's status; 0 for a one-time purchase.
        var status: Int { self == .single ? 0 : Int(rawValue) }
    }

    /// What happens next by itself.
    enum NaturalEvent: UInt8, Sendable {
        case none, midPeriod, renewal, billingFailure, graceEnd, retryEnd, recovery, expiry
        case refundReversal, resubscription
        // What follows from something in the middle of a period, before the period's end.
        case reenabling, priceConsent, refundAnswer
    }

    var account: Int32
    /// The account's next chain, or -1.
    var nextOfAccount: Int32 = -1
    /// The purchaser's chain where this one is shared by Family Sharing, or -1.
    var leader: Int32 = -1
    /// The first family member's chain, or -1; the others follow by `nextFollower`.
    var firstFollower: Int32 = -1
    var nextFollower: Int32 = -1
    var isFamilyShared = false
    /// How many of the purchaser's periods come before the member's first.
    ///
    /// Negative after the purchaser migrated: the member's periods go further back.
    var sharedFrom: Int32 = 0
    /// The chain that this one continues after a migration, or -1.
    var predecessor: Int32 = -1
    /// Continued under another original id; answers no longer show it.
    var isReplaced = false
    var phase: Phase
    var event = NaturalEvent.none
    /// A scripted life takes no decisions by chance.
    var isScripted = false
    /// While true, every attempt to charge fails.
    var paymentFails = false
    var eventDate = PurchaseChain.never
    /// Start of the current streak, ignoring lapses up to 60 days.
    var streakStart: Timestamp
    var renewal: RenewalState
    var random: SeededRandom
    var transactions: [StoredTransaction] = []

    static let never = Timestamp(unixMilliseconds: .max)

    init(account: Int32, phase: Phase, product: UInt16, start: Timestamp, random: SeededRandom) {
        self.account = account
        self.phase = phase
        self.streakStart = start
        self.renewal = RenewalState(renewalDate: start, nextProduct: product)
        self.random = random
    }

    var isSubscription: Bool { phase != .single }

    /// Whether the next billing period will renew: Apple's `autoRenewStatus`.
    var renewsNextPeriod: Bool {
        current.map { renewal.renewsNextPeriod(after: $0) } ?? renewal.willRenew
    }

    /// Product of the next billing period: a commitment goes on with its own until it ends.
    var nextPeriodProduct: UInt16 {
        if let current, current.owesPayments { return current.product }
        return renewal.nextProduct
    }

    /// The period that the status rests on.
    var current: StoredTransaction? { transactions.last }
}
