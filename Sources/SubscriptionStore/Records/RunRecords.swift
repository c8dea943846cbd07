import GRDB
package import Subscriptions

/// How a run begins, what it comes to, and how it ends.
extension SQLiteStore {
    /// Records the run and opens its checkpoint: the unfinished one of the same job, mode and
    /// settings digest where it began less than `RunHeader.continuesWithinMilliseconds(killed:)`
    /// before, otherwise a new one.
    ///
    /// Older unfinished checkpoints of the job are dropped; their written corrections stay for the
    /// next report.
    ///
    /// - Parameters:
    ///   - run: The run.
    ///   - progress: Takes for how many customers the entitlements were brought up to date, and of
    ///     how many.
    /// - Returns: The checkpoint.
    /// - Throws: `StoreError`.
    package func begin(
        _ run: RunHeader, progress: (Int, Int) -> Void = { _, _ in }
    ) async throws(StoreError) -> OpenPass {
        try await bringEntitlementsUpToDate(progress: progress)
        try await rememberEndedRuns()
        try await discardUnendedLists()
        let doing = "recording the run \(run.runID)"
        let dated = ChecksOfAnotherClock(run: run)
        if try await read(doing, dated.isNeeded) {
            try await inChunks(doing, from: .first, dated.date)
        }
        for cause in FindingQuestions.Cause.allCases {
            let questions = FindingQuestions(run: run, cause: cause)
            guard try await read(doing, questions.isNeeded) else { continue }
            try await inChunks(doing, from: "", questions.ask)
        }
        while try await write(doing, { db in try QuestionQueue.wakeUp(for: run, db) }) {}
        let counted = try await read(doing) { db in
            try StoredJSON.encode(ControlCount(db: db, header: run).begin())
        }
        let opened = try await write(doing) { db in
            try PassOpening(db: db, run: run, counted: counted).begin()
        }
        try await askAgain(opened, doing)
        let pending = try await read(doing) { db in
            try UnpublishedFindings.all(for: opened, of: run, db)
        }
        for source in pending {
            guard let first = try await read(doing, source.first) else { continue }
            try await inChunks(doing, from: first, source.take)
        }
        for lost in try await read(doing, UnconcludedQuestions.all) {
            try await inChunks(doing, from: .first, lost.requeue)
        }
        try await write(doing) { db in
            try ReportedEntries(db: db).forgetUnpublished(
                except: run.runID, judgedRows: run.judgesRows)
        }
        try await purgeEndedPasses()
        return try await read(doing) { db in try PassOpening.describe(opened, db) }
    }

    /// Lets the walk ask again about rows that were cut off or have changed since they were
    /// checked.
    private func askAgain(_ opened: PassOpening.Opened, _ doing: String) async throws(StoreError) {
        guard opened.resumedFrom != nil else { return }
        while true {
            let keys = try await read(doing) { db in try PassOpening.cutOff(opened, db) }
            guard !keys.isEmpty else { break }
            try await write(doing) { db in try PassOpening.askAgain(about: keys, opened, db) }
        }
        var place: PassOpening.Place? = (.first, 0)
        while let start = place {
            let chunk = try await read(doing) { db in
                try PassOpening.moved(from: start, opened, db)
            }
            place = chunk.next
            guard !chunk.keys.isEmpty else { continue }
            try await write(doing) { db in
                try PassOpening.askAgain(about: chunk.keys, opened, db)
            }
        }
    }

    /// How many of the rows that the run is about are not settled in the checkpoint.
    package func unreachedRows(
        in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) -> Int {
        guard run.missesWhatItLeaves else { return 0 }
        let isWhole = run.coversEveryRow
        return try await read("counting the rows that were not reached") { db in
            try db.count(
                """
                SELECT count(*) FROM subscriptions AS s \(isWhole ? "" : Self.asked)
                WHERE NOT \(PassStaging.isSettled) AND NOT \(PassStaging.isOfRound)
                    AND \(OpenFindings.isOfAnApp(of: "s"))
                """,
                (isWhole ? StatementArguments() : [pass.passID])
                    + [pass.passID, pass.passID, TextList.encode(run.filters)])
        }
    }

    /// The rows `s` about which the run was to ask.
    private static let asked = """
        JOIN (SELECT bundle_id, environment, original_transaction_id
                FROM trueup_pass_questions WHERE pass_id = ?
            UNION SELECT bundle_id, environment, original_transaction_id FROM trueup_agenda
                WHERE \(QuestionQueue.isForThisRun())) AS q
            ON \(SubscriptionKey.agree("q", "s"))
        """

    /// The findings of the checkpoint that count for the exit status: unresolved ones, by severity.
    package func unresolvedFindings(
        of pass: OpenPass
    ) async throws(StoreError) -> [Severity: Int] {
        try await read("counting unresolved findings") { db in
            var counts = try Self.unresolved(pass.passID, db)
            for severity in try Self.acknowledgedSeverities(pass.passID, db) {
                counts[severity, default: 0] -= 1
            }
            return counts.filter { $0.value > 0 }
        }
    }

