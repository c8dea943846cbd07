import Subscriptions

/// Audits the folder of one run.
///
/// First the bytes of the files, then their contents line by line, then the totals. All problems
/// are listed, not only the first one.
struct RunAuditor {
    /// The files by which a run's folder is recognised.
    static let signs = [FileCheck.manifest, FileCheck.sums, SummaryCheck.name]

    let path: String
    /// The folder's name in messages.
    let folder: String
    let manifest: ManifestRecord?
    private let manifestFailure: String?

    /// Reads the manifest.
    init(path: String, folder: String) {
        self.path = path
        self.folder = folder
        do throws(UnreadableFile) {
            manifest = try ManifestRecord(ofFileAt: path + "/" + FileCheck.manifest)
            manifestFailure = nil
        } catch {
            manifest = nil
            manifestFailure = error.reason
        }
    }

    /// Audits the folder.
    ///
    /// - Parameters:
    ///   - trust: The trusted roots.
    ///   - apps: The apps of this run and of those that it follows.
    ///   - trail: The ledger up to this run; the run's entries are added.
    /// - Returns: The counts and problems of the run.
    func audit(
        trust: AuditTrust, apps: KnownApps, trail: inout LedgerTrail
    ) async -> RunAudit {
        let name = folder.split(separator: "/").last.map(String.init) ?? folder
        var audit = RunAudit(folder: folder, runID: manifest?.runID ?? name)
        let problems = RunProblems(folder: folder, manifest: manifest)
        if let manifestFailure { problems.add(FileCheck.manifest, manifestFailure) }
        // Reading all files takes a processor for as long as most of what follows.
        async let files = Self.checkFiles(at: path, folder: folder, manifest)
        if let manifest {
            audit.manifestDigest = manifest.digest
            audit.ledgerHead = manifest.ledgerHead
            let contents = RunProblems(folder: folder, manifest: manifest)
            await auditContents(manifest, trust, apps, &trail, &audit, contents)
            problems.add(await files)
            problems.add(contents.list)
        } else {
            trail.skip(toHead: nil)
            problems.add(await files)
        }
        audit.problems = problems.list
        return audit
    }

    @concurrent
    private static func checkFiles(
        at path: String, folder: String, _ manifest: ManifestRecord?
    ) async -> ProblemList {
        let problems = RunProblems(folder: folder, manifest: manifest)
        FileCheck(folder: path, manifest: manifest).check { problems.add($0, $1) }
        return problems.list
    }

    private func auditContents(
        _ manifest: ManifestRecord, _ trust: AuditTrust, _ apps: KnownApps,
        _ trail: inout LedgerTrail, _ audit: inout RunAudit, _ problems: RunProblems
    ) async {
        let verifier = EvidenceVerifier(trust: trust, manifest: manifest)
        let evidence: EvidenceFile
        let guide: DigestGuide?
        do throws(UnreadableFile) {
            let checked = try EvidenceFile.check(folder: path, endOfRun: manifest.ended) {
                problems.add(EvidenceFile.name, line: $0, $1)
            }
            audit.tombstones = checked.tombstones
            if checked.datedLater > 0 {
                // No signature dates an erasure, and clocks are set back: this proves nothing.
                audit.notes.append(
                    "\(checked.datedLater) erased payloads are dated after this run ended: the "
                        + "clock was set back since, or was another one than the run's")
            }
            guide = checked.guide
            evidence = try EvidenceFile(folder: path, guide: guide, verifier: verifier)
        } catch {
            problems.add(EvidenceFile.name, error.reason)
            trail.skip(toHead: manifest.ledgerHead)
            return
        }
        let statements = StatementCheck(
            runID: manifest.runID, apps: apps, evidence: evidence)
        // The plan names what the corrections name, so checking it costs about as much.
        async let listed = ListedContents.audit(
            path: path, folder: folder, manifest: manifest, trust: trust, apps: apps, guide: guide)
        let corrected = RunProblems(folder: folder, manifest: manifest)
        var changed = CorrectedTotals()
        await auditLedger(manifest, statements, &trail, &audit, &changed, corrected)
        let lists = await listed
        problems.add(lists.findings)
        problems.add(corrected.list)
        problems.add(lists.plan)
        var counts = lists.counts
        // Older reports lack it.
        if manifest.lists(BusinessCheck.name) {
            do throws(UnreadableFile) {
                try BusinessCheck(folder: path, problems: problems).check(counts: &counts)
            } catch {
                problems.add(BusinessCheck.name, error.reason)
            }
        }
        countUndecided(&counts, problems)
        counts.corrections = audit.corrections
        counts.corrected = changed
        audit.findings = counts.findings
        trail.counted.add(
            SummaryCheck(manifest: manifest, counts: counts, earlier: trail.counted) {
                problems.add($0, $1)
            }.check(folder: path), endOf: manifest.runID)
        audit.roots = verifier.roots.union(lists.roots)
        // A root that only the manifest names proves nothing.
        let rehearsalRoots = verifier.rehearsalRoots.union(lists.rehearsalRoots)
        if !rehearsalRoots.isEmpty { audit.reverifiedCorrections = 0 }
        for root in rehearsalRoots.sorted() {
            problems.add(
                EvidenceFile.name, kind: .unknownRoot,
                "it rests on the rehearsal root \(root), which only this manifest names; if you "
                    + "mean to trust it, pass its certificate with --trusted-root, or settings that "
                    + "name it with --config")
        }
    }

    /// What the run added to the ledger: declared breaks, and corrections.
    private func auditLedger(
        _ manifest: ManifestRecord, _ statements: StatementCheck, _ trail: inout LedgerTrail,
        _ audit: inout RunAudit, _ changed: inout CorrectedTotals, _ problems: RunProblems
    ) async {
        for declaration in manifest.declarations {
            let number = declaration.integer("ledger_entry")
            let report = { (text: String) in
                problems.add(FileCheck.manifest, entry: number, text)
            }
            if DeclaredBreak(declaration) == nil { report("it declares no break of the ledger") }
            if let problem = declaration.sealProblem { report(problem) }
            if let problem = trail.take(declaration: declaration) { report(problem) }
        }
        do throws(UnreadableFile) {
            try await CorrectionCheck(
                folder: path, isCheck: manifest.record.text("mode") == "check",
                statements: statements,
                hasDerivations: manifest.lists(DerivationCheck.name), problems: problems
            ).check(trail: &trail, audit: &audit, changed: &changed)
        } catch {
            problems.add(CorrectionCheck.name, error.reason)
        }
        if let problem = trail.close(
            path: path + "/" + CorrectionCheck.name, head: manifest.ledgerHead)
        {
            problems.add(FileCheck.manifest, problem)
        }
    }

    private func countUndecided(_ counts: inout RunCounts, _ problems: RunProblems) {
        let name = "undecided.csv"
        do throws(UnreadableFile) {
            let file = try CSVRecords(path + "/" + name)
            while let record = try file.next() {
                counts.undecided[record["reason"] ?? "?", default: 0] += 1
                if let manifest, !manifest.runID.isSame(as: record["run_id"]) {
                    problems.add(name, line: file.lineNumber, "it is a row of another run")
                }
            }
        } catch {
            problems.add(name, error.reason)
        }
    }
}
