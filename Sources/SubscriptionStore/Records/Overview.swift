import Foundation
import GRDB
package import Subscriptions

extension SQLiteStore {
    /// The content of `trueup status`.
    ///
    /// - Parameters:
    ///   - limit: How many runs to list, newest first.
    ///   - now: When; acknowledgements that have ended by then are not listed.
    /// - Returns: One consistent view of the database.
    /// - Throws: `StoreError` when it cannot be read.
    package func overview(
        runs limit: Int, at now: Timestamp = Timestamp(unixMilliseconds: .min)
    ) throws(StoreError) -> StoreOverview {
        try view("reading the overview") { db in
            var overview = StoreOverview(
                subscriptions: try db.count("SELECT count(*) FROM subscriptions"),
                notYetKnown: try db.count(
                    "SELECT count(*) FROM subscriptions WHERE status IS NULL"),
                runs: try listRuns("ORDER BY run_seq DESC LIMIT ?", [limit], db),
                lastCompletePass: try Self.lastCompletePass(db),
                watermarks: try Self.watermarks(db),
                openFindings: try Self.openFindings(at: now, db))
            overview.completePasses = try Self.completePasses(db)
            overview.judgedRows = try db.count("SELECT count(*) FROM trueup_checks")
            overview.purchases = try db.count("SELECT count(*) FROM purchases")
            overview.oldestCheck = try SweepOrder.oldestCheck(db)
            let pending = try db.count("SELECT count(*) FROM trueup_agenda")
            overview.checkedByStoppedRuns = try Self.checkedByStoppedRuns(db)
            overview.pending = pending - overview.checkedByStoppedRuns
            overview.outbox = try OutboxTotals(db, at: now)
            overview.bookkeeping = try BookkeepingCount.all(db)
            overview.acknowledged = try Acknowledgements(db: db).all(at: now)
            return overview
        }
    }

    /// Lines of the queue about rows that a stopped run has checked: the next run of its job
    /// continues them and asks nothing.
    private static func checkedByStoppedRuns(_ db: Database) throws -> Int {
        try db.count(
            """
            SELECT count(*) FROM trueup_agenda AS a WHERE EXISTS (
                SELECT 1 FROM trueup_passes AS w
                CROSS JOIN trueup_pass_rows AS p ON p.pass_id = w.pass_id
                    AND \(SubscriptionKey.agree("p", "a"))
                WHERE w.state = 'open' AND w.mode = 'apply' AND w.narrowing = ''
                    AND p.verdict IN (\(VerdictCode.match.rawValue),
                        \(VerdictCode.discrepancy.rawValue)))
            """)
    }

    /// The runs that a name may mean: the one that is called so, or else all whose names begin or
    /// end with it.
    ///
    /// - Parameter name: A whole id, its beginning, or its last part.
    /// - Returns: At most three, newest first; more would only be listed.
    /// - Throws: `StoreError` when it cannot be read.
    package func runIDs(named name: String) throws(StoreError) -> [String] {
        try view("looking for a run") { db in
            let exact = try String.fetchAll(
                db, sql: "SELECT run_id FROM trueup_runs WHERE run_id = ?", arguments: [name])
            guard exact.isEmpty, name.count >= 4 else { return exact }
            return try String.fetchAll(
                db,
                sql: """
                    SELECT run_id FROM trueup_runs
                    WHERE substr(run_id, 1, length(?1)) = ?1
                        OR substr(run_id, -length(?1)) = ?1
                    ORDER BY run_seq DESC LIMIT 3
                    """, arguments: [name])
        }
    }

    /// When a run like this one last ended with everything checked: of the same job, over all apps,
    /// or for the same ones.
    ///
    /// - Parameters:
    ///   - run: One that leaves out nothing of its apps; a check by hand is not a run of a job that
    ///     writes.
    ///   - mayBeEmpty: Whether a run counts that had no row to judge, as of a job without a walk.
    /// - Returns: `nil` before the first.
    /// - Throws: `StoreError` when it cannot be read.
    package func lastSuccess(
        like run: RunHeader, mayBeEmpty: Bool
    ) async throws(StoreError) -> Timestamp? {
        try await read("looking for the last success") { db in
            try Int64.fetchOne(
                db,
                sql: """
                    SELECT max(ended) FROM trueup_runs
                    WHERE job = ? AND mode = ? AND narrowing IN ('', ?)
                        AND (exit_status IN ('\(ExitStatus.ok.rawValue)',
                                '\(ExitStatus.findings.rawValue)')
                            OR ? AND exit_status = '\(ExitStatus.empty.rawValue)')
                    """,
                arguments: [
                    run.job, run.mode.rawValue, TextList.encode(run.filters), mayBeEmpty,
                ]
            ).map(Timestamp.init(unixMilliseconds:))
        }
    }

