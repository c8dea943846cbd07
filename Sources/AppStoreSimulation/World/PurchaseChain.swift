import Subscriptions

/// The purchases under one original transaction id: the periods of a subscription, or one one-time
/// purchase.
struct PurchaseChain: Sendable {
    /// The state of a subscription; `status` is Apple's number for it.
    enum Phase: UInt8, Sendable {
        case single, active, expired, billingRetry, grace, revoked

        /// Apple's status; 0 for a one-time purchase.
        var status: Int { self == .single ? 0 : Int(rawValue) }
    }

    /// The next event that happens without a customer's action or a scripted step.
    enum NaturalEvent: UInt8, Sendable {
        case none, midPeriod, renewal, billingFailure, graceEnd, retryEnd, recovery, expiry
        case refundReversal, resubscription
        // Later consequences of an event in the middle of a period, before the period ends.
        case reenabling, priceConsent, refundAnswer

        /// Whether it happens before the period's end, which is planned afterwards.
        var isWithinPeriod: Bool {
            [.midPeriod, .reenabling, .priceConsent, .refundAnswer].contains(self)
        }
    }

    var account: Int32
    /// The account's next chain, or -1.
    var nextOfAccount: Int32 = -1
    /// The purchaser's chain where this one is shared by Family Sharing, or -1.
    var leader: Int32 = -1
    /// The first family member's chain, or -1; `nextFollower` links to the others.
    var firstFollower: Int32 = -1
    var nextFollower: Int32 = -1
    /// The index of the purchaser's period that is the member's first.
    ///
    /// Negative after the purchaser migrated: the member then has more periods than the purchaser.
    var sharedFrom: Int32 = 0
    /// The chain that this one replaced in a migration, or -1.
    var predecessor: Int32 = -1
    // The order of what follows leaves no gaps: a world holds millions.
    var renewal: RenewalState
    /// Start of the uninterrupted subscription; gaps of up to 60 days are ignored.
    @PackedTimestamp var streakStart: Timestamp
    /// The two latest extensions of the renewal date.
    @PackedOptionalTimestamp var latestExtension: Timestamp? = nil
    @PackedOptionalTimestamp var earlierExtension: Timestamp? = nil
    var eventDate = PurchaseChain.never
    var random: SeededRandom
    var transactions: [StoredTransaction] = []
    var phase: Phase
    var event = NaturalEvent.none
    var isFamilyShared = false
    /// Whether a migration continued it under another original id; statuses no longer contain it.
    var isReplaced = false
    /// Whether a scenario controls it: then nothing is decided by chance.
    var isScripted = false
    /// While true, every charge fails.
    var paymentFails = false

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

    /// Product of the next billing period: a commitment keeps its own until it ends.
    var nextPeriodProduct: UInt16 {
        if let current, current.owesPayments { return current.product }
        return renewal.nextProduct
    }

    /// Adds a period; the list grows by an eighth, not to twice its size.
    mutating func append(_ transaction: StoredTransaction) {
        let count = transactions.count
        if count == transactions.capacity { transactions.reserveCapacity(count + count / 8 + 1) }
        transactions.append(transaction)
    }

    /// Frees what its list of transactions has reserved for later ones.
    mutating func dropSpareCapacity() {
        guard transactions.capacity > transactions.count else { return }
        var exact: [StoredTransaction] = []
        exact.reserveCapacity(transactions.count)
        exact.append(contentsOf: transactions)
        transactions = exact
    }

    /// The latest period, which determines the status.
    var current: StoredTransaction? { transactions.last }
}
