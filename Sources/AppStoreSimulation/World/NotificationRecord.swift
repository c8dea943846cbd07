import Subscriptions

/// A notification in Apple's history: its event, date, stated data and delivery attempts.
///
/// In 60 bytes without references, because a world holds millions and sorts them. What a
/// notification without a purchase is about is in `World.subjects`.
struct NotificationRecord: Sendable {
    /// -1 for a notification without a purchase (TEST).
    var chain: Int32
    /// `outcomes`, without the bytes of an optional.
    private var packedOutcomes = AttemptOutcomes.none
    @PackedTimestamp var date: Timestamp
    @PackedTimestamp var streakStart: Timestamp
    /// Index of the chain's transaction that it carries; -1 for none.
    var transaction: Int16
    /// `transactionAsSent`, without the byte of an optional.
    private var packedTransaction: StatedTransaction
    var renewal: RenewalState
    var event: NotificationEvent
    /// Apple's status when it was sent; 0 for one-time purchases.
    var status: UInt8
    var delivery: Delivery
    /// The failure of its unsuccessful attempts; index into `Delivery.failures`.
    var failure: UInt8 = 0
    /// Distinguishes notifications with the same event, chain and date.
    var repetition: UInt8 = 0

    init(
        date: Timestamp, chain: Int32, transaction: Int16, event: NotificationEvent, status: UInt8,
        delivery: Delivery, failure: UInt8 = 0, repetition: UInt8 = 0,
        transactionAsSent: StatedTransaction? = nil, streakStart: Timestamp, renewal: RenewalState
    ) {
        self.date = date
        self.chain = chain
        self.transaction = transaction
        self.event = event
        self.status = status
        self.delivery = delivery
        self.failure = failure
        self.repetition = repetition
        packedTransaction = transactionAsSent ?? .none
        self.streakStart = streakStart
        self.renewal = renewal
    }

    /// The transaction's changeable fields as sent: later events must not change them.
    ///
    /// `nil` for none.
    var transactionAsSent: StatedTransaction? {
        packedTransaction == .none ? nil : packedTransaction
    }

    /// Results of real attempts; `nil` where delivery is only simulated.
    var outcomes: AttemptOutcomes? {
        get { packedOutcomes == .none ? nil : packedOutcomes }
        set { packedOutcomes = newValue ?? .none }
    }

    /// The planned delivery, in one byte.
    struct Delivery: Sendable, Equatable {
        private let code: UInt8

        static let atOnce = Delivery(failedAttempts: 0)
        static let never = Delivery(failedAttempts: .max)
        /// The receiver gets the first attempt, but its answer is lost, so Apple sends it again.
        static let twice = Delivery(failedAttempts: .max - 1)

        init(failedAttempts: UInt8) { code = failedAttempts }

        /// How many attempts fail before one succeeds.
        var failedAttempts: Int { self == .twice ? 1 : Int(code) }

        /// Apple's `sendAttemptResult` values of failed attempts.
        static let failures = [
            "TIMED_OUT", "UNSUCCESSFUL_HTTP_RESPONSE_CODE", "NO_RESPONSE", "SOCKET_ISSUE",
            "TLS_ISSUE", "CIRCULAR_REDIRECT", "UNSUPPORTED_CHARSET", "INVALID_RESPONSE",
            "PREMATURE_CLOSE", "OTHER",
        ]
    }

    /// Sorting key: by date, then by what caused it, so that the order of creation makes no
    /// difference.
    ///
    /// Of plain numbers: a timestamp's comparison is a call into another module.
    var order: (Int64, Int32, UInt8, UInt8) {
        (date.unixMilliseconds, chain, event.rawValue, repetition)
    }

    /// From the event to the first attempt.
    static let sendingMilliseconds: Int64 = 400

    /// When the first attempt is made: a test notification is sent at once, even while the clock is
    /// stopped.
    static func firstAttempt(of key: NotificationKey) -> Timestamp {
        key.event == .test ? key.date : key.date.adding(milliseconds: sendingMilliseconds)
    }

    /// When the next real attempt is due; `nil` after a success or the last attempt.
    func nextAttempt(in environment: SimulatedEnvironment) -> Timestamp? {
        guard let outcomes, outcomes.last != 0, outcomes.count < environment.attemptDelays.count
        else { return nil }
        return Self.firstAttempt(of: key).adding(
            milliseconds: environment.attemptDelays[outcomes.count])
    }

