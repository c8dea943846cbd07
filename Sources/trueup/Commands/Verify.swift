import AppStoreServerAPI
import ArgumentParser
import ReconciliationRun
import ReportAudit
import SubscriptionStore
import Subscriptions
import Synchronization

/// `trueup verify`: whether reports are as they were written, and Apple signed what they rest on.
struct Verify: Verb {
    static let configuration = CommandConfiguration(
        abstract: "Check signatures, hash chain, manifests and totals of reports.",
        discussion: """
            DIR is the folder of one run or a whole report folder. The command names everything that is \
            wrong. It needs no key, network or database (except with --database), and no settings if you \
            name a folder. It skips folders that are still being written (*.partial).

            Evidence counts only if it leads to Apple Root CA - G3, or to a root that --trusted-root or \
            the settings name. What a report says of its own root does not count. If you name a folder, \
            settings count only with --config: neither ./trueup.yaml nor $TRUEUP_CONFIG is read.

            A folder cannot show that its newest runs were removed, or that everything from some run on \
            was written again. Keep the digests that verify prints in another place, and give one of \
            them later with --anchor.
            """)

    @Argument(
        help: ArgumentHelp(
            "A run's folder or a report folder (default: the configured report folder).",
            valueName: "dir"),
        completion: .directory)
    var directory: String?

    @Option(
        name: .customLong("trusted-root"),
        help: ArgumentHelp(
            "Also trust this certificate (PEM or DER); may be repeated.",
            valueName: "file"), completion: .file())
    var trustedRoots: [String] = []

    @Option(
        name: .customLong("anchor"),
        help: ArgumentHelp(
            "A manifest digest or ledger head that must be in the chain; may be repeated.",
            valueName: "digest"))
    var anchors: [String] = []

    @Flag(
        help: ArgumentHelp(
            "Also check the ledger in the configured database, against itself and the reports, and the "
                + "acknowledgements."))
    var database = false

    @OptionGroup(title: "For every command") var common: CommonOptions

    static let exitStatuses = CommandStatuses(
        [CommandStatuses.database],
        [
            .ok: "everything holds",
            .data:
                "the folder has no report, this user may not read all of it, or a certificate cannot "
                + "be read",
            .tampered:
                "a broken signature, chain, manifest or total, or a root that only the report "
                + "names",
        ])

    func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try settings(invocation)
        guard let directory = directory ?? settings?.reportDirectory else {
            throw CommandFailure(
                .usage,
                "There is no folder to verify. Nothing was checked. Name one: trueup verify DIR.")
        }
        let books = try database(settings, invocation)
        let terminal = invocation.progressLine(isQuiet: common.quiet)
        defer { terminal.clear() }
        let audit = try ReportAudit(
            trust: AuditTrust(certificateFiles: try certificates(settings)), anchors: anchors,
            database: books?.databaseReading, progress: .shown(by: terminal))
        let isColoured = common.colours(outputOf: invocation)
        var report = VerifyReport(directory: directory, isColoured: isColoured)
        let result = try await audit.audit(directory) { run in
            terminal.clear()
            if common.json {
                report.take(run)
            } else {
                for line in report.lines(of: run, quiet: common.quiet) {
                    try invocation.show(lines: [line], isColoured: isColoured)
                }
                try invocation.output.flush()
            }
        }
        terminal.clear()
        if let settings, let books {
            report.companyLedger = await CompanyLedgerLook.look(settings, beside: books)
        }
        if common.json {
            try invocation.show(json: report.json(of: result))
        } else {
            for line in report.closing(of: result, quiet: common.quiet) {
                try invocation.show(lines: [line], isColoured: isColoured)
            }
        }
        return report.status(of: result)
    }

    /// The settings, as far as they count.
    ///
    /// With a folder given, only those that `--config` names do. A `trueup.yaml` in the current folder, or
    /// one that an environment variable names, may come with the very reports that are to be checked, and
    /// would have them vouch for their own root.
    private func settings(_ invocation: Invocation) throws -> Settings? {
        guard directory == nil || common.config != nil else { return nil }
        return try common.settings(in: invocation)
    }

    private func database(
        _ settings: Settings?, _ invocation: Invocation
    ) throws -> SQLiteStore? {
        guard database else { return nil }
        guard let settings else {
            throw CommandFailure(
                .usage,
                "--database with a folder needs --config, which says where the database is. Nothing was "
                    + "checked.")
        }
        return try Books(settings).openToRead(at: invocation.now())
    }

    private func certificates(_ settings: Settings?) throws -> [[UInt8]] {
        var paths: [String] = []
        for case .file(let path) in settings?.apps.flatMap(\.trustedRoots) ?? [] {
            paths.append(path)
        }
        var files = try paths.uniqued().map {
            try SettingsFile.bytes(ofFileAt: $0, key: "trusted_roots")
        }
        for path in trustedRoots {
            do throws(ConfigurationError) {
                files.append(try SettingsFile.bytes(ofFileAt: path, key: "--trusted-root"))
            } catch {
                throw CommandFailure(.data, "\(error)")
            }
        }
        return files
    }
}

