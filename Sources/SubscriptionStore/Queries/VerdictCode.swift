import Subscriptions

/// A verdict as it stands in `trueup_pass_rows` and `trueup_run_totals`.
enum VerdictCode: Int64 {
    /// Something was said about it, but it is no row in scope.
    case noted = 0
    case match = 1
    case discrepancy = 2
    case undecided = 3
    case excluded = 4
    /// This pass inserted it: it was no row when the pass began.
    case inserted = 5

    init(_ verdict: Verdict?) {
        self =
            switch verdict {
            case nil: .noted
            case .match: .match
            case .discrepancy: .discrepancy
            case .undecided: .undecided
            case .excluded: .excluded
            }
    }

    static func reason(of verdict: Verdict?) -> String? {
        switch verdict {
        case .undecided(let reason): reason.rawValue
        case .excluded(let reason): reason.rawValue
        case .match, .discrepancy, nil: nil
        }
    }
}