    /// The runs that began in a span of time, oldest first.
    package func runs(
        from first: Timestamp, before end: Timestamp
    ) throws(StoreError) -> [RunListing] {
        try view("looking for runs") { db in
            try listRuns(
                "WHERE started >= ? AND started < ? ORDER BY run_seq",
                [first.unixMilliseconds, end.unixMilliseconds], db)
        }
    }

    /// A run whose report is still awaited has not ended: it writes it, or was killed.
    private func listRuns(
        _ condition: String, _ arguments: StatementArguments, _ db: Database
    ) throws -> [RunListing] {
        let isAtEnd = """
            (exit_status = '\(ReportedEntries.endWithoutReport.rawValue)'
                OR run_id NOT IN (SELECT run_id FROM trueup_awaited_reports))
            """
        return try Row.fetchAll(
            db,
            sql: """
                SELECT run_id, job, mode, started, iif(\(isAtEnd), ended, NULL),
                    iif(\(isAtEnd), exit_status, NULL), run_seq,
                    iif(\(isAtEnd), measures, NULL)
                FROM trueup_runs \(condition)
                """,
            arguments: arguments
        ).map { row in
            let measures: RunMeasures? = try StoredJSON.decode(row.text(at: 7))
            return RunListing(
                runID: row.requiredText(at: 0), job: row.requiredText(at: 1),
                mode: RunMode(rawValue: row.requiredText(at: 2)) ?? .check,
                started: row.requiredTime(at: 3), ended: row.time(at: 4),
                exitStatus: row.text(at: 5).flatMap(ExitStatus.init(rawValue:)),
                totals: try RunSummaryReader.totals(of: row.integer(at: 6) ?? 0, db),
                purchases: measures?.purchases)
        }
    }

    /// Counts findings that are neither resolved nor acknowledged: an acknowledgement ends with its
    /// day, also before the next run says what the finding is then called.
    private static func openFindings(at now: Timestamp, _ db: Database) throws -> [FindingCount] {
        try FindingCount.read(
            db,
            sql: """
                SELECT kind, severity, iif(state = 'acknowledged', 'open', state) AS standing,
                    count(*)
                FROM trueup_findings AS h
                WHERE state IN ('new', 'open', 'recurring') OR (state = 'acknowledged'
                    AND NOT EXISTS (SELECT 1 FROM trueup_decisions AS d
                        WHERE d.finding_id = h.finding_id AND \(Acknowledgements.isStanding)))
                GROUP BY kind, severity, standing
                """, arguments: [now.unixMilliseconds])
    }

    private static func lastCompletePass(_ db: Database) throws -> Timestamp? {
        try Int64.fetchOne(
            db,
            sql: """
                SELECT max(p.began) FROM trueup_passes AS p
                JOIN trueup_runs AS r ON r.pass_id = p.pass_id AND r.closes_pass = 1
                WHERE (p.covers_every_row = 1 OR p.scheduled_rows IS NOT NULL) AND p.narrowing = ''
                    AND \(refusedApps) IS NULL
                """
        ).map(Timestamp.init(unixMilliseconds:))
    }

    /// SQL for the apps about which Apple refused to answer in the run `r`.
    private static let refusedApps = "json_extract(r.measures, '$.refusedApps')"