extension AuditProgress {
    /// A line at the terminal that counts lines.
    fileprivate static func shown(by terminal: ProgressLine) -> AuditProgress {
        let standing = Mutex(RunProgress(stage: .verify, done: 0))
        return AuditProgress(
            begin: { lines in standing.withLock { $0.total = lines } },
            reachLine: {
                let now = standing.withLock { standing in
                    standing.done += 1
                    standing.total = standing.total.map { max($0, standing.done) }
                    return standing
                }
                terminal.show(now)
            })
    }
}

extension SQLiteStore {
    /// Reads the chains for the audit, which knows nothing of this store.
    fileprivate var databaseReading: DatabaseReading {
        DatabaseReading(
            ledger: forEachLedgerRow, decisions: forEachDecisionRow,
            highestDecisionInUse: highestDecisionInUse)
    }
}

/// The output of `verify`, for people as text and for machines as JSON.
private struct VerifyReport {
    let directory: String
    let isColoured: Bool
    /// The result for the ledger next to the company's own table; `nil` where it was not asked for,
    /// or there is none.
    var companyLedger: CompanyLedgerLook?
    fileprivate var runs: [CanonicalJSON] = []

    /// How `verify` ends.
    func status(of result: AuditResult) -> ExitStatus {
        .decisive(of: [result.counts.isIntact ? .ok : .tampered, companyLedger?.status ?? .ok])
    }

    // MARK: Text

    /// A run: one line, and one for everything that is wrong with it.
    func lines(of run: RunAudit, quiet: Bool) -> [String] {
        var lines: [String] = []
        if !quiet {
            let mark =
                run.counts.isIntact
                ? good("ok      ") : bad(run.counts.isUnproven ? "UNPROVEN" : "TAMPERED")
            lines.append("\(mark)  \(PlainText.of(run.folder))  \(Self.summary(of: run))")
            lines += run.notes.map { "          note: \(PlainText.of($0))" }
        }
        return lines + problemLines(run.counts.problems)
    }

    private static func summary(of run: RunAudit) -> String {
        let counts = run.counts
        let findings = counts.findings.counted("finding")
        let erased =
            counts.tombstones > 0 ? ", \(counts.tombstones.counted("payload")) erased" : ""
        guard counts.corrections > 0 else { return "no corrections, \(findings)" + erased }
        var text =
            counts.reverifiedCorrections == counts.corrections
            ? counts.corrections.counted("correction")
            : "\(counts.reverifiedCorrections) of \(counts.corrections.counted("correction"))"
        text +=
            " re-verified" + (counts.roots.isEmpty ? "" : " against \(names(of: counts.roots))")
        if run.undone > 0 { text += ", \(run.undone) reverted" }
        if counts.onErased > 0 { text += ", \(counts.onErased) on erased payloads" }
        return text + ", " + findings + erased
    }

    private func good(_ text: String) -> String { text.painted("32", if: isColoured) }

    private func bad(_ text: String) -> String { text.painted("31", if: isColoured) }

    private func problemLines(_ list: ProblemList) -> [String] {
        list.problems.map { bad("wrong") + "     \(PlainText.of($0.description))" }
            + (list.omitted > 0 ? ["          and \(list.omitted) more of the same place"] : [])
    }

    /// The end: what is wrong with the chain, and the verdict.
    func closing(of result: AuditResult, quiet: Bool) -> [String] {
        let directory = PlainText.of(directory)
        var lines = problemLines(result.problems)
        if let companyLedger, !quiet || companyLedger.status != .ok {
            lines.append(
                (companyLedger.status == .ok ? "" : bad("wrong") + "     ")
                    + PlainText.of(companyLedger.text))
        }
        if quiet, result.counts.isIntact { return lines }
        if !quiet { lines += result.notes.map { "note: \(PlainText.of($0))" } }
        let runs = result.runs.counted("run")
        guard !result.counts.isUnproven else {
            return lines + [
                bad("UNPROVEN") + ": not Apple's root. \(runs) of \(directory) "
                    + "\(result.runs == 1 ? "is" : "are") as written, but the evidence leads to a "
                    + "root that only the reports name: a rehearsal's "
                    + "(exit status \(ExitStatus.tampered.code))"
            ]
        }
        guard result.counts.isIntact else {
            return lines + [
                bad("TAMPERED") + ": \(result.counts.problems.count.counted("problem")) in "
                    + "\(runs) of \(directory) (exit status \(ExitStatus.tampered.code))"
            ]
        }
        lines.append(
            good("INTACT") + ": \(runs), "
                + "\(result.counts.corrections.counted("correction")), "
                + result.counts.findings.counted("finding")
                + (result.breaks.isEmpty
                    ? "" : ", " + result.breaks.count.counted("declared break"))
                + " in \(directory)")
        if let entries = result.ledgerEntries {
            lines.append(
                "The ledger in the database holds, and is the one that the reports show: "
                    + "\(entries) \(entries == 1 ? "entry" : "entries")")
        }
        if let decisions = result.decisions, decisions > 0 {
            lines.append(
                "The chain of decisions about findings in the database holds: "
                    + decisions.counted("decision"))
        }
        if result.counts.tombstones > 0 {
            lines.append(
                "The reports have \(result.counts.tombstones.counted("tombstone")) of erased "
                    + "payloads, each report its own; what these payloads said can no longer be "
                    + "verified")
        }
        for root in result.counts.roots.sorted() where !Self.isApple(root) {
            lines.append(
                "Not Apple's: evidence was verified against the root \(root), which "
                    + "you gave")
        }
        lines.append(
            "Not proven, because Apple does not sign it: cause, first_seen, action and more of a "
                + "finding, undecided.csv, not_found.csv; README.txt of the newest run lists it all"
        )
        if let newest = result.newest, let digest = newest.manifestDigest {
            // The head of an empty ledger is in every chain and proves nothing.
            let head = newest.ledgerHead.flatMap { $0 == LedgerEntry.firstPreviousHash ? nil : $0 }
            lines += [
                "Keep these in another place: then nothing up to \(PlainText.of(newest.runID)) can be removed",
                "or rewritten unnoticed (trueup verify --anchor DIGEST):",
                "  manifest     \(digest)",
                "  ledger head  \(head ?? "none yet: nothing was corrected")",
            ]
        }
        return lines
    }

