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

extension RunTotals {
    /// Adds rows of one verdict.
    mutating func add(_ rows: Int, code: Int64, reason: String) throws {
        switch VerdictCode(rawValue: code) {
        case .match: matched += rows
        case .discrepancy: discrepant += rows
        case .undecided:
            guard let reason = UndecidedReason(rawValue: reason) else { throw unknown(reason) }
            undecided[reason, default: 0] += rows
        case .excluded:
            guard let reason = ExclusionReason(rawValue: reason) else { throw unknown(reason) }
            excluded[reason, default: 0] += rows
        case .noted, .inserted, nil: break
        }
    }

    private func unknown(_ reason: String) -> StoreError {
        .inconsistent("The bookkeeping holds a verdict of unknown reason `\(reason)`.")
    }
}
