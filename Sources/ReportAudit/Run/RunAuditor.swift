import JSONWebSignature
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
    private let reading: Result<ManifestRecord, UnreadableFile>
    private let progress: AuditProgress

    /// Reads the manifest.
    init(path: String, folder: String, progress: AuditProgress) {
        self.path = path
        self.folder = folder
        self.progress = progress
        reading = Result { () throws(UnreadableFile) in
            try ManifestRecord(ofFileAt: path + "/" + FileCheck.manifest)
        }
    }

    /// The manifest; `nil` when it cannot be read.
    var manifest: ManifestRecord? { try? reading.get() }

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
        if case .failure(let failure) = reading { problems.add(FileCheck.manifest, failure.reason) }
        // Reading all files takes a processor for as long as most of what follows.
        async let files = checkFiles()
        if let manifest {
            audit.manifestDigest = manifest.digest
            audit.ledgerHead = manifest.ledgerHead
            let run = RunFolder(
                path: path, name: folder, manifest: manifest, trust: trust, apps: apps,
                progress: progress)
            let contents = run.problems()
            await Self.auditContents(run, &trail, &audit, contents)
            problems.add(await files)
            problems.add(contents.list)
        } else {
            trail.skip(toHead: nil)
            problems.add(await files)
        }
        audit.counts.problems = problems.list
        return audit
    }

    @concurrent
    private func checkFiles() async -> ProblemList {
        let problems = RunProblems(folder: folder, manifest: manifest)
        FileCheck(folder: path, manifest: manifest).check { problems.add($0, $1) }
        return problems.list
    }

    private static func auditContents(
        _ run: RunFolder, _ trail: inout LedgerTrail, _ audit: inout RunAudit,
        _ problems: RunProblems
    ) async {
        let manifest = run.manifest
        guard !manifest.isCompare else {
            trail.skip(toHead: manifest.ledgerHead)
            audit.counts.findings = await CompareCheck(run: run) {
                problems.add($0, line: $1, $2)
            }.check()
            return
        }
        let evidence: EvidenceFile
        let guide: DigestGuide?
        do throws(UnreadableFile) {
            let checked = try EvidenceFile.check(folder: run.path, endOfRun: manifest.ended) {
                problems.add(EvidenceFile.name, line: $0, $1)
            }
            audit.counts.tombstones = checked.tombstones
            if checked.datedLater > 0 {
                // No signature dates an erasure, and clocks are set back: this proves nothing.
                audit.notes.append(
                    "\(checked.datedLater) erased payloads are dated after this run ended: the "
                        + "clock was set back since, or was another one than the run's")
            }
            guide = checked.guide
            evidence = try EvidenceFile(of: run, guide: guide)
        } catch {
            problems.add(EvidenceFile.name, error.reason)
            trail.skip(toHead: manifest.ledgerHead)
            return
        }
        // The plan names what the corrections name, so checking it costs about as much.
        async let listed = ListedContents.audit(run, guide: guide)
        let corrected = run.problems()
        var changed = CorrectedTotals()
        await auditLedger(evidence, &trail, &audit, &changed, corrected)
        let lists = await listed
        problems.add(lists.findings)
        problems.add(corrected.list)
        problems.add(lists.plan)
        var counts = lists.counts
        // Older reports lack it.
        if manifest.lists(BusinessCheck.name) {
            problems.reading(BusinessCheck.name) { () throws(UnreadableFile) in
                try BusinessCheck(run: run, problems: problems).check(counts: &counts)
            }
        }
        checkOwnersAndEntitlements(run, counts, problems)
        countUndecided(run, &counts, problems)
        counts.corrections = audit.counts.corrections
        counts.corrected = changed
        audit.counts.findings = counts.findings
        let counted = SummaryCheck(manifest: manifest, counts: counts, earlier: trail.counted) {
            problems.add($0, $1)
        }.check(folder: run.path)
        if !counted.isEmpty { trail.counted[manifest.runID] = counted }
        audit.counts.roots = evidence.verifier.roots.union(lists.roots)
        // A root that only the manifest names proves nothing.
        let rehearsalRoots = evidence.verifier.rehearsalRoots.union(lists.rehearsalRoots)
        if !rehearsalRoots.isEmpty { audit.counts.reverifiedCorrections = 0 }
        for root in rehearsalRoots.sorted() {
            problems.add(
                EvidenceFile.name, isUnknownRoot: true,
                "it rests on the rehearsal root \(root), which only this manifest names; if you "
                    + "mean to trust it, pass its certificate with --trusted-root, or settings that "
                    + "name it with --config")
        }
    }

    /// Checks what the run added to the ledger: declared breaks, and corrections.
    private static func auditLedger(
        _ evidence: EvidenceFile, _ trail: inout LedgerTrail, _ audit: inout RunAudit,
        _ changed: inout CorrectedTotals, _ problems: RunProblems
    ) async {
        let manifest = evidence.run.manifest
        for declaration in manifest.declarations {
            let number = declaration.integer("ledger_entry")
            let report = { (text: String) in
                problems.add(FileCheck.manifest, entry: number, text)
            }
            if DeclaredBreak(declaration) == nil { report("it declares no break of the ledger") }
            if let problem = declaration.sealProblem { report(problem) }
            if let problem = trail.take(declaration: declaration) { report(problem) }
        }
        await problems.reading(CorrectionCheck.name) { () async throws(UnreadableFile) in
            try await CorrectionCheck(evidence: evidence, problems: problems)
                .check(trail: &trail, audit: &audit, changed: &changed)
        }
        if let problem = trail.close(
            path: evidence.run.file(CorrectionCheck.name), head: manifest.ledgerHead)
        {
            problems.add(FileCheck.manifest, problem)
        }
    }

    private static func checkOwnersAndEntitlements(
        _ run: RunFolder, _ counts: RunCounts, _ problems: RunProblems
    ) {
        problems.reading(UnownedCheck.name) { () throws(UnreadableFile) in
            try UnownedCheck(run: run, problems: problems).check(
                hasChangedTokens: counts.severities["identity"] != nil)
        }
        // Older reports lack it.
        guard run.manifest.lists(EntitlementCheck.name) else { return }
        problems.reading(EntitlementCheck.name) { () throws(UnreadableFile) in
            try EntitlementCheck(run: run, problems: problems).check()
        }
    }

    private static func countUndecided(
        _ run: RunFolder, _ counts: inout RunCounts, _ problems: RunProblems
    ) {
        let name = "undecided.csv"
        problems.reading(name) { () throws(UnreadableFile) in
            let file = try CSVRecords(run.file(name))
            while let record = try file.next() {
                counts.undecided[record["reason"] ?? "?", default: 0] += 1
                if !run.manifest.runID.isSame(as: record["run_id"]) {
                    problems.add(name, line: file.lineNumber, "it is a row of another run")
                }
            }
        }
    }
}

