/// The counts of a checkpoint by verdict.
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
    /// Includes those that this checkpoint has already applied.
    package var changes: Int
    /// Rows that Apple did not find.
    package var notFound: Int
    /// Rows with an answer that may be wrong once, so that Apple is asked about them again.
    package var doubtful = 0
    /// Rows whose customer's history was needed and not read to its end.
    package var lackingHistory = 0
    package var verificationFailures: Int
    /// Rows in the whole table now, whatever part of it the job covers.
    package var tableRows: Int
    /// Its rows at the last run that accepted its size; `nil` before the first.
    package var tableRowsBefore: Int?
    /// Rows excluded as in flight only because we corrected them ourselves a moment ago.
    package var inFlightByOurselves = 0
    /// One-time purchases that the plan changes or inserts, which `changes` counts as well.
    package var purchaseChanges = 0
    /// The stored one-time purchases, or those that a partial run compared.
    package var purchases = 0
    /// Rows in scope and the quiet ones, which were not checked: what a share is of.
    package var coveredRows: Int { max(totals.inScope, tableCoverage ?? 0) }
    /// How many rows the run would have asked about, had there been a reason (a notification, for a
    /// job that only reads these); `nil` for those in scope alone.
    package var tableCoverage: Int?
    /// Rows in scope that were checked without a sign of a change; `nil` where every row is in
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

/// Rows about which Apple was asked as a matter of routine: drawn at random, or because their turn
/// in the sweep had come.
///
/// They represent all rows which were not checked.
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

/// Measurements of a run besides its verdicts: how late notifications came, and how many calls were
/// made.
package struct RunMeasures: Hashable, Sendable, Codable {
    /// `nil` where the run read no notification.
    package var delivery: DeliveryDelays?
    /// `nil` for runs of earlier versions, which did not measure it, and for runs in tests.
    package var effort: CallEffort?
    /// Purchases whose owner is not known, by `UnownedPurchase.Reason`; `nil` where the run did not look
    /// for them.
    package var unowned: [String: Int]?
    /// The pauses for the company's database; `nil` where no limit is set.
    package var databasePauses: DatabasePauses?
    /// `nil` where no one-time purchase is stored, and where the run checked nothing itself.
    package var purchases: PurchaseTotals?
    /// The names of the apps about which Apple refused to answer, sorted; `nil` for none.
    package var refusedApps: [String]?

    package init(
        delivery: DeliveryDelays? = nil, effort: CallEffort? = nil, unowned: [String: Int]? = nil,
        databasePauses: DatabasePauses? = nil, purchases: PurchaseTotals? = nil,
        refusedApps: [String]? = nil
    ) {
        self.purchases = purchases
        self.refusedApps = refusedApps
        self.delivery = delivery
        self.effort = effort
        self.unowned = unowned
        self.databasePauses = databasePauses
    }
}

/// How long after Apple's signature the notifications came that a run read of Apple's history
/// first.
package struct DeliveryDelays: Hashable, Sendable, Codable {
    /// Those that came to the company's endpoint: when it says so, otherwise by Apple's first
    /// successful attempt.
    package var arrived: DelayFigures?
    /// Those that did not, or were lost there, and that this run brought.
    package var recovered: DelayFigures?
    /// Those that Apple still tries to send.
    package var underway: Int

    package init(arrived: DelayFigures?, recovered: DelayFigures?, underway: Int) {
        self.arrived = arrived
        self.recovered = recovered
        self.underway = underway
    }
}

/// How many delays, the middle one and the longest, in seconds.
package struct DelayFigures: Hashable, Sendable, Codable {
    package var notifications: Int
    /// Half of them took no longer; to the second below ten minutes, to the minute below a day,
    /// otherwise to the hour.
    package var medianSeconds: Int64
    package var worstSeconds: Int64

    package init(notifications: Int, medianSeconds: Int64, worstSeconds: Int64) {
        self.notifications = notifications
        self.medianSeconds = medianSeconds
        self.worstSeconds = worstSeconds
    }
}

