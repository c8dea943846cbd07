import Subscriptions

extension AllRules {
    /// `account_not_found`: Apple does not find the account (4040001).
    ///
    /// Its retryable variant (4040002) is retried and never becomes a finding. Access is not changed.
    static let accountNotFound = StandingRule("AccountNotFoundRule") { scoped, context in
        let row = scoped.row
        guard context.isAsked(row), context.belongsToApp(row),
            context.item.statuses == .accountNotFound
        else { return nil }
        var finding = Finding(kind: .accountNotFound, severity: .medium, row: row)
        finding.localValue = row.value(of: .status)
        finding.direction = row.isEntitling ? .companyLoses : .neutral
        finding.cause = "account unknown to Apple"
        return .discrepancy(Difference(finding, payload: nil))
    }
}