/// The counts from the line files of a run, to be compared with its summary.
struct RunCounts {
    var findings = 0
    /// By kind, then by severity.
    var severities: [String: [String: Int]] = [:]
    /// By kind, then by state.
    var states: [String: [String: Int]] = [:]
    /// By direction and currency; `nil` after an overflow.
    private(set) var money: [String: (amount: Int64, findings: Int)]? = [:]
    private var prices = PeriodPrices()
    var corrections = 0
    var undecided: [String: Int] = [:]
    /// Rows that the plan only fills in, including their periods, without correcting a finding.
    var filled: Int { filledBefore + (fill?.isFillOnly == true ? 1 : 0) }
    private var filledBefore = 0
    /// The current row, and whether it is only filled in; the corrections of a row are adjacent.
    private var fill: (row: [String?], isFillOnly: Bool)?
    /// The planned corrections by fate.
    var fates: [String: Int] = [:]
    var planned = 0
    /// The changes of the control totals by the run's own corrections.
    var corrected = CorrectedTotals()
    /// Events of `business.jsonl` by day, app, environment and kind.
    var business: [[String]: Int64] = [:]
    /// The identity that `plan.json` states; `nil` when it states none.
    var plan: String?

    mutating func take(finding: JSONRecord) {
        findings += 1
        let kind = finding.text("kind") ?? "?"
        severities[kind, default: [:]][finding.text("severity") ?? "?", default: 0] += 1
        states[kind, default: [:]][finding.text("state") ?? "?", default: 0] += 1
        for price in prices.take(finding) { add(price.amount, to: price.name) }
    }