    /// Those of them that were not open when the last run ended.
    package func newFindings(
        of pass: OpenPass
    ) async throws(StoreError) -> [Severity: Int] {
        // What is acknowledged was open before.
        try await read("counting new findings") { db in
            try Self.unresolved(
                pass.passID, db,
                butFor: """
                    AND (\(UnpublishedFindings.wasUnpublished)
                        OR NOT EXISTS (SELECT 1 FROM trueup_findings AS h
                            WHERE h.finding_id = f.finding_id
                                AND h.state IN \(OpenFindings.states)))
                    """)
        }
    }

    /// Counts unresolved findings by severity; `condition` leaves findings `f` out.
    private static func unresolved(
        _ passID: Int64, _ db: Database, butFor condition: String = ""
    ) throws -> [Severity: Int] {
        var counts: [Severity: Int] = [:]
        try db.forEachRow(
            """
            SELECT f.severity, count(*) FROM trueup_pass_findings AS f
            LEFT JOIN trueup_pass_corrections AS c ON c.correction_id = f.correction_id
            WHERE f.pass_id = ? AND f.superseded_by IS NULL
                AND f.action NOT IN ('corrected', 'inserted', 'recovered')
                AND ifnull(c.fate, '') <> 'applied'
                \(condition)
            GROUP BY f.severity
            """, [passID]
        ) { row in
            guard let severity = Severity(rawValue: row.requiredText(at: 0)) else { return }
            counts[severity] = row.number(at: 1)
        }
        return counts
    }

    /// The severities of unresolved findings that are acknowledged as they are.
    private static func acknowledgedSeverities(
        _ passID: Int64, _ db: Database
    ) throws -> [Severity] {
        let started = try Int64.fetchOne(
            db, sql: "SELECT started FROM trueup_runs WHERE pass_id = ? ORDER BY run_seq DESC",
            arguments: [passID])
        let now = Timestamp(unixMilliseconds: started ?? 0)
        return try Acknowledgements(db: db).standing(inPass: passID, at: now).compactMap {
            standing in
            try String.fetchOne(
                db,
                sql: """
                    SELECT f.severity FROM trueup_pass_findings AS f
                    LEFT JOIN trueup_pass_corrections AS c ON c.correction_id = f.correction_id
                    WHERE f.finding_seq = ?
                        AND f.action NOT IN ('corrected', 'inserted', 'recovered')
                        AND ifnull(c.fate, '') <> 'applied'
                    """,
                arguments: [standing.findingSequence]
            ).flatMap(Severity.init(rawValue:))
        }
    }

    /// Records how the run ended and closes its checkpoint, or leaves it to the next run.
    ///
    /// Where the conclusion says so, rows that the checkpoint did not settle become undecided
    /// (`deadline`) in this run's report; a run that continues the checkpoint asks them after all.
    /// Planned corrections that were not applied leave their findings' action as `planned`. Notes
    /// about rows that the company deleted go where the table's size was accepted.
    ///
    /// - Parameters:
    ///   - conclusion: What the run knows of its end.
    ///   - pass: The run's pass.
    ///   - run: The run.
    ///   - ended: The time, asked when everything else is done; `nil` takes the conclusion's.
    ///   - progress: Takes how many rows are done, and of how many.
    /// - Throws: `StoreError`.
    package func conclude(
        _ conclusion: RunConclusion, in pass: OpenPass, run: RunHeader,
        ended: (@Sendable () -> Timestamp)? = nil, progress: (Int, Int) -> Void = { _, _ in }
    ) async throws(StoreError) {
        let doing = "concluding the run \(run.runID)"
        try await sealPlan(of: pass, run: run)
        if run.mode == .apply, try await read(doing, EntitlementBook.waiting) > 0 {
            try await bringEntitlementsUpToDate()
            try await keepCompanyEntitlements(of: run.apps)
        }
        let reference = try await read(doing) { db in try RunReference(run, in: pass, db) }
        let writer = RunConclusionWriter(run: reference, header: run, conclusion: conclusion)
        let steps = try await read(doing, writer.steps)
        // The rows of the checkpoint are deleted after the run's last transaction.
        let counted = steps.map(\.rows) + (conclusion.closesPass ? steps.prefix(1).map(\.rows) : [])
        let total = counted.reduce(0, +)
        var done = 0
        for (work, rows) in steps {
            let before = done
            try await inShortChunks(doing, from: .first, work) { count in
                done = min(before + rows, done + count)
                progress(done, total)
            }
            done = before + rows
        }
        let heldBack = HeldBackCauses(run: reference)
        if let first = try await read(doing, heldBack.first) {
            try await inChunks(doing, from: first, heldBack.write)
        }
        if let first = try await read(doing, writer.firstFinding) {
            try await inChunks(doing, from: first, writer.reportFindings)
        }
        let unowned = try await listUnowned(of: reference, run)
        let tally = try await read(doing) { db in
            try ConclusionTally(of: writer, unowned: unowned, db)
        }
        var last = writer
        if let ended { last.conclusion.ended = ended() }
        try await write(doing) { [last] db in try last.write(tally, db) }
        // The run has ended: what cannot be done now, the next one does.
        do {
            try await rememberEndedRuns()
            if conclusion.closesPass {
                try await purgeEndedPasses { count in
                    done = min(total, done + count)
                    progress(done, total)
                }
            }
            try await forgetGoneRows(after: conclusion, of: run)
        } catch {}
    }
}

