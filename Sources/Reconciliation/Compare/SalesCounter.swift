package import Subscriptions

/// One stored subscription, as it counts in sums.
package struct SalesSubscription: Sendable {
    package var isSandbox: Bool
    package var isFamilyShared: Bool
    package var productID: String?
    package var status: SubscriptionStatus?
    package var expiresDate: Timestamp?
    package var gracePeriodExpiresDate: Timestamp?
    package var renews: Bool?
    /// When Apple signed the statement that the row holds; `nil` where it holds none.
    package var signedDate: Timestamp?
    /// All periods that Apple signed; `nil` where they are not stored as a whole.
    package var periods: [LocalTransaction]?

    /// - Parameters:
    ///   - row: The stored row.
    ///   - signedDate: When Apple signed what the row holds; `nil` where the row holds something else.
    ///   - periods: All periods that Apple signed; `nil` where they are not stored as a whole.
    package init(_ row: LocalSubscription, signedDate: Timestamp?, periods: [LocalTransaction]?) {
        isSandbox = row.key.environment != AppStoreEnvironment.production.rawValue
        isFamilyShared = row.inAppOwnershipType == "FAMILY_SHARED"
        productID = row.productID
        status = row.status.map(SubscriptionStatus.init(rawValue:))
        expiresDate = row.expiresDate
        gracePeriodExpiresDate = row.gracePeriodExpiresDate
        renews = row.autoRenewStatus.map { $0 == 1 }
        self.signedDate = signedDate
        self.periods = periods
    }
}