    mutating func take(planned item: JSONRecord) {
        planned += 1
        let fate = item.text("fate") ?? "?"
        fates[fate, default: 0] += 1
        if ["planned", "applied"].contains(fate), item.text("action") == "update",
            !item.states("undo_of")
        {
            take(
                update: ["app", "environment", "original_transaction_id"].map { item.text($0) },
                fills: item["kinds"]?.elements.isEmpty ?? false)
        }
    }

    private mutating func take(update row: [String?], fills: Bool) {
        if let known = fill, known.row == row {
            fill = (row, known.isFillOnly && fills)
        } else {
            filledBefore = filled
            fill = (row, fills)
        }
    }

    /// Adds the prices of the last subscription at the end of the file.
    mutating func finishFindings() {
        for price in prices.finish() { add(price.amount, to: price.name) }
    }

    private mutating func add(_ amount: Int64, to name: String) {
        let known = money?[name] ?? (0, 0)
        let (sum, overflow) = known.amount.addingReportingOverflow(amount)
        if overflow { money = nil } else { money?[name] = (sum, known.findings + 1) }
    }
}

/// The list prices of one subscription's findings, each period once per direction.
///
/// Written from docs/report-files.md (a period's price counts once per direction in the totals, in
/// its most severe finding). The findings of one subscription are adjacent in the file.
struct PeriodPrices {
    private static let severities = ["info", "low", "medium", "high", "critical"]

    private var subscription: [String?] = []
    /// By environment, transaction, direction and currency.
    private var periods: [[String?]: (name: String, rank: Int, amount: Int64)] = [:]

    /// Adds a finding's amount; returns the amounts that are now final, by direction and currency.
    mutating func take(_ finding: JSONRecord) -> [(name: String, amount: Int64)] {
        let concerned = [finding.text("app"), finding.text("original_transaction_id")]
        let done = concerned == subscription ? [] : finish()
        subscription = concerned
        guard let amount = finding.integer("amount"), let currency = finding.text("currency"),
            let direction = finding.text("direction")
        else { return done }
        let name = direction + " " + currency
        // A difference of price is not a period's price; a finding without a period counts
        // separately.
        guard finding.text("kind") != "price", concerned[1] != nil,
            let transactionID = finding.text("transaction_id")
        else { return done + [(name, amount)] }
        let period = [finding.text("environment"), transactionID, direction, currency]
        let rank = Self.severities.firstIndex(of: finding.text("severity") ?? "") ?? -1
        // Sorted by kind and field: of equally severe ones the first counts.
        if periods[period].map({ rank > $0.rank }) ?? true {
            periods[period] = (name, rank, amount)
        }
        return done
    }

    /// The amounts of the last subscription.
    mutating func finish() -> [(name: String, amount: Int64)] {
        defer { periods = [:] }
        return periods.values.map { ($0.name, $0.amount) }
    }
}

/// The apps that lines of a report may be about: those of its own manifest, and those of the runs
/// that it follows.
///
/// A finding stays open, and a correction can be reverted, after its app has been removed from the
/// settings; the manifest names only what was configured. What a line says of such an app is held
/// against its signed payload like any other.
struct KnownApps {
    /// The problem of a line whose app is not named anywhere.
    static let problem = "its app is none of the manifest's, nor of a run's before it"

    private var apps: [ManifestRecord.App] = []
    /// Whether a run that could name an app is not there to be read.
    private let isOpen: Bool

    /// - Parameter first: The oldest run that is there: alone, or at the front of its chain.
    init(startingWith first: ManifestRecord?) {
        isOpen = first?.previous != nil
    }

    /// Adds the apps of the next run, whose word counts where an earlier one says something else.
    mutating func add(_ manifest: ManifestRecord) {
        apps.insert(contentsOf: manifest.apps, at: 0)
        var seen: Set<AppIdentity> = []
        apps.removeAll { !seen.insert($0.identity).inserted }
    }

    /// The app of a line; `nil` where no run names it.
    ///
    /// Where older runs are missing, it is the one that the line names: its payload must then be
    /// made for that one.
    func app(of line: JSONRecord) -> ManifestRecord.App? {
        let bundleID = line.text("app")
        let environment = line.text("environment")
        let known = apps.first { $0.isNamed(bundleID: bundleID, environment: environment) }
        guard known == nil, isOpen, let bundleID,
            let environment = environment.flatMap(AppStoreEnvironment.init(rawValue:))
        else { return known }
        return ManifestRecord.App(
            identity: AppIdentity(bundleID: bundleID, environment: environment), appAppleID: nil)
    }
}