    /// When the newest complete pass over each app began: over all apps, or for some alone.
    ///
    /// A run that Apple refused to answer about an app has checked no row of that app.
    private static func completePasses(_ db: Database) throws -> [AppIdentity: Timestamp] {
        var passes: [AppIdentity: Timestamp] = [:]
        try db.forEachRow(
            """
            SELECT r.apps, p.narrowing, max(p.began), \(refusedApps) FROM trueup_passes AS p
            JOIN trueup_runs AS r ON r.pass_id = p.pass_id AND r.closes_pass = 1
            WHERE p.covers_every_row = 1 OR p.scheduled_rows IS NOT NULL
            GROUP BY r.apps, p.narrowing, \(refusedApps)
            """
        ) { row in
            let filters = TextList.decode(row.requiredText(at: 1))
            guard filters.isEmpty || RunHeader.isForAppsAlone(filters),
                let began = row.time(at: 2)
            else { return }
            let refused: [String] = try StoredJSON.decode(row.text(at: 3)) ?? []
            for app in TextList.apps(row.requiredText(at: 0)) where !refused.contains(app.name) {
                passes[app] = max(began, passes[app] ?? began)
            }
        }
        return passes
    }

    private static func watermarks(_ db: Database) throws -> [AppIdentity: Timestamp] {
        var watermarks: [AppIdentity: Timestamp] = [:]
        try db.forEachRow("SELECT bundle_id, environment, read_through FROM trueup_watermarks") {
            row in
            guard let environment = AppStoreEnvironment(rawValue: row.requiredText(at: 1)) else {
                return
            }
            let app = AppIdentity(bundleID: row.requiredText(at: 0), environment: environment)
            watermarks[app] = row.time(at: 2)
        }
        return watermarks
    }
}

extension SQLiteStore {
    /// Everything that is known about an original transaction id, for each app and environment that
    /// knows it, and about the subscriptions of a customer with this id.
    ///
    /// - Parameters:
    ///   - id: The original transaction id, or a `customer_id`.
    ///   - apps: The configured apps, where nothing but bookkeeping may be left of it.
    ///   - limit: How many runs to list.
    ///   - now: The present: an acknowledgement that has ended no longer counts.
    /// - Returns: By key; empty for an unknown id.
    /// - Throws: `StoreError` when the database cannot be read.
    package func explanations(
        of id: String, apps: [AppIdentity], nights limit: Int, at now: Timestamp
    ) throws(StoreError) -> [SubscriptionExplanation] {
        let doing = "explaining a subscription"
        return try view(doing) { db in
            let customers = try EvidenceErasure.subscriptions(ofCustomer: id, db)
            let ids = Set(customers.map(\.originalTransactionID)).union([id]).sorted()
            let held = try ids.flatMap {
                try StoredSubscriptions(db: db).holding($0).map(\.row)
            }.filter {
                $0.key.originalTransactionID == id || customers.contains($0.key)
            }
            let rows = Dictionary(
                held.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
            let configured = apps.map { SubscriptionKey(app: $0, originalTransactionID: id) }
            return try Set(configured).union(rows.keys).union(customers).sorted().compactMap {
                key in
                var reader = ExplanationReader(db: db, key: key, row: rows[key])
                try reader.read(nights: limit, at: now)
                return reader.explanation.isEmpty ? nil : reader.explanation
            }
        }
    }
}

/// Collects what is known about one subscription.
private struct ExplanationReader {
    let db: Database
    var explanation: SubscriptionExplanation

    init(db: Database, key: SubscriptionKey, row: LocalSubscription?) {
        self.db = db
        explanation = SubscriptionExplanation(key: key)
        explanation.row = row
    }

    private var key: StatementArguments { explanation.key.arguments }

    mutating func read(nights limit: Int, at now: Timestamp) throws {
        explanation.purchase = try LocalTransaction.purchase(
            explanation.key.transaction(explanation.key.originalTransactionID), db)
        explanation.check = try Row.fetchOne(
            db,
            sql: """
                SELECT \(CheckRecord.columns.joined(separator: ", ")) FROM trueup_checks
                WHERE \(SubscriptionKey.isKey)
                """, arguments: key
        ).flatMap { CheckRecord($0, at: 0) }
        explanation.pending = try pending()
        explanation.absence = try Row.fetchOne(
            db,
            sql: """
                SELECT first_day, last_day, distinct_days FROM trueup_absences
                WHERE \(SubscriptionKey.isKey)
                """, arguments: key
        ).map {
            AbsenceRecord(
                firstDay: $0.requiredText(at: 0), lastDay: $0.requiredText(at: 1),
                distinctDays: $0.number(at: 2) ?? 0)
        }
        explanation.findings = try findings(at: now)
        for finding in explanation.findings {
            explanation.lastReported[finding.findingID] = try lastReport(of: finding)
        }
        explanation.corrections = try Row.fetchAll(
            db,
            sql: """
                SELECT \(LedgerEntry.columns) FROM trueup_ledger AS l
                WHERE l.bundle_id = ? AND l.environment = ? AND l.original_transaction_id = ?
                ORDER BY l.entry
                """, arguments: key
        ).map { try LedgerEntry($0) }
        explanation.notifications = try notifications()
        explanation.nights = try lastRuns(limit)
    }

