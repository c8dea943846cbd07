import Subscriptions

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
