package import Subscriptions

/// The values on which a check depends, apart from the case: the job's settings and the time.
package struct Policy: Hashable, Sendable {
    /// The time of the check; also decides the UTC day of an absence.
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
    /// Bundles that are not configured but are checked: so few rows name them that they are
    /// probably wrong values, not another app's rows.
    package var unconfiguredBundles: Set<String> = []
    /// The columns that the company's own table keeps, where a mapping says so.
    package var kept = KeptColumns()
    /// Whether the company stores one-time purchases.
    ///
    /// Then a history is read from its beginning, because only the whole of it shows what is wrong in them.
    package var keepsPurchases = false
    /// Whether differences of one-time purchases are corrected, or only reported.
    package var writesPurchases = true
    /// When a run, or `trueup restored`, noticed last that the tables had been restored: nobody is
    /// writing what they held before that.
    package var restoredAt: Timestamp?
    /// The products that the company lists; `nil` where it lists none.
    package var catalogue: ProductCatalogue?

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

    /// Whether each row's history is read: not where nothing is stored that it could show.
    package var readsEveryHistory: Bool {
        history == .always && (kept.hasPeriods || keepsPurchases)
    }

    /// Whether findings of a kind are reported and corrected in this run.
    package func reports(_ kind: FindingKind) -> Bool { onlyKinds?.contains(kind) ?? true }
}

/// When a customer's transaction history is read.
package enum HistoryUse: String, Hashable, Sendable, CaseIterable {
    case whenNeeded = "when-needed"
    case always
    case never
}

/// The part of Apple's statement that a company's table keeps, where it does not have trueup's
/// form.
///
/// By default everything is kept, each value as it is.
package struct KeptColumns: Hashable, Sendable {
    /// Columns that nothing is checked by: the table does not have them.
    package var leftOut: Set<SubscriptionField> = []
    /// For numbers of Apple's status that the table cannot tell from another one: that other
    /// number.
    package var statuses: [Int: Int] = [:]
    /// Whether rows may be inserted.
    package var takesInserts = true
    /// Whether periods are compared and inserted; a table that does not have trueup's form keeps none.
    package var hasPeriods = true
    /// Whether the table has the company's form, not trueup's.
    package var isMapped: Bool { !hasPeriods }
    /// Columns that are compared and never written.
    package var readOnly: Set<SubscriptionField> = []
    /// Columns of one-time purchases that are compared and never written.
    package var purchasesReadOnly: Set<TransactionField> = []
    /// Columns of one-time purchases that nothing is checked by.
    package var leftOutOfPurchases: Set<TransactionField> = []
    /// Whether one-time purchases may be inserted.
    package var takesPurchases = true
    /// How much of a second the columns of times keep.
    package var precision = TimePrecision()

    package init() {}

    /// Takes the columns that a mapping keeps.
    package init(_ mapping: TableMapping) {
        leftOut = Set(mapping.notKept.compactMap(\.ofSubscription))
        for (number, kept) in mapping.statusesKeptAs {
            statuses[Int(clamping: number)] = Int(clamping: kept)
        }
        takesInserts = mapping.inserts != nil
        hasPeriods = false
        readOnly = Set(mapping.readOnly.compactMap(\.ofSubscription))
        guard let purchases = mapping.purchases else { return }
        leftOutOfPurchases = Set(purchases.notKept.compactMap(\.ofPurchase))
        purchasesReadOnly = Set(purchases.readOnly.compactMap(\.ofPurchase))
        takesPurchases = purchases.inserts != nil
    }

    func leavesOut(_ field: SubscriptionField) -> Bool { leftOut.contains(field) }
}

/// Returns why a row is excluded without asking Apple; `nil` when Apple is to be asked.
///
/// Apple knows nothing of a member of a group that the developer manages (`AllRules.seatMember`).
/// A row that was signed a moment ago is in flight: its writer may not have finished, and Apple's
/// answers lag. A date in the future does not count (`settle` in jobs/nightly.yaml), nor does one
/// from before the tables were restored.
package func exclusion(of row: LocalSubscription, policy: Policy) -> ExclusionReason? {
    if row.isSeatMember { return .seatMember }
    guard let signed = row.signedDate, signed <= policy.now,
        policy.now.milliseconds(since: signed) < policy.settleMilliseconds,
        policy.restoredAt.map({ signed > $0 }) ?? true
    else { return nil }
    return .inFlight
}

/// The app through which Apple is asked about a row; `nil` for rows of an app that is not
/// configured, which were not checked.
///
/// A few rows of another bundle are asked through the app of their environment, so that `wrong_app`
/// can be proved; `judge` excludes them when that app does not know them.
package func appToAsk(about row: LocalSubscription, policy: Policy) -> AppIdentity? {
    let apps = policy.apps.filter { $0.environment.rawValue == row.key.environment }
    return apps.first { $0.bundleID == row.key.bundleID }
        ?? (policy.unconfiguredBundles.contains(row.key.bundleID) ? apps.min() : nil)
}

/// The bundles that are not configured and that only a few rows name.
///
/// Many rows mean another app, or wrong settings: asking about each would cost calls and prove
/// nothing.
package func unconfiguredBundles(among table: [AppRows], apps: [AppIdentity]) -> Set<String> {
    let mostRows = 100
    let largestShare = 0.05
    let all = Double(table.reduce(0) { $0 + $1.rows })
    let unconfigured = table.filter { rows in !apps.contains { $0.bundleID == rows.bundleID } }
    return Set(
        Dictionary(grouping: unconfigured, by: \.bundleID).compactMap { bundle, groups in
            let rows = groups.reduce(0) { $0 + $1.rows }
            return rows <= mostRows && Double(rows) <= largestShare * all ? bundle : nil
        })
}
