/// Keeps retries a small part of the traffic, so that a sick server is not asked more than a
/// healthy one.
///
/// At most a tenth of the calls, on top of an allowance that lets small runs retry at all. Waits
/// that the server itself ordered (429) are not its business.
package struct RetryBudget: Sendable {
    package let allowance: Int
    package let share: Double
    package private(set) var calls = 0
    package private(set) var retries = 0

    package init(allowance: Int = 50, share: Double = 0.1) {
        self.allowance = allowance
        self.share = share
    }

    /// Counts a first attempt.
    package mutating func callWasMade() {
        calls += 1
    }

    /// Counts a retry when it may be made.
    package mutating func retryWasWanted() -> Bool {
        guard Double(retries + 1) <= Double(allowance) + share * Double(calls) else { return false }
        retries += 1
        return true
    }
}
