import Subscriptions

extension GuardLimits {
    /// `max_own_fault`: the dates differ from Apple's in a way that points to a fault of our own.
    ///
    /// A constant offset within one period is a time zone, a factor of 1,000 a wrong unit. Correcting
    /// row by row would hide the cause, and the faulty writer would write the same dates again.
    func ownFaultObjection(to plan: SurveyedPlan) -> String? {
        guard let allowed = maxOwnFault else { return nil }
        let faults = plan.survey.faults
        func isTooMany(_ group: OwnFaults.Group) -> Bool {
            group.rows >= max(1, minChanges) && group.rows > allowed
        }
        var sentences: [String] = []
        if isTooMany(faults.divided) {
            sentences.append(
                faults.divided.sentence(
                    "are Apple's divided by 1,000", "seconds are stored where milliseconds belong"))
        }
        if isTooMany(faults.multiplied) {
            sentences.append(
                faults.multiplied.sentence(
                    "are Apple's multiplied by 1,000",
                    "microseconds are stored where milliseconds belong"))
        }
        if let (quarters, group) = faults.sharedOffset, isTooMany(group) {
            sentences.append(
                group.sentence(
                    of: faults.withinOnePeriod, Self.text(of: quarters),
                    "local times are stored as if they were UTC"))
        }
        guard !sentences.isEmpty else { return nil }
        let what = sentences.joined(separator: " ")
        // A wrong mapping looks like a wrong writer, and is the likelier mistake in a first run.
        guard !plan.isOfMappedTable else {
            return what
                + " max_own_fault allows \(allowed) rows. First compare `form` and `zone` of the column "
                + "in your mapping, or the answers of your store program, with what the column holds. "
                + "If they are right, one program of yours writes these dates wrongly: fix it. Then "
                + "run the job again."
        }
        return what
            + " Probably one program of yours writes these dates "
            + "wrongly; max_own_fault allows \(allowed) rows. Fix that program first, then run the job "
            + "again."
    }

    /// For example `are 8 h later than Apple's`, `are 1 h or 2 h later than Apple's`.
    private static func text(of quarters: [Int]) -> String {
        let isLater = (quarters.first ?? 0) > 0
        let amounts = quarters.map { quarters in
            let (hours, minutes) = (abs(quarters) / 4, abs(quarters) % 4 * 15)
            return [hours > 0 ? "\(hours) h" : nil, minutes > 0 ? "\(minutes) min" : nil]
                .compactMap(\.self).joined(separator: " ")
        }
        return "are \(amounts.joined(separator: " or ")) \(isLater ? "later" : "earlier") "
            + "than Apple's"
    }
}

/// Counts in which way the dates that a plan corrects differ from Apple's.
///
/// There are only 112 time zone offsets of whole quarters of an hour, so this stays small.
struct OwnFaults: Hashable, Sendable {
    /// Rows that differ in the same way, with the first ids as examples.
    struct Group: Hashable, Sendable {
        private(set) var rows = 0
        private(set) var examples: [String] = []
        private static let mostExamples = 2

        mutating func add(_ id: String) {
            rows += 1
            if examples.count < Self.mostExamples { examples.append(id) }
        }

        /// The sum of both groups; the examples of this one come first.
        func joined(with other: Group) -> Group {
            var sum = self
            sum.rows += other.rows
            sum.examples = Array((examples.prefix(1) + other.examples).prefix(Self.mostExamples))
            return sum
        }

        /// How the dates differ and why; of which dates, where these are not all that differ.
        fileprivate func sentence(of all: Int? = nil, _ how: String, _ why: String) -> String {
            let dates = all.map { all in
                (all == rows ? "All \(all)" : "\(rows) of the \(all)")
                    + " dates that differ within one period"
            }
            return "\(dates ?? "\(rows) dates") \(how): \(why) (for example "
                + "\(examples.joined(separator: ", ")))."
        }
    }

    /// Dates of the same period that differ, by any amount.
    private(set) var withinOnePeriod = 0
    private(set) var divided = Group()
    private(set) var multiplied = Group()
    private var offsets: [Int: Group] = [:]

    /// Compares the first date of the row that the correction changes from one time to another.
    ///
    /// Nothing is counted where it changes none. Nor is an offset where the period may be another one:
    /// a renewal moves dates rightly.
    mutating func add(_ correction: PlannedCorrection) {
        guard case .update(let key, _) = correction.target,
            let (ours, apple) = Self.dates.lazy.compactMap({ correction.times(of: $0) }).first
        else { return }
        let id = key.originalTransactionID
        switch ValuePattern(ours: .time(ours), theirs: .time(apple)) {
        case .secondsForMilliseconds: divided.add(id)
        case .millisecondsForSeconds: multiplied.add(id)
        case .offset(let minutes):
            guard correction.isAboutOnePeriod(in: key.environment) else { return }
            withinOnePeriod += 1
            offsets[Int(minutes / Self.minutesPerQuarter), default: Group()].add(id)
        case .factor, nil:
            if correction.isAboutOnePeriod(in: key.environment) { withinOnePeriod += 1 }
        }
    }

    private static let dates: [SubscriptionField] = [
        .expiresDate, .gracePeriodExpiresDate, .revocationDate,
    ]

    private static let minutesPerQuarter: Int64 = 15

    /// The offset that most of the differing dates have, in quarters of an hour.
    ///
    /// Two offsets that are an hour apart count together, because a zone may have summer time.
    var sharedOffset: (quarters: [Int], group: Group)? {
        let sorted = offsets.sorted { $0.key < $1.key }
        if let most = sorted.max(by: { $0.value.rows < $1.value.rows }), isMost(most.value) {
            return ([most.key], most.value)
        }
        let pairs = sorted.compactMap { quarters, group in
            offsets[quarters + 4].map {
                (quarters: [quarters, quarters + 4], group.joined(with: $0))
            }
        }
        guard let most = pairs.max(by: { $0.1.rows < $1.1.rows }), isMost(most.1) else {
            return nil
        }
        return most
    }

    /// Whether the group has at least four fifths of the differing dates.
    private func isMost(_ group: Group) -> Bool { group.rows * 5 >= withinOnePeriod * 4 }
}

extension PlannedCorrection {
    /// The columns that identify the period.
    private static let period: [SubscriptionField] = [
        .latestTransactionID, .webOrderLineItemID, .productID,
    ]

    fileprivate func times(of field: SubscriptionField) -> (ours: Timestamp, apple: Timestamp)? {
        guard let change = changes.ofSubscription[field], case .time(let ours) = change.before,
            case .time(let apple) = change.after
        else { return nil }
        return (ours, apple)
    }

    /// Whether the correction leaves the columns that identify the period unchanged.
    ///
    /// In production, filling in an empty one is not a change. In the sandbox it counts as a
    /// change, because a renewal there moves a date by minutes or by an hour, like a time zone.
    fileprivate func isAboutOnePeriod(in environment: String) -> Bool {
        let mayBeUnknown = environment == AppStoreEnvironment.production.rawValue
        return Self.period.allSatisfy { field in
            guard let change = changes.ofSubscription[field] else { return true }
            return mayBeUnknown && change.before == .null
        }
    }
}