/// Counts stored subscriptions by product, day and measure, one after the other.
package struct SalesCounter: Sendable {
    /// A day with its two ends.
    private struct Clock: Sendable {
        let starts: [Timestamp]
        let ends: [Timestamp]

        init(_ days: [Int64], _ zone: SalesZone) {
            starts = days.map { zone.start(ofDay: $0) }
            ends = days.map { zone.start(ofDay: $0 + 1) }
        }

        /// The places of the days at whose end something was that began and ended then.
        func days(from begin: Timestamp, to end: Timestamp) -> Range<Int> {
            let first = ends.partitioned { $0 > begin }
            return first..<max(first, ends.partitioned { $0 > end })
        }

        /// The place of the day on which something happened.
        func day(of moment: Timestamp) -> Int? {
            let place = ends.partitioned { $0 > moment }
            return place < ends.count && starts[place] <= moment ? place : nil
        }
    }

    /// The parts of what is counted under a product and a measure.
    private enum Part: Hashable, Sendable {
        case own, otherZone, familyShared, sandbox, unchecked, doubtful
    }

    private struct Key: Hashable, Sendable {
        let product: String
        let measure: SalesMeasure
        let part: Part
    }

    /// Renewals begin when the period before ends; clocks may differ by this much.
    private static let seam = Milliseconds.perHour
    private static let retryDays: Int64 = 60
    /// How long a grace period may be, in days.
    private static let graceDays: [Int64] = [3, 6, 16, 28]

    /// The measures in which a row may count on a day on which its payment may have failed.
    private static let open: [SalesMeasure] = [.billingRetry, .gracePeriod, .subscriptions]

    private let clock: Clock
    private let otherClock: Clock
    private var sums: [Key: [Int64]] = [:]
    /// The numbers to which the row being added belongs, as its statement says.
    private var held: [(product: String, measure: SalesMeasure, days: Range<Int>)] = []
    /// The products of all rows.
    package private(set) var products: Set<String> = []
    /// How many rows may be in a number and have no product yet.
    package private(set) var rowsWithoutProduct = 0
    /// Stands for the product of these rows.
    private static let unknownProduct = ""

    /// - Parameters:
    ///   - days: In ascending order.
    ///   - zone: The zone of the report.
    package init(days: [Int64], zone: SalesZone) {
        clock = Clock(days, zone)
        otherClock = Clock(days, zone.other)
    }

    /// The numbers of one product, day and measure.
    package struct Count: Hashable, Sendable {
        package var own: Int64 = 0
        package var otherZone: Int64 = 0
        package var familyShared: Int64 = 0
        package var sandbox: Int64 = 0
        /// Rows that may belong to the number and are not in `own`.
        package var unchecked: Int64 = 0
        /// Rows in `own` that may not belong to the number.
        package var doubtful: Int64 = 0

        /// By how much Apple's number may differ for want of statements: more of the rows may belong to
        /// it, or fewer.
        package func open(_ gap: Int64) -> Int64 { gap > 0 ? unchecked : doubtful }
    }

    /// Of the subscriptions as a whole, rows without a product are counted by `withoutProduct`.
    package func count(_ product: String, _ measure: SalesMeasure, day: Int) -> Count {
        func sum(_ part: Part) -> Int64 { self.sum(product, measure, part, day) }
        var count = Count(
            own: sum(.own), otherZone: sum(.otherZone), familyShared: sum(.familyShared),
            sandbox: sum(.sandbox), unchecked: sum(.unchecked), doubtful: sum(.doubtful))
        // A row without a product may be of each.
        if measure != .subscriptions {
            count.unchecked += self.sum(Self.unknownProduct, measure, .unchecked, day)
        }
        return count
    }

    /// How many rows without a product may be a subscription of some product on a day.
    package func withoutProduct(day: Int) -> Int64 {
        sum(Self.unknownProduct, .subscriptions, .unchecked, day)
    }

    private func sum(
        _ product: String, _ measure: SalesMeasure, _ part: Part, _ day: Int
    ) -> Int64 {
        let key = Key(product: product, measure: measure, part: part)
        guard let days = sums[key], days.indices.contains(day) else { return 0 }
        return days[day]
    }

    package mutating func add(_ row: SalesSubscription) {
        held.removeAll(keepingCapacity: true)
        if let product = row.productID, !row.isSandbox { products.insert(product) }
        guard let signed = row.signedDate else { return addUnchecked(row, before: nil) }
        guard let unsorted = row.periods else {
            // What ended long before has no part in these days.
            if hasEnded(row), let first = clock.starts.first, Self.mayHaveRetried(row, first) {
                return
            }
            return addUnchecked(row, before: nil)
        }
        let periods = unsorted.filter { $0.purchaseDate != nil }.sorted {
            ($0.purchaseDate ?? signed, $0.key) < ($1.purchaseDate ?? signed, $1.key)
        }
        var row = row
        row.productID = row.productID ?? periods.last?.productID
        if row.isSandbox || row.isFamilyShared {
            let part: Part = row.isSandbox ? .sandbox : .familyShared
            return add(row, periods, signed, clock, part)
        }
        add(row, periods, signed, clock, .own)
        addUnchecked(row, before: signed)
        add(row, periods, signed, otherClock, .otherZone)
        addUncertain(row, periods, signed)
    }

    private mutating func add(
        _ product: String?, _ measure: SalesMeasure, _ part: Part, _ days: Range<Int>
    ) {
        guard let product, !days.isEmpty else { return }
        let none = [Int64](repeating: 0, count: clock.ends.count)
        let key = Key(product: product, measure: measure, part: part)
        for day in days { sums[key, default: none][day] += 1 }
        if part == .own { held.append((product, measure, days)) }
    }

    private mutating func add(
        _ product: String?, _ measure: SalesMeasure, _ part: Part, on day: Int?
    ) {
        if let day { add(product, measure, part, day..<day + 1) }
    }

    private mutating func add(
        _ row: SalesSubscription, _ periods: [LocalTransaction], _ signed: Timestamp,
        _ clock: Clock, _ part: Part
    ) {
        for (index, period) in periods.enumerated() {
            guard let begin = period.purchaseDate, let natural = period.expiresDate else {
                continue
            }
            let next = index + 1 < periods.count ? periods[index + 1].purchaseDate : nil
            let end = [natural, period.revocationDate, next].compactMap(\.self).min() ?? natural
            if let measure = Self.active(period) {
                add(period.productID, measure, part, clock.days(from: begin, to: end))
            }
            let day = clock.day(of: begin)
            let event = Self.event(period, after: index > 0 ? periods[index - 1] : nil)
            add(period.productID, event, part, on: day)
            add(period.productID, .purchased, part, on: day)
            if let revoked = period.revocationDate {
                let day = clock.day(of: revoked)
                add(period.productID, .refunded, part, on: day)
                add(period.productID, .refundedUnits, part, on: day)
            }
        }
        addEnd(of: row, signed, clock, part)
    }

    /// Counts what follows from the state after the last period.
    private mutating func addEnd(
        of row: SalesSubscription, _ signed: Timestamp, _ clock: Clock, _ part: Part
    ) {
        guard let expired = row.expiresDate else { return }
        let lasting = max(signed, clock.ends.last ?? signed)
        switch row.status {
        case .billingGracePeriod?:
            let end = row.gracePeriodExpiresDate ?? lasting
            add(row.productID, .gracePeriod, part, clock.days(from: expired, to: end))
            add(row.productID, .billingRetry, part, clock.days(from: end, to: lasting))
        case .billingRetry?:
            add(row.productID, .billingRetry, part, clock.days(from: expired, to: lasting))
        case .expired? where row.renews == false && !Self.mayHaveRetried(row, signed):
            add(row.productID, .cancelled, part, on: clock.day(of: expired))
        default: break
        }
    }

    /// Whether Apple's retries may have ended between the end of the period and the statement.
    private static func mayHaveRetried(_ row: SalesSubscription, _ signed: Timestamp) -> Bool {
        guard let expired = row.expiresDate else { return false }
        return signed.milliseconds(since: expired) >= retryDays * Milliseconds.perDay
    }

    /// Counts what the stored statement leaves open, so that no difference is made of it.
    private mutating func addUncertain(
        _ row: SalesSubscription, _ periods: [LocalTransaction], _ signed: Timestamp
    ) {
        // Between two periods: a failed payment, or a subscription that had ended.
        for (earlier, later) in zip(periods, periods.dropFirst()) {
            guard let end = earlier.expiresDate, let begin = later.purchaseDate,
                begin.milliseconds(since: end) > Self.seam
            else { continue }
            for measure in Self.open {
                add(earlier.productID, measure, .unchecked, clock.days(from: end, to: begin))
            }
            add(earlier.productID, .cancelled, .unchecked, on: clock.day(of: end))
        }
        guard let expired = row.expiresDate else { return }
        if row.status == .expired, Self.mayHaveRetried(row, signed) {
            let retryEnd = expired.adding(milliseconds: Self.retryDays * Milliseconds.perDay)
            for measure in Self.open {
                add(row.productID, measure, .unchecked, clock.days(from: expired, to: retryEnd))
            }
            add(row.productID, .cancelled, .unchecked, on: clock.day(of: expired))
        }
        if row.status == .billingRetry {
            // The grace period before, if the app has one, is not stored any more.
            let ends = Self.graceDays.map { expired.adding(milliseconds: $0 * Milliseconds.perDay) }
            guard let end = ends.last(where: { $0 <= signed }) else { return }
            let days = clock.days(from: expired, to: end)
            add(row.productID, .billingRetry, .doubtful, days)
            add(row.productID, .gracePeriod, .unchecked, days)
        }
    }

    /// Counts a row for the days that its statement does not cover.
    ///
    /// It may be in each number that it is not in, and may not be in those that it is in. A row that
    /// had ended when Apple signed cannot be active later, unless the customer came back.
    private mutating func addUnchecked(_ row: SalesSubscription, before signed: Timestamp?) {
        guard !row.isSandbox, !row.isFamilyShared else { return }
        let first: Int
        if let signed {
            guard !hasEnded(row) else { return }
            first = clock.ends.partitioned { $0 > signed }
        } else {
            first = 0
        }
        let days = first..<clock.ends.count
        let product = row.productID ?? Self.unknownProduct
        if row.productID == nil { rowsWithoutProduct += 1 }
        let later = held.filter { $0.product == product && $0.days.overlaps(days) }
        for measure in SalesMeasure.allCases {
            // Every state is one of the subscriptions.
            let isSum = measure == .subscriptions
            let own = later.filter {
                isSum ? SalesMeasure.states.contains($0.measure) : $0.measure == measure
            }
            guard !own.isEmpty else {
                add(product, measure, .unchecked, days)
                continue
            }
            for day in days {
                let isOwn = own.contains { $0.days.contains(day) }
                add(product, measure, isOwn ? .doubtful : .unchecked, day..<day + 1)
            }
        }
    }

    private func hasEnded(_ row: SalesSubscription) -> Bool {
        row.status == .expired || row.status == .revoked
    }

    private static func active(_ period: LocalTransaction) -> SalesMeasure? {
        let isFree = period.price == 0
        switch period.offerType {
        case nil: return .standard
        case 1: return isFree ? .introductoryFree : .introductoryPaid
        case 2: return isFree ? .promotionalFree : .promotionalPaid
        case 3: return isFree ? .offerCodeFree : .offerCodePaid
        case 4: return isFree ? .winBackFree : .winBackPaid
        default: return nil
        }
    }

    /// The event that a period is, from the one before it.
    private static func event(
        _ period: LocalTransaction, after earlier: LocalTransaction?
    ) -> SalesMeasure {
        guard let earlier, let begin = period.purchaseDate, let end = earlier.expiresDate else {
            return .new
        }
        let cameBack =
            begin.milliseconds(since: end) > seam
            || earlier.revocationDate.map { $0 <= begin } ?? false
        if cameBack { return .recovered }
        return period.productID == earlier.productID ? .renewed : .changed
    }
}

extension [Timestamp] {
    /// The first place where the condition holds, which then holds to the end.
    fileprivate func partitioned(_ condition: (Timestamp) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if condition(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
