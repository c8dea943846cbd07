/// The tie-out of a pass: `inScope` is always the sum of the four others.
package struct RunTotals: Hashable, Sendable {
    package var matched = 0
    package var discrepant = 0
    package var undecided: [UndecidedReason: Int] = [:]
    package var excluded: [ExclusionReason: Int] = [:]
    /// Of the rows in scope, those in which, or in whose stored periods, something not known yet was
    /// filled in, or is to be, and of which no column is corrected.
    package var filled = 0

    package init() {}

    package var undecidedCount: Int { undecided.values.reduce(0, +) }
    package var excludedCount: Int { excluded.values.reduce(0, +) }
    package var inScope: Int { matched + discrepant + undecidedCount + excludedCount }
    /// Rows about which the run says something.
    package var judged: Int { matched + discrepant }
}

/// What the guards look at: the whole plan in numbers.
package struct PlanTotals: Hashable, Sendable {
    package var totals: RunTotals
    /// Subscriptions that the plan would change or insert, with all their periods counted once;
    /// already applied ones of the same pass included.
    package var changes: Int
    /// Rows that Apple did not find.
    package var notFound: Int
    package var verificationFailures: Int
    /// Rows of the whole table now, whatever the job looks at.
    package var tableRows: Int
    /// Rows that it had at the last run that accepted its size; `nil` before the first.
    package var tableRowsBefore: Int?
    /// Rows excluded as in flight that rest on a correction of ours: nobody else is writing them.
    package var inFlightByOurselves = 0
    /// The tie-out of the job's last complete run; `nil` before the first.
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

/// List prices of the periods that findings speak of, by whom they harm.
///
/// A period counts once for each direction, in its most severe finding: a renewal that was missed
/// shows as missing access, as another end and as a missing period, and is one price. A difference
/// of price counts for itself.
package struct MoneyTotal: Hashable, Sendable, Codable {
    package var currency: String
    package var direction: Direction
    /// Milliunits.
    package var amount: Int64
    /// The findings that count: the periods.
    package var findings: Int

    package init(currency: String, direction: Direction, amount: Int64, findings: Int) {
        self.currency = currency
        self.direction = direction
        self.amount = amount
        self.findings = findings
    }
}