/// Collects delays in bounded memory, however many there are.
package struct DelayTally: Sendable {
    private var counts: [Int64: Int] = [:]
    private var worst: Int64 = 0
    private var notifications = 0

    package init() {}

    /// - Parameter milliseconds: The delay; clocks differ, so less than none counts as none.
    package mutating func add(milliseconds: Int64) {
        let seconds = max(0, milliseconds) / 1000
        notifications += 1
        worst = max(worst, seconds)
        counts[Self.rounded(seconds), default: 0] += 1
    }

    /// `nil` where there was none.
    package var figures: DelayFigures? {
        guard notifications > 0 else { return nil }
        var passed = 0
        var median: Int64 = 0
        for (seconds, count) in counts.sorted(by: { $0.key < $1.key }) {
            passed += count
            median = seconds
            if passed >= notifications - passed { break }
        }
        return DelayFigures(
            notifications: notifications, medianSeconds: median, worstSeconds: worst)
    }

    private static func rounded(_ seconds: Int64) -> Int64 {
        switch seconds {
        case ..<600: seconds
        case ..<86_400: seconds - seconds % 60
        default: seconds - seconds % 3600
        }
    }
}

/// How hard a run asked Apple.
package struct CallEffort: Hashable, Sendable, Codable {
    /// The most calls that one endpoint had in any hour of the run, by all processes on the
    /// database.
    package struct Peak: Hashable, Sendable, Codable {
        package var bundleID: String
        package var environment: String
        package var endpoint: String
        package var calls: Int
        /// Apple's documented limit of an hour, whatever share of it the settings allow.
        package var limit: Int

        package init(
            bundleID: String, environment: String, endpoint: String, calls: Int, limit: Int
        ) {
            self.bundleID = bundleID
            self.environment = environment
            self.endpoint = endpoint
            self.calls = calls
            self.limit = limit
        }

        /// In thousandths of Apple's limit.
        package var perMille: Int64 {
            let share = (Double(calls) * 1000 / Double(max(1, limit))).rounded()
            return Int64(min(share, 1e12))
        }
    }

    package var peaks: [Peak]
    /// How long the run had to wait before asking, by reason.
    package var waitedMilliseconds: [String: Int64]

    package init(peaks: [Peak], waitedMilliseconds: [String: Int64]) {
        self.peaks = peaks
        self.waitedMilliseconds = waitedMilliseconds
    }

    /// All waiting together.
    package var waited: Int64 {
        waitedMilliseconds.values.reduce(0) { $0.addingClamped($1) }
    }
}

/// The rows that a run covered, and those that it left: a part of its conclusion.
package struct RunCoverage: Hashable, Sendable, Codable {
    package enum Kind: String, Hashable, Sendable, Codable { case delta, full }

    package var kind: Kind
    /// Rows in the table when the questions were found; `nil` where they were not counted.
    package var rows: Int?
    /// Rows that no reason named.
    package var quiet: Int?
    /// Rows with a question of their own that Apple answered, or that were left undecided by it, by
    /// reason.
    package var asked: [QuestionReason: Int] = [:]
    /// Rows that the answer to another row's question checked, as that of the same customer.
    ///
    /// `nil` in what earlier versions stored: they counted these by the reason of that question.
    package var askedBeside: Int?
    /// Rows that a notification's own signed statement settled, without a call.
    package var settledByNotification = 0
    /// Questions that were not asked, by reason.
    package var left: [QuestionReason: Int] = [:]
    package var oldestCheck: Timestamp?
    /// Where each row of the table is counted; `nil` in what earlier versions stored.
    package var table: TableCount?
    /// Rows that earlier runs of an unfinished full scan had checked and this one did not ask about
    /// again; `nil` for a run that continued no full scan.
    package var roundBefore: Int?
    package var sample: Sample?
    /// The sample of the unchanged rows, which no reason names; `nil` where every row was checked.
    package var routine: RoutineRows?

    /// `nil` for a partial run, and for what is stored of earlier versions.
    package var forecast: CallForecast?

    package struct Sample: Hashable, Sendable, Codable {
        package var drawn: Int
        /// Drawn rows that were checked and differ.
        ///
        /// Where `notJudged` is `nil` also those that were not checked.
        package var differing: Int
        /// Drawn rows that were undecided or left out; `nil` in what earlier versions stored.
        package var notJudged: Int?
        /// By what the drawn rows were checked; `nil` in what earlier versions stored.
        package var judgedBy: JudgedBy?
        /// The largest number of differing rows among the quiet ones that is compatible with that,
        /// if no row that was not checked agrees.
        package var bound: Int
        package var seed: UInt64

        /// By what the drawn rows that were checked came to be so; with `notJudged` these are all
        /// drawn.
        package struct JudgedBy: Hashable, Sendable, Codable {
            /// Questions of the sample itself.
            package var ownQuestion: Int
            /// Answers to another question, mostly about another row of the same customer.
            package var otherQuestion: Int
            /// A notification's own signed statement, without a call.
            package var notification: Int

            package init(ownQuestion: Int, otherQuestion: Int, notification: Int) {
                self.ownQuestion = ownQuestion
                self.otherQuestion = otherQuestion
                self.notification = notification
            }
        }

        /// Drawn rows that are not known to agree.
        package var unproven: Int {
            differing.addingClamped(notJudged ?? 0)
        }

        package init(
            drawn: Int, differing: Int, notJudged: Int?, judgedBy: JudgedBy? = nil, bound: Int,
            seed: UInt64
        ) {
            self.judgedBy = judgedBy
            self.drawn = drawn
            self.differing = differing
            self.notJudged = notJudged
            self.bound = bound
            self.seed = seed
        }
    }

    package init(kind: Kind) { self.kind = kind }

    /// Rows that Apple's answers checked, or left undecided.
    package var askedRows: Int {
        asked.values.reduce(askedBeside ?? 0) { $0.addingReportingOverflow($1).partialValue }
    }
}

