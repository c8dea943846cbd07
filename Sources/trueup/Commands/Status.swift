import ArgumentParser
import Reports
import SubscriptionStore
import Subscriptions

/// `trueup status`: what there is, how old it is, and whether a run is active.
struct Status: Verb {
    static let configuration = CommandConfiguration(
        abstract: "Show the last runs, coverage, open findings and a running job.",
        discussion: "It reads the database and changes nothing.")

    /// The newest runs that are listed.
    private static let listedRuns = 10
    /// The newest runs of other workers.
    private static let listedWorkers = 50

    @OptionGroup(title: "For every command") var common: CommonOptions

    static let exitStatuses = CommandStatuses(
        [CommandStatuses.database],
        [.ok: "shown, whatever the runs ended with; \"explain\" and the reports have the details"])

    func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try common.settings(in: invocation)
        let books = try Books(settings)
        let store = try books.openToRead(at: invocation.now())
        let others = await OtherWorkers.lastRuns(
            of: settings, besides: try store.databaseIdentity(), limit: Self.listedWorkers)
        let here = SQLiteStore.lockHolder(ofDatabaseAt: settings.databasePath).map { lock in
            let live = LiveRunFile(besideDatabaseAt: settings.databasePath).read(heldBy: lock)
            return StatusReport.Running(
                holder: lock.holder, since: lock.since, live: live,
                resumption: live.map { common.command("resume", $0.job) })
        }
        let elsewhere = try books.holderElsewhere().map {
            StatusReport.Running(holder: $0.holder, since: $0.since)
        }
        let report = StatusReport(
            overview: try store.overview(runs: Self.listedRuns, at: invocation.now()),
            running: here ?? elsewhere, apps: settings.identities, now: invocation.now(),
            copy: try settings.company.copy(in: store), others: others.runs, gap: others.gap,
            columns: invocation.textColumns)
        try common.show(report.json, report.lines, in: invocation)
        return .ok
    }
}

/// The output of `status`, as a value: for people as text, for machines as JSON.
struct StatusReport {
    let overview: StoreOverview
    let running: Running?
    let apps: [AppIdentity]
    let now: Timestamp
    /// How old the copy of a company's own table is.
    var copy: CopyState?
    /// The last runs of other workers on the same database.
    var others: [WorkerRun] = []
    /// The reason why these are not known, as a sentence.
    var gap: String?
    /// The width of the terminal; `nil` where nothing says one.
    var columns: Int?

    // MARK: Text

    var lines: [String] {
        var lines = ["Rows       " + rows + copied]
        if let purchases { lines.append("Purchases  " + purchases) }
        lines.append("Running    " + (running.map(describe) ?? "nothing"))
        lines += (running?.lines(at: now) ?? []).map { "           " + $0 }
        lines += passLines
        if overview.judgedRows > 0 {
            lines.append(
                "Checked    \(overview.judgedRows) rows; Apple's oldest statement about one is of "
                    + (overview.oldestCheck.map(moment) ?? "an unknown time"))
        }
        if overview.checkedByStoppedRuns > 0 {
            lines.append(
                "Stopped    \(overview.checkedByStoppedRuns) rows were checked by a run that was "
                    + "stopped; the next run of its job continues after them")
        }
        if overview.pending > 0 {
            lines.append("Pending    \(overview.pending) checks for the next run")
        }
        if !overview.outbox.isEmpty { lines.append("Events     " + telling) }
        let kept = overview.bookkeeping.filter { $0.rows > 0 }
        if !kept.isEmpty { lines += ["", "Bookkeeping"] + bookkeepingLines(kept) }
        lines += ["", "Notifications read up to"]
        lines += watermarkApps.map { app in
            "  \(app.bundleID) \(app.environment.rawValue)  "
                + (overview.watermarks[app].map(moment) ?? "never read")
        }
        lines += [""] + findingLines + [""]
        if !overview.acknowledged.isEmpty { lines += acknowledgedLines + [""] }
        return lines + runLines + workerLines
    }

    private func bookkeepingLines(_ kept: [BookkeepingCount]) -> [String] {
        TerminalLines.table(
            kept.map { [$0.kind, String($0.rows), $0.oldest.map { "since " + moment($0) } ?? ""] },
            rightAligned: [1])
    }