extension SQLiteStore {
    /// The pending questions of some apps, and the age of the oldest statement about one of their
    /// rows.
    ///
    /// - Parameter apps: Those that a run was for alone.
    /// - Returns: Subscriptions about which the next run must ask, and when Apple signed the oldest
    ///   of the statements by which rows were checked last.
    /// - Throws: `StoreError` when it cannot be read.
    package func pendingAndOldestCheck(
        of apps: [AppIdentity]
    ) async throws(StoreError) -> (pending: Int, oldestCheck: Timestamp?) {
        try await read("counting the pending checks of some apps") { db in
            var pending = 0
            var oldest: Int64?
            for app in Set(apps) {
                let arguments: StatementArguments = [app.bundleID, app.environment.rawValue]
                pending &+= try db.count(
                    "SELECT count(*) FROM trueup_agenda WHERE bundle_id = ? AND environment = ?",
                    arguments)
                let check = try Int64.fetchOne(
                    db,
                    sql: """
                        SELECT min(ifnull(signed_date, asked_at)) FROM trueup_checks
                        WHERE bundle_id = ? AND environment = ?
                        """, arguments: arguments)
                oldest = [oldest, check].compactMap(\.self).min()
            }
            return (pending, oldest.map(Timestamp.init(unixMilliseconds:)))
        }
    }
}

/// Whether a run's report is published: only then do its corrections count as reported.
extension SQLiteStore {
    /// Says, before the run begins, that a report of it will be published.
    ///
    /// If the process is killed before `reportWasPublished`, even after the run was concluded, the
    /// next run's report shows the corrections that this one's would have shown.
    package func reportIsAwaited(ofRun runID: String) async throws(StoreError) {
        try await write("announcing the report of the run \(runID)") { db in
            try db.execute(
                sql: "INSERT OR IGNORE INTO trueup_awaited_reports VALUES (?)",
                arguments: [runID])
        }
    }

    /// Notes that a concluded run ended later: its report is a part of it.
    ///
    /// - Parameters:
    ///   - runID: The run.
    ///   - ended: By the run's clock, which may have been set back.
    /// - Returns: When the run ended, as stored.
    /// - Throws: `StoreError`.
    package func noteEnd(ofRun runID: String, at ended: Timestamp) throws -> Timestamp? {
        try blockingWrite("noting the end of the run \(runID)", on: connection) { db in
            try db.execute(
                sql: "UPDATE trueup_runs SET ended = ?1 WHERE run_id = ?2 AND ended < ?1",
                arguments: [ended.unixMilliseconds, runID])
            return try Row.fetchOne(
                db, sql: "SELECT ended FROM trueup_runs WHERE run_id = ?", arguments: [runID])?
                .time(at: 0)
        }
    }

    /// Says that the report has its final name.
    package func reportWasPublished(ofRun runID: String) async throws(StoreError) {
        try await write("noting the report of the run \(runID)") { db in
            try db.execute(
                sql: "DELETE FROM trueup_awaited_reports WHERE run_id = ?", arguments: [runID])
        }
    }

    /// Says that the report of a run that ended will not have its final name: the run is in the
    /// books as one that ended with status 74.
    ///
    /// - Parameters:
    ///   - runID: The run.
    ///   - reason: Why, as a part of a sentence.
    /// - Throws: `StoreError` when the books cannot be written either; the next run notes it then.
    package func reportIsMissing(
        ofRun runID: String, because reason: String
    ) async throws(StoreError) {
        try await write("noting that the run \(runID) left no report") { db in
            try ReportedEntries(db: db).noteMissing(reportOf: runID, because: reason)
        }
    }

    /// Runs whose reports were announced and not said to have their final name.
    package func awaitedReports() throws(StoreError) -> [String] {
        try view("looking for runs without a report") { db in
            try String.fetchAll(
                db, sql: "SELECT run_id FROM trueup_awaited_reports ORDER BY run_id")
        }
    }

    /// Whether an undo of the run was killed before its report was published.
    package func awaitsReportOfUndo(ofRun runID: String) throws(StoreError) -> Bool {
        try view("looking for undos without a report") { db in
            try db.holds(
                """
                trueup_awaited_reports AS a
                    JOIN trueup_runs AS r ON r.run_id = a.run_id
                    JOIN trueup_applications AS u ON u.pass_id = r.pass_id
                    WHERE u.undo_of = ?
                """, [runID])
        }
    }
}