    /// Why planned failures fail; index into `Delivery.failures`.
    var plannedFailure: UInt8 { delivery == .twice ? 0 : failure }

    /// The attempts made by `now`, with date and result.
    func attempts(
        in environment: SimulatedEnvironment, until now: Timestamp
    ) -> [(date: Timestamp, result: String)] {
        var attempts: [(date: Timestamp, result: String)] = []
        for (index, delay) in environment.attemptDelays.enumerated() {
            let moment = Self.firstAttempt(of: key).adding(milliseconds: delay)
            guard moment <= now else { break }
            if let outcomes {
                guard index < outcomes.count else { break }
                let outcome = Int(outcomes[index])
                attempts.append(
                    (moment, outcome == 0 ? "SUCCESS" : Delivery.failures[outcome - 1]))
                continue
            }
            let succeeds = index >= delivery.failedAttempts
            attempts.append(
                (moment, succeeds ? "SUCCESS" : Delivery.failures[Int(plannedFailure)]))
            if succeeds { break }
        }
        return attempts
    }
}

/// What a notification without `data` is about.
indirect enum NotificationSubject: Sendable {
    /// The request that a RENEWAL_EXTENSION/SUMMARY is about.
    case massExtension(MassExtension)
    /// A customer's app transaction, with the moment of the first purchase.
    case appTransaction(account: Int, bought: Timestamp)
    /// A token of an external purchase; its id is derived from the account and this moment.
    case externalPurchase(account: Int, created: Timestamp)
    /// Seats of a group that the developer manages, by their ids.
    case releasedSeats([String])
}

/// The results of real delivery attempts, packed in four bytes: Apple makes at most six attempts.
struct AttemptOutcomes: Hashable, Sendable {
    /// Four bits for each attempt; the highest four bits hold the number of attempts.
    private var bits: UInt32 = 0

    /// Stands for absent results, without the byte of an optional: more attempts than there can be.
    fileprivate static let none = AttemptOutcomes(bits: .max)

    init() {}

    private init(bits: UInt32) { self.bits = bits }

    var count: Int { Int(bits >> 28) }

    /// 0 for success, otherwise an index into `Delivery.failures` plus one.
    subscript(attempt: Int) -> UInt8 { UInt8(bits >> UInt32(attempt * 4) & 15) }

    var last: UInt8? { count == 0 ? nil : self[count - 1] }

    mutating func append(_ outcome: UInt8) {
        guard count < 7 else { return }
        bits = (bits | UInt32(outcome & 15) << UInt32(count * 4)) + (1 << 28)
    }
}

/// Identifies a notification: its index in the growing list changes, its key does not.
struct NotificationKey: Hashable, Sendable {
    let date: Timestamp
    let chain: Int32
    let event: NotificationEvent
    let repetition: UInt8

    fileprivate var order: (Int64, Int32, UInt8, UInt8) {
        (date.unixMilliseconds, chain, event.rawValue, repetition)
    }
}

extension NotificationRecord {
    var key: NotificationKey {
        NotificationKey(date: date, chain: chain, event: event, repetition: repetition)
    }
}

extension World {
    /// The index of a notification in the sorted list; `nil` if it does not exist (any more).
    func index(of key: NotificationKey) -> Int? {
        let index = firstNotification { $0.order >= key.order }
        guard index < notifications.count, notifications[index].key == key else { return nil }
        return index
    }

    /// The index of the first notification at or after a moment.
    func firstNotification(notBefore moment: Timestamp) -> Int {
        firstNotification { $0.date.unixMilliseconds >= moment.unixMilliseconds }
    }

    /// Binary search for the first notification with a property that all later ones have as well.
    private func firstNotification(where matches: (NotificationRecord) -> Bool) -> Int {
        var low = 0
        var high = notifications.count
        while low < high {
            let middle = (low + high) / 2
            if matches(notifications[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// Hands over the notifications that were created since the last call and are to be delivered.
    mutating func takeUndeliveredNotifications() -> [NotificationKey] {
        let fresh = undeliveredNotifications
        undeliveredNotifications.removeAll(keepingCapacity: fresh.count < 4096)
        return fresh
    }
}