    private func pending() throws -> PendingQuestion? {
        let line = try Row.fetchOne(
            db,
            sql: """
                SELECT reason, since, rests_on, attempts FROM trueup_agenda
                WHERE \(SubscriptionKey.isKey)
                """, arguments: key)
        guard let line, let reason = QuestionReason(rank: line.integer(at: 0) ?? -1) else {
            return nil
        }
        return PendingQuestion(
            reason: reason, since: line.requiredTime(at: 1),
            restsOn: line.time(at: 2), attempts: line.number(at: 3) ?? 0)
    }

    /// An acknowledgement ends with its day, also before the next run says what the finding is then
    /// called.
    private func findings(at now: Timestamp) throws -> [RememberedFinding] {
        let known = try Row.fetchAll(
            db,
            sql: """
                SELECT \(RememberedFinding.columns) FROM trueup_findings AS h
                WHERE \(SubscriptionKey.isKey) ORDER BY first_seen, finding_id
                """, arguments: key
        ).compactMap(RememberedFinding.init)
        return try known.map { finding in
            guard finding.state == .acknowledged,
                try !db.holds(
                    "trueup_decisions AS d WHERE d.finding_id = ?2 AND \(Acknowledgements.isStanding)",
                    [now.unixMilliseconds, finding.findingID])
            else { return finding }
            var ended = finding
            ended.state = .open
            return ended
        }
    }

    private func lastReport(of finding: RememberedFinding) throws -> Finding? {
        try Row.fetchOne(
            db,
            sql: """
                SELECT \(Finding.columns) FROM trueup_pass_findings AS f
                WHERE f.pass_id = ? AND f.finding_id = ?
                ORDER BY f.superseded_by IS NOT NULL, f.finding_seq DESC LIMIT 1
                """, arguments: [finding.checkpoint, finding.findingID]
        ).map { row in
            var columns = RowColumns(row)
            return try Finding(&columns)
        }
    }

