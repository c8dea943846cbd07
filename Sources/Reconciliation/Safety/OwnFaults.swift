import Subscriptions

/// Counts how the dates that a plan corrects stand to Apple's.
///
/// There are 112 offsets of whole quarters within a day's time zones, so this stays small.
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

        /// Both together; the examples of this one come first.
        func joined(with other: Group) -> Group {
            var sum = self
            sum.rows += other.rows
            sum.examples = Array((examples.prefix(1) + other.examples).prefix(Self.mostExamples))
            return sum
        }
    }

    /// Dates that differ within one period, by whatever amount.
    private(set) var withinOnePeriod = 0
    private(set) var divided = Group()
    private(set) var multiplied = Group()
    private var offsets: [Int: Group] = [:]

    mutating func add(_ correction: PlannedCorrection) {
        guard let difference = DateDifference(of: correction) else { return }
        let id = correction.subscription.originalTransactionID
        switch difference.relation {
        case .divided: divided.add(id)
        case .multiplied: multiplied.add(id)
        case .quarterHours(let quarters):
            withinOnePeriod += 1
            offsets[quarters, default: Group()].add(id)
        case .other: withinOnePeriod += 1
        }
    }

    /// An offset that most of the differing dates share, in quarters of an hour; two of them, an
    /// hour apart, where a zone has summer time.
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

    /// Four fifths.
    private func isMost(_ group: Group) -> Bool { group.rows * 5 >= withinOnePeriod * 4 }
}
