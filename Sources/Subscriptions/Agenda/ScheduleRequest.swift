/// How a run's questions are found among all rows.
package struct ScheduleRequest: Hashable, Sendable {
    package var now: Timestamp
    /// How old Apple's statement about a row that entitles or is in billing retry may get.
    package var sweepMilliseconds: Int64
    /// The allowed age for ended rows.
    package var sweepEndedMilliseconds: Int64
    package var sample: SampleSize
    /// The seed of the sample; the report states it.
    package var seed: UInt64
    /// Only rows of these apps; `nil` for all.
    package var apps: Set<AppIdentity>?
    /// Whether the run may read histories: only then is a row asked about again because its stored
    /// periods have changed.
    package var readsHistories = true

    package init(
        now: Timestamp, sweepMilliseconds: Int64, sweepEndedMilliseconds: Int64,
        sample: SampleSize, seed: UInt64, apps: Set<AppIdentity>? = nil
    ) {
        self.now = now
        self.sweepMilliseconds = sweepMilliseconds
        self.sweepEndedMilliseconds = sweepEndedMilliseconds
        self.sample = sample
        self.seed = seed
        self.apps = apps
    }

    /// Whether a row is of one of the apps.
    package func includes(_ key: SubscriptionKey) -> Bool {
        apps.map { $0.contains { $0.owns(key) } } ?? true
    }

    /// How old Apple's statement about a row may get.
    package func allowedAge(isLasting: Bool) -> Int64 {
        isLasting ? sweepMilliseconds : sweepEndedMilliseconds
    }
}

/// How many unchanged rows are checked at random.
package enum SampleSize: Hashable, Sendable {
    case rows(Int)
    /// Below 1.
    case share(Double)
}

/// The place of a row in a sweep: the one with the oldest statement comes first.
package struct SweepPlace: Hashable, Comparable, Sendable {
    package var asOf: Timestamp
    package var key: SubscriptionKey

    package init(asOf: Timestamp, key: SubscriptionKey) {
        self.asOf = asOf
        self.key = key
    }

    package static func < (left: SweepPlace, right: SweepPlace) -> Bool {
        (left.asOf, left.key) < (right.asOf, right.key)
    }
}

/// The last rows that this run's sweep takes.
package struct SweepEnds: Hashable, Sendable {
    /// Of those that entitle or are in billing retry; `nil` for none.
    package var lasting: SweepPlace?
    /// Of the ended ones.
    package var ended: SweepPlace?

    package init(lasting: SweepPlace? = nil, ended: SweepPlace? = nil) {
        self.lasting = lasting
        self.ended = ended
    }
}

/// The counts of the schedule.
package struct ScheduleCounts: Hashable, Sendable {
    /// Rows in the table, or of the apps that were named.
    package var rows = 0
    /// Rows that no reason names; the sample is drawn from them and part of them.
    package var unchanged = 0
    /// Questions by reason, the durable ones left out.
    package var due: [QuestionReason: Int] = [:]
    /// When the oldest of the last statements about checked rows of the run's apps was signed.
    package var oldestCheck: Timestamp?
    package var seed: UInt64 = 0

    package init() {}
}

/// Counts distinct customers without keeping more than a fixed number of them.
///
/// Up to `capacity` distinct customers the count is exact. Beyond that only those are kept whose
/// number (64 bits that follow from the id) is small: half of them, then a quarter, and so on. The
/// count is then the kept ones times that factor; its standard error is about 1 in the square root
/// of half the capacity, 0.3 % by default.
package struct CustomerCount: Hashable, Sendable {
    private let capacity: Int
    private var kept: Set<UInt64> = []
    private var halvings = 0
    /// Rows without a customer: each counts as one.
    private var unnamed = 0

    package init(capacity: Int = 1 << 18) { self.capacity = max(1, capacity) }

    /// Adds a row by its customer, or else by its Apple Account, or else as a customer of its own.
    package mutating func add(_ customerID: String?, account: AccountDigest? = nil) {
        guard let bits = ValuesDigest(ofID: customerID)?.bits ?? account?.bits else {
            unnamed += 1
            return
        }
        let number = Self.mixed(bits)
        guard number <= UInt64.max >> halvings else { return }
        kept.insert(number)
        while kept.count > capacity, halvings < 32 {
            halvings += 1
            let bound = UInt64.max >> halvings
            kept = kept.filter { $0 <= bound }
        }
    }

    package var count: Int { (kept.count << halvings) + unnamed }

    package var isExact: Bool { halvings == 0 }

    /// SplitMix64's finishing mix, so that similar ids get unrelated numbers.
    private static func mixed(_ bits: UInt64) -> UInt64 {
        var z = bits &+ 0x9E37_79B9_7F4A_7C15
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// Whose a row is and what they pay for, kept to find customers who pay under two Apple Accounts.
package struct Payer: Hashable, Sendable {
    /// The customer, as the company says.
    package var customer: CustomerDigest
    /// The subscription group that Apple's statement says is paid for; `nil` where none is.
    package var paidGroup: String?

    package init(customer: CustomerDigest, paidGroup: String?) {
        self.customer = customer
        self.paidGroup = paidGroup
    }
}

/// The digest of a `customer_id` alone, by which rows of one customer are found.
///
/// Two customers with the same bits are told apart by the ids in their rows.
package typealias CustomerDigest = ValuesDigest

/// Another subscription that a row's customer pays for, by Apple's last statement about it.
package struct PaidNeighbour: Hashable, Sendable {
    package var originalTransactionID: String
    package var group: String
    /// When that statement ends by itself.
    package var clock: Timestamp?

    /// Of how many paid subscriptions of one `customer_id` pairs are made.
    ///
    /// More of them have a name that is not a customer's, such as `guest`.
    package static let most = 16

    package init(originalTransactionID: String, group: String, clock: Timestamp?) {
        self.originalTransactionID = originalTransactionID
        self.group = group
        self.clock = clock
    }

    /// Which of two ids is the earlier one, as far as ids tell: the shorter, then the smaller.
    package static func isEarlier(_ id: String, than other: String) -> Bool {
        (id.utf8.count, id) < (other.utf8.count, other)
    }
}
