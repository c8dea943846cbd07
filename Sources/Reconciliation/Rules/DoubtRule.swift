import Subscriptions

/// A rule on whether Apple's statement may be held against a row at all.
///
/// The first doubt ends the judgement of the row: it is undecided, and nothing is written.
protocol DoubtRule: Rule {
    func doubt(in comparison: Comparison, policy: Policy) -> Doubt?
}

/// Why a statement decides nothing, and what to report of it.
struct Doubt: Hashable, Sendable {
    var reason: UndecidedReason
    var differences: [Difference]
}
