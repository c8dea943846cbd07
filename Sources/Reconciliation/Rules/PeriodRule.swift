import Subscriptions

/// A rule about the stored periods of one subscription.
protocol PeriodRule: Sendable {
    func differences(in comparison: PeriodComparison) -> [Difference]
}
