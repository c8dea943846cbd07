package import Subscriptions

/// What a judgement depends on apart from the case: the job's settings and the time.
package struct Policy: Hashable, Sendable {
    /// The time of the judgement; also decides the UTC day of an absence.
    package var now: Timestamp
    /// Rows whose `signed_date` is younger than this are in flight.
    package var settleMilliseconds: Int64
    /// Distinct UTC days before "not found" counts as confirmed.
    package var notFoundConfirmations: Int
    package var history: HistoryUse
    /// Columns that are reported but never written.
    package var reportOnlyFields: Set<String>
    /// Only these kinds are reported and corrected; `nil` for all.
    package var onlyKinds: Set<FindingKind>?
    /// The configured apps: where an id may be looked for.
    package var apps: [AppIdentity]
    /// Bundles that are not configured but are asked about: so few rows name them that they are
    /// probably wrong values, not another app's rows.
    package var strayBundles: Set<String> = []
    /// What the company's own table keeps, where a mapping says so.
    package var kept = KeptColumns()

    package init(
        now: Timestamp, apps: [AppIdentity], settleMilliseconds: Int64, notFoundConfirmations: Int,
        history: HistoryUse, reportOnlyFields: Set<String>, onlyKinds: Set<FindingKind>? = nil
    ) {
        self.now = now
        self.apps = apps
        self.settleMilliseconds = settleMilliseconds
        self.notFoundConfirmations = notFoundConfirmations
        self.history = history
        self.reportOnlyFields = reportOnlyFields
        self.onlyKinds = onlyKinds
    }

    /// Whether findings of a kind are reported and corrected in this run.
    func reports(_ kind: FindingKind) -> Bool { onlyKinds?.contains(kind) ?? true }
}

/// When a customer's transaction history is read.
package enum HistoryUse: String, Hashable, Sendable, CaseIterable {
    case whenNeeded = "when-needed"
    case always
    case never
}
