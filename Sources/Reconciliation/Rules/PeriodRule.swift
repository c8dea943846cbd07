import Subscriptions

/// A rule about the stored periods of one subscription.
protocol PeriodRule: Rule {
    func differences(in comparison: PeriodComparison) -> [Difference]
}
