/// One finding as the core makes it: everything but its identity and history, which the store adds.
package struct Finding: Hashable, Sendable {
    package var kind: FindingKind
    package var severity: Severity
    /// The row it concerns; `nil` only for findings that concern no subscription.
    package var key: SubscriptionKey?
    /// The app it belongs to (as text, so that a row of an unknown app can be named).
    package var bundleID: String
    package var environment: String
    package var transactionID: String?
    package var customerID: String?
    package var productID: String?
    /// The column that differs, or a further distinction within the kind (a notificationUUID).
    package var field: String?
    package var localValue: FieldValue
    package var appleValue: FieldValue
    package var localAsOf: Timestamp?
    package var appleAsOf: Timestamp?
    /// When the change happened at Apple that our side lacks; `nil` where no signed date tells.
    package var changedAt: Timestamp?
    package var direction: Direction
    /// Milliunits of `currency`.
    package var amount: Int64?
    package var currency: String?
    /// A short, constant text on what most likely went wrong; findings are grouped by it.
    package var cause: String?
    package var evidence: EvidenceDigest?
    package var action: FindingAction

    package init(kind: FindingKind, severity: Severity, bundleID: String, environment: String) {
        self.kind = kind
        self.severity = severity
        self.bundleID = bundleID
        self.environment = environment
        self.localValue = .null
        self.appleValue = .null
        self.direction = .neutral
        self.action = .none
    }

    /// A finding about a row, with the row's own values filled in.
    package init(kind: FindingKind, severity: Severity, row: LocalSubscription) {
        self.init(
            kind: kind, severity: severity, bundleID: row.key.bundleID,
            environment: row.key.environment)
        self.key = row.key
        self.transactionID = row.latestTransactionID
        self.customerID = row.customerID
        self.productID = row.productID
        self.localAsOf = row.signedDate
    }
}

/// Whom a difference harms.
package enum Direction: String, Hashable, Sendable, CaseIterable, Codable {
    case customerLoses = "customer_loses"
    case companyLoses = "company_loses"
    case neutral
}

/// What was done about a finding.
package enum FindingAction: String, Hashable, Sendable, CaseIterable {
    case none, planned, corrected, inserted, recovered, refused
}

/// Where a finding stands over the nights.
package enum FindingState: String, Hashable, Sendable, CaseIterable {
    case new, open, corrected, recurring
    /// Known to somebody, and as it was when they said so.
    case acknowledged
}

/// A finding as reported: with its identity over the nights.
package struct ReportedFinding: Hashable, Sendable {
    package var findingID: String
    package var runID: String
    package var state: FindingState
    package var firstSeen: Timestamp
    package var finding: Finding

    package init(
        findingID: String, runID: String, state: FindingState, firstSeen: Timestamp,
        finding: Finding
    ) {
        self.findingID = findingID
        self.runID = runID
        self.state = state
        self.firstSeen = firstSeen
        self.finding = finding
    }
}
