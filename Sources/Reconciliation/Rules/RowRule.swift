import Subscriptions

/// A rule about one held row beside Apple's statement, apart from the status.
protocol RowRule: Rule {
    func differences(in comparison: Comparison) -> [Difference]
}