    private func notifications() throws -> [StoredNotification] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT notification_uuid, notification_type, subtype, signed_date, received_at,
                    recovered_at, verdict, evidence, attempts
                FROM trueup_notifications
                WHERE \(SubscriptionKey.isKey) ORDER BY signed_date, notification_uuid
                """, arguments: key
        ).map { row in
            var stored = StoredNotification(
                notificationUUID: row.requiredText(at: 0), notificationType: row.text(at: 1),
                subtype: row.text(at: 2), signedDate: row.time(at: 3),
                receivedAt: row.time(at: 4), recoveredAt: row.time(at: 5), verdict: row.text(at: 6),
                evidence: row.text(at: 7))
            stored.attempts = Self.attempts(row.text(at: 8))
            return stored
        }
    }

    /// Oldest first; none where the text is not as `NotificationRecorder` keeps it.
    private static func attempts(_ text: String?) -> [SendAttempt] {
        let kept = text.flatMap {
            try? JSONDecoder().decode([[String: String]].self, from: Data($0.utf8))
        }
        return (kept ?? []).compactMap { attempt in
            guard let date = attempt["attempt_date"].flatMap({ Timestamp(rfc3339: $0) }),
                let result = attempt["result"]
            else { return nil }
            return SendAttempt(attemptDate: date, result: result)
        }.sorted { $0.attemptDate < $1.attemptDate }
    }
}

/// The last runs, with what each did about one subscription.
///
/// A pass's rows are deleted once a run closes it. What stays are the last check, undecided rows,
/// rows in flight, and the findings that each run reported: a run in between that found a match
/// leaves no trace.
extension ExplanationReader {
    private typealias Run = (
        reference: RunReference, started: Timestamp, isEnded: Bool, settles: Bool
    )

    /// Oldest first; runs that judge no rows (a plan, an undo) are left out.
    private func lastRuns(_ limit: Int) throws -> [SubscriptionRun] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT run_seq, pass_id, started, ended IS NOT NULL, run_id, job, mode,
                    exit_status, narrowing
                FROM trueup_runs WHERE job NOT LIKE 'apply %' AND job NOT LIKE 'undo %'
                ORDER BY run_seq DESC LIMIT ?
                """, arguments: [limit])
        return try rows.reversed().map { row in
            let filters = TextList.decode(row.requiredText(at: 8))
            let mode = row.requiredText(at: 6)
            let run: Run = (
                RunReference(passID: row.integer(at: 1) ?? 0, sequence: row.integer(at: 0) ?? 0),
                started: row.requiredTime(at: 2), isEnded: row.integer(at: 3) == 1,
                settles: mode == RunMode.apply.rawValue && isComplete(filters)
            )
            return SubscriptionRun(
                runID: row.requiredText(at: 4), job: row.requiredText(at: 5), mode: mode,
                started: run.started,
                exitStatus: row.text(at: 7).flatMap(ExitStatus.init(rawValue:)),
                filters: filters, look: try look(of: run))
        }
    }

    /// Whether a run leaves out nothing of the subscription's app.
    private func isComplete(_ filters: [String]) -> Bool {
        guard RunHeader.isForAppsAlone(filters) else { return filters.isEmpty }
        let key = explanation.key
        let app = "\(key.bundleID)/\(key.environment.lowercased())"
        return filters.contains(RunHeader.appFilterPrefix + app)
    }

    private func look(of run: Run) throws -> SubscriptionRun.Look {
        let reported = try reported(by: run.reference)
        if let asked = reported.first(where: { !$0.isCarried }) {
            return .asked(because: asked.because)
        }
        if let reason = try undecided(in: run.reference) { return .undecided(reason) }
        if try wasInFlight(in: run.reference) { return .inFlight }
        if explanation.check?.askedAt == run.started { return .judged }
        if let staged = try staged(by: run.reference) { return staged }
        if !reported.isEmpty { return .carried }
        // A run that settles what it asks about would have left a younger check.
        guard run.settles, run.isEnded, let check = explanation.check, check.askedAt < run.started
        else { return .unknown }
        return .notAsked
    }

    /// The findings about the subscription that a run reported.
    private func reported(
        by run: RunReference
    ) throws -> [(isCarried: Bool, because: QuestionReason?)] {
        try explanation.findings.flatMap { known in
            try Row.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT f.is_carried, f.asked_because FROM trueup_pass_findings AS f
                        JOIN trueup_run_findings AS r
                            ON r.run_seq = ? AND r.finding_seq = f.finding_seq
                        WHERE f.pass_id = ? AND f.finding_id = ?
                            AND f.outcome_original_transaction_id IS NOT NULL
                        """), arguments: [run.sequence, run.passID, known.findingID]
            ).map { row in
                (row.integer(at: 0) != 0, row.text(at: 1).flatMap(QuestionReason.init(rawValue:)))
            }
        }
    }

    private func undecided(in run: RunReference) throws -> String? {
        try String.fetchOne(
            db,
            sql: """
                SELECT reason FROM trueup_run_undecided
                WHERE run_seq = ? AND \(SubscriptionKey.isKey)
                """, arguments: [run.sequence] + key)
    }

    private func wasInFlight(in run: RunReference) throws -> Bool {
        try db.holds(
            """
            trueup_run_in_flight
                WHERE run_seq = ? AND \(SubscriptionKey.isKey)
            """, [run.sequence] + key)
    }

    /// From a checkpoint that is not closed: its rows are still there.
    private func staged(by run: RunReference) throws -> SubscriptionRun.Look? {
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT verdict, reason, asked_because FROM trueup_pass_rows
                WHERE pass_id = ? AND \(SubscriptionKey.isKey)
                """, arguments: [run.passID] + key)
        guard let row, let verdict = VerdictCode(rawValue: row.integer(at: 0) ?? -1) else {
            return nil
        }
        switch verdict {
        case .match, .discrepancy, .inserted:
            let because = row.integer(at: 2).flatMap { QuestionReason(rank: $0) }
            return because == nil ? .judged : .asked(because: because)
        case .excluded where row.text(at: 1) == ExclusionReason.inFlight.rawValue:
            return .inFlight
        case .undecided, .excluded: return .undecided(row.text(at: 1) ?? "")
        case .noted: return nil
        }
    }
}
