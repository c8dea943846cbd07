/// The counts of a pass by verdict.
///
/// Every row in scope has exactly one, so they add up to `inScope`.
package struct RunTotals: Hashable, Sendable {
    package var matched = 0
    package var discrepant = 0
    package var undecided: [UndecidedReason: Int] = [:]
    package var excluded: [ExclusionReason: Int] = [:]
    /// Rows in scope that only gain values: empty columns of the row or of its periods are filled
    /// in, or planned to be, and no column is corrected.
    package var filled = 0

    package init() {}

    package var undecidedCount: Int { undecided.values.reduce(0, +) }
    package var excludedCount: Int { excluded.values.reduce(0, +) }
    package var inScope: Int { matched + discrepant + undecidedCount + excludedCount }
    /// Rows with a verdict of match or discrepancy.
    package var judged: Int { matched + discrepant }
}

/// The counts of a whole plan, which the guards check.
package struct PlanTotals: Hashable, Sendable {
    package var totals: RunTotals
    /// Subscriptions that the plan changes or inserts, each counted once with all its periods.
    ///
    /// Includes those that this pass has already applied.
    package var changes: Int
    /// Rows that Apple did not find.
    package var notFound: Int
    /// Rows with an answer that may be wrong once, so that Apple is asked about them again.
    package var doubtful = 0
    package var verificationFailures: Int
    /// Rows in the whole table now, whatever part of it the job covers.
    package var tableRows: Int
    /// Its rows at the last run that accepted its size; `nil` before the first.
    package var tableRowsBefore: Int?
    /// Rows excluded as in flight only because we corrected them ourselves a moment ago.
    package var inFlightByOurselves = 0
    /// Rows in scope and the quiet ones, about which nobody had to be asked: what a share is of.
    package var coveredRows: Int { max(totals.inScope, tableCoverage ?? 0) }
    /// How many rows the run would have asked about, had there been a reason (a notification, for a
    /// job that only reads these); `nil` for those in scope alone.
    package var tableCoverage: Int?
    /// Rows in scope that were asked about without a sign of a change; `nil` where every row is in
    /// scope.
    package var routine: RoutineRows?
    /// The totals of the job's last complete run; `nil` before the first.
    package var lastRun: RunTotals?

    package init(
        totals: RunTotals, changes: Int, notFound: Int, verificationFailures: Int,
        tableRows: Int = 0, tableRowsBefore: Int? = nil
    ) {
        self.totals = totals
        self.changes = changes
        self.notFound = notFound
        self.verificationFailures = verificationFailures
        self.tableRows = tableRows
        self.tableRowsBefore = tableRowsBefore
    }
}

/// Rows about which Apple was asked as a matter of routine: drawn at random, or because their turn in
/// the sweep had come.
///
/// They stand for all rows about which nobody was asked.
package struct RoutineRows: Hashable, Sendable, Codable {
    /// Those with a verdict of match or discrepancy.
    package var judged: Int
    /// Those that the plan changes.
    package var changed: Int

    package init(judged: Int, changed: Int) {
        self.judged = judged
        self.changed = changed
    }
}

/// How many findings of one kind, severity and state.
package struct FindingCount: Hashable, Sendable {
    package var kind: FindingKind
    package var severity: Severity
    package var state: FindingState
    package var findings: Int

    package init(kind: FindingKind, severity: Severity, state: FindingState, findings: Int) {
        self.kind = kind
        self.severity = severity
        self.state = state
        self.findings = findings
    }
}

/// The list prices of the periods that findings name, by whom the findings harm.
///
/// Each period counts once per direction, in its most severe finding, because one missed renewal
/// causes several findings (missing access, another end, a missing period). Differences of price
/// count separately.
package struct MoneyTotal: Hashable, Sendable, Codable {
    package var currency: String
    package var direction: Direction
    /// Milliunits.
    package var amount: Int64
    /// How many findings, one for each period.
    package var findings: Int

    package init(currency: String, direction: Direction, amount: Int64, findings: Int) {
        self.currency = currency
        self.direction = direction
        self.amount = amount
        self.findings = findings
    }
}