    private static func names(of roots: Set<String>) -> String {
        roots.sorted().map { root in
            isApple(root) ? "Apple Root CA - G3" : "the given root \(root.prefix(16))…"
        }.joined(separator: " and ")
    }

    private static func isApple(_ root: String) -> Bool {
        root == AppleCertificates.rootG3Fingerprint
    }

    // MARK: JSON

    /// Keeps a run for the one object at the end.
    mutating func take(_ run: RunAudit) {
        runs.append(
            Self.json(
                run.counts, run.counts.problems, run.notes,
                with: [
                    "folder": .string(run.folder), "run_id": .string(run.runID),
                    "manifest_sha256": .text(run.manifestDigest),
                    "ledger_head": .text(run.ledgerHead), "undone": .count(run.undone),
                ]))
    }

    /// The members that a run and the whole audit both have, with others.
    private static func json(
        _ counts: AuditCounts, _ problems: ProblemList, _ notes: [String],
        with others: [String: CanonicalJSON]
    ) -> CanonicalJSON {
        let shared: [String: CanonicalJSON] = [
            "findings": .count(counts.findings), "corrections": .count(counts.corrections),
            "reverified": .count(counts.reverifiedCorrections),
            "on_erased": .count(counts.onErased), "tombstones": .count(counts.tombstones),
            "roots": json(counts.roots), "notes": .strings(notes),
            "problems": .array(problems.problems.map(json)),
            "problems_omitted": .count(problems.omitted),
        ]
        return .object(others.merging(shared) { other, _ in other })
    }

    func json(of result: AuditResult) -> CanonicalJSON {
        let status = status(of: result)
        let others: [String: CanonicalJSON] = [
            "company_ledger": companyLedger?.json ?? .null,
            "verdict": .string(
                result.counts.isIntact
                    ? "intact" : result.counts.isUnproven ? "unproven" : "tampered"),
            "exit_status": .exitStatus(status), "directory": .string(directory),
            "whole_folder": .boolean(result.isWholeFolder), "runs": .array(runs),
            "breaks": .array(result.breaks.map(Self.json)),
            "ledger_entries": .count(result.ledgerEntries),
            "decisions": .count(result.decisions),
            "problem_count": .count(result.counts.problems.count),
            "anchor": .object([
                "run_id": .text(result.newest?.runID),
                "manifest_sha256": .text(result.newest?.manifestDigest),
                "ledger_head": .text(result.newest?.ledgerHead),
            ]),
        ]
        return Self.json(result.counts, result.problems, result.notes, with: others)
    }

    private static func json(_ roots: Set<String>) -> CanonicalJSON {
        .array(
            roots.sorted().map { root in
                .object(["fingerprint": .string(root), "is_apple": .boolean(isApple(root))])
            })
    }

    private static func json(_ lost: DeclaredBreak) -> CanonicalJSON {
        .object([
            "actor": .string(lost.actor), "kept_entry": .integer(lost.keptEntry),
            "lost_from": .integer(lost.keptEntry &+ 1),
            "lost_to": lost.lostEntry.map(CanonicalJSON.integer) ?? .null,
            "reason": .string(lost.reason), "run_id": .string(lost.runID),
        ])
    }

    private static func json(_ problem: AuditProblem) -> CanonicalJSON {
        .object([
            "run": .text(problem.run), "file": .text(problem.file),
            "line": .count(problem.line),
            "ledger_entry": problem.ledgerEntry.map(CanonicalJSON.integer) ?? .null,
            "problem": .string(problem.text),
        ])
    }
}
