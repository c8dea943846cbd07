import Subscriptions

extension Table where Record == ReportedFinding {
    /// The members of a finding, in the order of docs/report-files.md.
    static let findings = Table([
        ("finding_id", { .own($0.findingID) }),
        ("run_id", { .own($0.runID) }),
        ("kind", { .own($0.finding.kind.rawValue) }),
        ("severity", { .own($0.finding.severity.rawValue) }),
        ("state", { .own($0.state.rawValue) }),
        ("app", { .text($0.finding.bundleID) }),
        ("environment", { .text($0.finding.environment) }),
        ("original_transaction_id", { Cell($0.finding.key?.originalTransactionID) }),
        ("transaction_id", { Cell($0.finding.transactionID) }),
        ("customer_id", { Cell($0.finding.customerID) }),
        ("product_id", { Cell($0.finding.productID) }),
        ("field", { Cell($0.finding.field) }),
        ("local_value", { Cell($0.finding.localValue) }),
        ("apple_value", { Cell($0.finding.appleValue) }),
        ("local_as_of", { Cell($0.finding.localAsOf) }),
        ("apple_as_of", { Cell($0.finding.appleAsOf) }),
        ("direction", { .own($0.finding.direction.rawValue) }),
        ("amount", { Cell($0.finding.amount) }),
        ("currency", { Cell($0.finding.currency) }),
        ("cause", { Cell($0.finding.cause) }),
        ("evidence", { Cell($0.finding.evidence) }),
        ("action", { .own($0.finding.action.rawValue) }),
        ("first_seen", { Cell($0.firstSeen) }),
        ("asked_because", { Cell($0.finding.askedBecause?.rawValue) }),
        // The amount once more, under a name that says what it counts.
        ("amount_milliunits", { Cell($0.finding.amount) }),
    ])
}