    /// How old the copy is that everything here is about.
    private var copied: String {
        guard let copy else { return "" }
        return "; imported from your table \(copy.table), "
            + (copy.refreshedAt.map { "read \(moment($0))" } ?? "not read yet")
    }

    private var rows: String {
        guard overview.subscriptions > 0 else {
            if let copy {
                return copy.refreshedAt == nil ? "none; \"trueup check JOB\" reads them" : "none"
            }
            // A company may store one-time purchases alone.
            guard overview.purchases == 0 else { return "none" }
            return "none; load them with \"trueup import FILE\""
        }
        guard overview.notYetKnown > 0 else { return "\(overview.subscriptions)" }
        return
            "\(overview.subscriptions), of which \(overview.notYetKnown) \(overview.notYetKnown == 1 ? "is" : "are") not known yet"
    }

    /// The stored one-time purchases, and the verdicts of the newest run that counted them.
    private var purchases: String? {
        // A run between two sweeps checks none.
        let last =
            overview.runs.first { $0.purchases?.checked ?? 0 > 0 }
            ?? overview.runs.first { $0.purchases != nil }
        guard overview.purchases > 0 || last != nil else { return nil }
        guard let last, let counts = last.purchases else {
            return "\(overview.purchases); no run has checked them yet"
        }
        return
            "\(overview.purchases); run \(last.runID) checked \(counts.checked) of \(counts.stored): "
            + "\(counts.matched) agree, \(counts.discrepant) differ, \(counts.undecided) undecided, "
            + "\(counts.corrected) corrected"
            + (counts.missing > 0 ? ", \(counts.missing) missing" : "")
    }

    private var telling: String {
        let outbox = overview.outbox
        var parts = ["\(outbox.delivered) delivered"]
        if outbox.waiting > 0 {
            parts.append(
                "\(outbox.waiting) waiting"
                    + (outbox.nextAttempt.map { ", next attempt \($0.rfc3339)" } ?? ""))
        }
        if outbox.givenUp > 0 {
            parts.append("\(outbox.givenUp) given up (\"trueup tell --retry-given-up\")")
        }
        if outbox.erased > 0 {
            parts.append("\(outbox.erased) erased before delivery")
        }
        if let error = outbox.lastError { parts.append("last failure: \(error)") }
        return parts.joined(separator: "; ")
    }

    private func describe(_ running: Running) -> String {
        running.holder + (running.since.map { ", since \(moment($0))" } ?? "")
    }

    /// The configured apps, and any other that has a watermark.
    private var watermarkApps: [AppIdentity] {
        Set(apps).union(overview.watermarks.keys).sorted()
    }

    private var findingLines: [String] {
        let open = overview.openFindings.sorted {
            ($1.severity, $0.kind.rawValue, $0.state.rawValue)
                < ($0.severity, $1.kind.rawValue, $1.state.rawValue)
        }
        guard !open.isEmpty else { return ["Open findings: none"] }
        return ["Open findings"]
            + TerminalLines.table(
                open.map {
                    [
                        $0.severity.rawValue, $0.kind.rawValue, $0.state.rawValue,
                        String($0.findings),
                    ]
                }, rightAligned: [3])
    }

    private var acknowledgedLines: [String] {
        ["Acknowledged findings"]
            + TerminalLines.table(
                overview.acknowledged.map {
                    [
                        $0.findingID, $0.kind.rawValue, $0.originalTransactionID ?? "",
                        "by \(PlainText.of($0.actor))",
                        $0.until.map { "until \($0.rfc3339)" } ?? "", PlainText.of($0.reason),
                    ]
                })
    }