extension RunCoverage {
    /// The rows of the table as the run ended, of the run's apps where it was for some alone.
    ///
    /// `rows` = rows in scope − `gone` + `judgedBefore` + `notAsked` + `inserted`.
    package struct TableCount: Hashable, Sendable, Codable {
        package var rows: Int
        /// Rows without a verdict: there was no reason to ask, or the run was limited.
        package var notAsked: Int
        /// Rows that earlier runs of an unfinished full scan judged, and this one did not.
        package var judgedBefore: Int
        /// Rows that the run itself added.
        package var inserted: Int
        /// Rows in scope that are no longer in the table.
        package var gone: Int

        package init(rows: Int, notAsked: Int, judgedBefore: Int, inserted: Int, gone: Int) {
            self.rows = rows
            self.notAsked = notAsked
            self.judgedBefore = judgedBefore
            self.inserted = inserted
            self.gone = gone
        }
    }
}

/// The part of one checked row in the control totals.
package struct RowFigures: Hashable, Sendable {
    /// Our status as it was checked.
    package var ourStatus: Int64?
    /// The status that Apple states, as all below; `nil` where Apple states nothing about the id.
    package var statedStatus: Int?
    /// Milliunits of the stated period.
    package var price: Int64?
    package var currency: String?

    package init(ourStatus: Int64?, statedStatus: Int?, price: Int64?, currency: String?) {
        self.ourStatus = ourStatus
        self.statedStatus = statedStatus
        self.price = price
        self.currency = currency
    }
}

/// A one-time purchase that a run compared with Apple's statements.
package struct JudgedPurchase: Hashable, Sendable {
    package enum Verdict: Int64, Hashable, Sendable {
        case match = 1
        /// It differs, it is not stored, or Apple does not know it.
        case discrepancy = 2
        /// Apple's statement cannot be compared with the row, or is too young.
        case undecided = 3
    }

    package var key: TransactionKey
    package var verdict: Verdict

    package init(key: TransactionKey, verdict: Verdict) {
        self.key = key
        self.verdict = verdict
    }
}

/// The one-time purchases of a run's apps by what the run did with them, so that its numbers add up to the
/// table.
///
/// `stored` = `matched` + `discrepant` + `undecided` + `notChecked`.
package struct PurchaseTotals: Hashable, Sendable, Codable {
    /// In the table as the run ended.
    package var stored: Int
    package var matched: Int
    /// They differed, Apple does not know them, or the run inserted them.
    package var discrepant: Int
    package var undecided: Int
    /// The discrepant ones of which a correction was written, those that it inserted included.
    package var corrected: Int
    /// The corrected ones that were not in the table before.
    package var inserted: Int
    /// Apple signed them, and they were not in the table as the run ended; not among `stored`.
    package var missing: Int

    package init(
        stored: Int, matched: Int = 0, discrepant: Int = 0, undecided: Int = 0, corrected: Int = 0,
        inserted: Int = 0, missing: Int = 0
    ) {
        self.stored = stored
        self.matched = matched
        self.discrepant = discrepant
        self.undecided = undecided
        self.corrected = corrected
        self.inserted = inserted
        self.missing = missing
    }

    /// Those that the run compared with a statement of Apple's.
    package var checked: Int { matched &+ discrepant &+ undecided }
    package var notChecked: Int { stored &- checked }
}

extension PurchaseTotals {
    /// The counts by the names that files give them.
    package var counts: [String: Int64] {
        [
            "corrected": corrected, "discrepant": discrepant, "inserted": inserted,
            "matched": matched, "missing": missing, "not_checked": notChecked, "stored": stored,
            "undecided": undecided,
        ].mapValues(Int64.init(clamping:))
    }

    package var json: CanonicalJSON { .object(counts.mapValues(CanonicalJSON.integer)) }
}