    private var runLines: [String] {
        guard !overview.runs.isEmpty else { return ["Runs: none yet"] }
        let head = [
            "run", "job", "mode", "took", "status", "in scope", "matched", "discrepant",
            "undecided", "excluded",
        ]
        let rows = overview.runs.map { run in
            [
                run.runID, run.job, run.mode.rawValue,
                run.ended.map {
                    DurationText.age(ofMilliseconds: $0.milliseconds(since: run.started))
                } ?? "–",
                run.exitStatus.map {
                    "\($0.code) \($0 == .output ? "report not written" : $0.name)"
                } ?? "not ended",
                String(run.totals.inScope), String(run.totals.matched),
                String(run.totals.discrepant), String(run.totals.undecidedCount),
                String(run.totals.excludedCount),
            ]
        }
        let table = TerminalLines.table([head] + rows, rightAligned: [5, 6, 7, 8, 9])
        let width = table.map(\.count).max() ?? 0
        guard let columns, width > columns else { return ["Last runs"] + table }
        // A table that is wider than the terminal would be broken anywhere: what a run counted goes
        // below what it was.
        let named = TerminalLines.table(rows.map { Array($0[..<5]) })
        return ["Last runs"]
            + zip(named, rows).flatMap { line, row in
                let counts = zip(head[5...], row[5...]).map { "\($0) \($1)" }
                return [line, "    " + counts.joined(separator: ", ")]
            }
    }

    func moment(_ time: Timestamp) -> String {
        let age = now.milliseconds(since: time)
        return time.rfc3339
            + (age >= 0 ? " (\(DurationText.age(ofMilliseconds: age)) ago)" : " (in the future)")
    }

    // MARK: JSON

    var json: CanonicalJSON {
        var members = self.members
        // Only of a copy: without a table elsewhere nothing is said of one.
        if let copy { members["copy"] = copy.json }
        if !others.isEmpty { members["other_workers"] = .array(others.map(\.json)) }
        if let gap { members["other_workers_gap"] = .string(gap) }
        return .object(members)
    }

    private var members: [String: CanonicalJSON] {
        [
            "subscriptions": .count(overview.subscriptions),
            "not_yet_known": .count(overview.notYetKnown),
            "running": running?.json ?? .null,
            "complete_passes": completePassesJSON,
            "last_complete_pass": .time(lastCompletePass),
            "coverage_age_seconds": lastCompletePass.map {
                .integer(now.milliseconds(since: $0) / 1000)
            } ?? .null,
            "oldest_check": .time(overview.oldestCheck),
            "outbox": overview.outbox.json,
            "owed": .count(overview.pending),
            "checked_by_stopped_runs": .count(overview.checkedByStoppedRuns),
            "rows_judged": .count(overview.judgedRows),
            "purchases": .count(overview.purchases),
            "bookkeeping": .array(
                overview.bookkeeping.map { kind in
                    .object([
                        "kind": .string(kind.kind), "rows": .count(kind.rows),
                        "oldest": .time(kind.oldest),
                    ])
                }),
            "watermarks": .array(
                watermarkApps.map { $0.json(["watermark": .time(overview.watermarks[$0])]) }),
            "acknowledged": .array(overview.acknowledged.map(\.json)),
            "open_findings": .array(
                overview.openFindings.map { count in
                    .object([
                        "kind": .string(count.kind.rawValue),
                        "severity": .string(count.severity.rawValue),
                        "state": .string(count.state.rawValue),
                        "findings": .count(count.findings),
                    ])
                }),
            "runs": .array(
                overview.runs.map { run in
                    run.json([
                        "purchases": run.purchases?.json ?? .null,
                        "totals": .object([
                            "in_scope": .count(run.totals.inScope),
                            "matched": .count(run.totals.matched),
                            "discrepant": .count(run.totals.discrepant),
                            "undecided": .count(run.totals.undecidedCount),
                            "excluded": .count(run.totals.excludedCount),
                        ]),
                    ])
                }),
        ]
    }
}

extension RunListing {
    /// A listed run with what else is shown of it.
    fileprivate func json(_ others: [String: CanonicalJSON]) -> CanonicalJSON {
        let members: [String: CanonicalJSON] = [
            "run_id": .string(runID), "job": .string(job), "mode": .string(mode.rawValue),
            "started": .time(started), "ended": .time(ended),
            "exit_status": .exitStatus(exitStatus), "name": .text(exitStatus?.name),
        ]
        return .object(members.merging(others) { own, _ in own })
    }
}

/// The part of `status` about complete runs: over all rows, or by app where a worker's runs are for
/// some apps alone.
extension StatusReport {
    /// When the newest pass over all rows began, or, where each configured app was passed over by
    /// itself, the oldest of these passes.
    var lastCompletePass: Timestamp? {
        let passes = apps.map { overview.completePasses[$0] }
        let byApp = passes.contains(nil) ? nil : passes.compactMap(\.self).min()
        return [overview.lastCompletePass, byApp].compactMap(\.self).max()
    }

    /// The configured apps of which these books know a complete pass, and any other.
    private var passedApps: [AppIdentity] { overview.completePasses.keys.sorted() }

    /// Whether the passes over single apps say more than the one over all rows.
    private var differByApp: Bool {
        overview.completePasses.values.contains { $0 != overview.lastCompletePass }
    }

    var passLines: [String] {
        guard differByApp else {
            return [
                "Coverage   "
                    + (lastCompletePass.map { "the last complete run began \(moment($0))" }
                        ?? "no run has been complete yet")
            ]
        }
        var lines = ["Coverage   by app, the last complete run began"]
        lines += passedApps.map { app in
            "           \(PlainText.of(app.name))  "
                + (overview.completePasses[app].map(moment) ?? "")
        }
        let others = apps.count { overview.completePasses[$0] == nil }
        if others > 0 {
            lines.append(
                "           none yet by this worker for \(others.counted("other app"))")
        }
        return lines
    }

    var completePassesJSON: CanonicalJSON {
        .array(
            Set(apps).union(passedApps).sorted().map {
                $0.json(["began": .time(overview.completePasses[$0])])
            })
    }
}

/// The part of `status` about a job that is running.
extension StatusReport {
    struct Running {
        var holder: String
        var since: Timestamp?
        /// The progress that it recorded; `nil` where it has recorded none.
        var live: LiveRun?
        /// The command that ends a pause.
        var resumption: String?

        var json: CanonicalJSON {
            var members: [String: CanonicalJSON] = [:]
            if case .object(let progress) = live?.json { members = progress }
            members["holder"] = .string(holder)
            members["since"] = .time(since)
            return .object(members)
        }

        /// How far it is and what it waits for, a line each.
        func lines(at now: Timestamp) -> [String] {
            guard let live else { return [] }
            var lines = [live.runID]
            if let sentence = live.sentence { lines.append(PlainText.of(sentence)) }
            if let throttle = live.throttle { lines.append(throttle.sentence) }
            if let pause = live.pause {
                lines.append(
                    pause.sentence + (resumption.map { "; continue: " + $0 } ?? ""))
            } else if let wait = live.wait, wait.until > now {
                lines.append(PlainText.of(wait.sentence))
            }
            return lines
        }
    }
}

/// The part of `status` about other workers on the same database.
extension StatusReport {
    var workerLines: [String] {
        if let gap { return ["", gap] }
        guard !others.isEmpty else { return [] }
        let head = [
            "apps", "job", "status", "in scope", "discrepant", "undecided", "corrected", "open",
            "began", "worker",
        ]
        let rows = others.map { run in
            let totals = run.listing.totals
            let mode = run.listing.mode == .apply ? "" : " \(run.listing.mode.rawValue)"
            return [
                DaySummary.Share(worker: run.worker, apps: run.apps).text,
                "\(run.listing.job)\(mode)",
                run.listing.exitStatus.map { "\($0.code) \($0.name)" } ?? "not ended",
                String(totals.inScope), String(totals.discrepant), String(totals.undecidedCount),
                run.figures.map { String($0.corrected) } ?? "–",
                run.figures.map { String($0.open) } ?? "–", moment(run.listing.started),
                PlainText.of(run.worker),
            ]
        }
        return ["", "Last runs of other workers"]
            + TerminalLines.table([head] + rows, rightAligned: [3, 4, 5, 6, 7])
    }
}

extension WorkerRun {
    fileprivate var json: CanonicalJSON {
        listing.json([
            "apps": .strings(apps),
            "corrections_applied": .count(figures?.corrected),
            "findings_new": .count(figures?.new),
            "findings_open": .count(figures?.open),
            "headline": .text(headline),
            "report": .text(report),
            "worker": .string(worker),
        ])
    }
}
