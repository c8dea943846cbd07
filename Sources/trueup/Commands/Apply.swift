import ArgumentParser
import FoundationEssentials
import ReconciliationRun
import Reports
import SubscriptionStore
import Subscriptions

/// `trueup apply PLAN`: applies exactly the plan that a run left, row by row, each as the check
/// read it.
struct Apply: Verb {
    static let configuration = CommandConfiguration(
        abstract: "Apply exactly the plan that a check left.",
        discussion: """
            PLAN is the plan.json of a report folder, or the folder. The command refuses the plan (exit \
            status 6) if it was changed, if it was made from another database, if it rests on a root \
            certificate that the settings no longer trust, if one of its apps is no longer configured, or if \
            --approve names another plan. A plan that was applied before changes nothing (exit status 0). The command \
            does not write rows that changed since the plan was made, or about which Apple has signed a newer \
            statement: it names them (exit status 6) and writes the others. The guards of the job that made the plan apply here as well. It makes no \
            call to Apple and needs no key, except with --canary.
            """)

    @Argument(
        help: ArgumentHelp("The plan.json of a report, or its folder.", valueName: "plan"),
        completion: .file())
    var plan: String

    @Option(
        help: ArgumentHelp(
            "Apply only this plan: its SHA-256 as summary.txt states it, or that of the file.",
            valueName: "sha256"))
    var approve: String?

    @OptionGroup(title: "Guards") var guards: GuardOptions
    @OptionGroup var dry: DryRunOption
    @OptionGroup(title: "For every command") var common: CommonOptions

    static let exitStatuses = CommandStatuses(
        [CommandStatuses.run, [.stale, .guarded]],
        [
            .ok: "the plan is applied, or was applied before",
            .incomplete:
                "max_duration ended it, the database refused a row, evidence was erased, or the canary "
                + "could not be checked again",
            .data: "the file is not a plan",
        ])

    func validate() throws {
        guard let approve else { return }
        try refuse(
            if: approve.utf8.count != 64 || !approve.allSatisfy(\.isHexDigit),
            "--approve takes a SHA-256: 64 hexadecimal digits.")
    }

    func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try common.settings(in: invocation)
        let path = file
        let document = try await onBackgroundThread {
            try PlanDocument.read(path)
        }
        try requireApproval(of: document)
        let known = try knownPlan(document, settings, invocation)
        if let run = known.appliedBy {
            try show(known, appliedBy: run, in: invocation)
            return .ok
        }
        guard !known.isPastRetention else {
            throw CommandFailure(
                .stale,
                "What the run \(known.seal.head.plannedBy) planned is past `retention` and was "
                    + "deleted. Nothing was changed. Make a new plan: "
                    + common.command("check", document.head.job))
        }
        try requireApps(of: known, settings, invocation)
        try requireTrust(in: known, settings, invocation)
        guard !dry.dryRun else { return try showDryRun(of: known, settings, in: invocation) }
        var run = try PreparedRun(
            applying: known.seal, guards: guards, settings: settings, in: invocation)
        run.job.commands = RunCommands(
            own: ["trueup", "apply", plan] + (approve.map { ["--approve", $0] } ?? []),
            check: ["trueup", "check", document.head.job], settings: common.settingsWords)
        return try await RunSession(run: run, common: common, invocation: invocation).perform()
    }

    /// Each change of the plan with what would become of it now; nothing is written.
    private func showDryRun(
        of known: KnownPlan, _ settings: Settings, in invocation: Invocation
    ) throws -> ExitStatus {
        let store = try Books(settings).openToRead(at: invocation.now())
        var fates: [CorrectionFate: Int] = [:]
        try store.forEachApplication(ofPlan: known.seal.sha256, at: invocation.now()) {
            correction, fate in
            fates[fate, default: 0] += 1
            try common.show(
                correction.json(fate: fate),
                [correction.line(fate: fate)], in: invocation)
        }
        let (stale, unproven) = (fates[.stale] ?? 0, fates[.unproven] ?? 0)
        let left = stale + unproven
        if !common.json {
            try invocation.show(
                "Dry run of plan \(known.seal.sha256): \(fates[.planned] ?? 0) changes would be "
                    + "written, \(fates[.applied] ?? 0) were written before, \(left) would not be "
                    + "written because their rows have changed, Apple signed a newer statement, or "
                    + "their evidence was erased. The guards are checked when the plan is applied. "
                    + "Nothing was written.")
        }
        return stale > 0 ? .stale : unproven > 0 ? .incomplete : .ok
    }

    private var file: String {
        var isFolder = false
        guard FileManager.default.fileExists(atPath: plan, isDirectory: &isFolder) else {
            // A large plan is packed.
            return FileManager.default.fileExists(atPath: plan + ".gz") ? plan + ".gz" : plan
        }
        guard isFolder else { return plan }
        return PlanDocument.path(inFolder: plan)
    }

    private func requireApproval(of document: PlanDocument) throws {
        guard let approved = approve?.lowercased(), approved != document.sha256,
            approved != document.fileSHA256
        else { return }
        throw CommandFailure(
            .stale,
            "\(plan) is not the plan that --approve names: it is \(document.sha256) (the file: "
                + "\(document.fileSHA256)). Nothing was changed. Read the plan, then approve what "
                + "you have read.")
    }

    /// The plan as the database knows it: nothing is changed up to here, and no lock is taken.
    private func knownPlan(
        _ document: PlanDocument, _ settings: Settings, _ invocation: Invocation
    ) throws -> KnownPlan {
        let store = try Books(settings).openToRead(at: invocation.now())
        let identity = try store.databaseIdentity()
        guard identity == document.head.database else {
            throw CommandFailure(
                .stale,
                "\(plan) was made from another database (\(document.head.database); "
                    + "\(settings.databasePath) is \(identity)). Nothing was changed.")
        }
        guard let known = try store.knownPlan(document.sha256) else {
            throw CommandFailure(
                .stale,
                "No run of this database made the plan \(document.sha256): the file was rewritten, "
                    + "or the database was restored from before. Nothing was changed. Make a new "
                    + "plan: " + common.command("check", document.head.job))
        }
        return known
    }

    /// Refuses a plan that changes rows of an app that is not configured any more: the report would
    /// not name it, and a canary could not ask about it.
    private func requireApps(
        of known: KnownPlan, _ settings: Settings, _ invocation: Invocation
    ) throws {
        let store = try Books(settings).openToRead(at: invocation.now())
        let configured = Set(settings.identities)
        let missing = try store.apps(ofPlan: known.seal.sha256)
            .filter { !configured.contains($0) }
        guard !missing.isEmpty else { return }
        throw CommandFailure(
            .stale,
            "The plan changes rows of \(missing.map(\.name).joined(separator: ", ")), which `apps` "
                + "of the settings does not name now. Nothing was changed. Make a new plan: "
                + common.command("check", known.seal.head.job))
    }

    /// Refuses a plan that rests on a root certificate which the settings trust no longer.
    ///
    /// Signatures were checked as the plan was made, and are not checked again as it is applied. So
    /// a plan of a rehearsal would be written as if Apple had signed what it rests on.
    private func requireTrust(
        in known: KnownPlan, _ settings: Settings, _ invocation: Invocation
    ) throws {
        let run = known.seal.head.plannedBy
        let trusted = Set(try settings.reportedRoots().map(\.fingerprint))
        let store = try Books(settings).openToRead(at: invocation.now())
        // The report from which the plan was taken states the same roots.
        let context = try store.runRecord(ofRun: run, isGoingOn: true).context()
            .flatMap { try? ReportContext(text: $0) }
        let distrusted = context?.trustedRoots.map(\.fingerprint).first { !trusted.contains($0) }
        guard context == nil || distrusted != nil else { return }
        let reason =
            distrusted.map {
                "The run \(run) trusted the root certificate \($0), which `trusted_roots` does not "
                    + "name now."
            } ?? "The database does not say which root certificates the run \(run) trusted."
        throw CommandFailure(
            .stale,
            "\(reason) Nothing was changed. Make a new plan: "
                + common.command("check", known.seal.head.job))
    }

    private func show(
        _ known: KnownPlan, appliedBy run: String, in invocation: Invocation
    ) throws {
        let time = known.appliedAt.map { " on " + $0.rfc3339 } ?? ""
        try common.show(
            .object([
                "applied_at": .time(known.appliedAt), "applied_by": .string(run),
                "exit_status": .integer(0), "name": .string(ExitStatus.ok.name),
                "plan": .string(known.seal.sha256), "written": .integer(0),
            ]),
            [
                "Applied before (exit status 0): run \(run) applied this plan\(time).",
                "Nothing was changed. Plan \(known.seal.sha256)",
            ], in: invocation)
    }
}

/// Whether the ledger next to the company's own table has what the books have.
enum CompanyLedgerLook: Hashable, Sendable {
    case agrees(table: String)
    /// It lacks entries: every run ends with 78 until that is declared.
    case lacksEntries(String)
    /// The company's database could not be read.
    case notLookedAt(String)

    /// - Parameters:
    ///   - settings: Say where the table is; without one there is nothing to look at.
    ///   - books: The database, with its own ledger.
    /// - Returns: `nil` without a table of the company's own.
    static func look(
        _ settings: Settings, beside books: SQLiteStore
    ) async -> CompanyLedgerLook? {
        guard settings.company.table != nil else { return nil }
        do throws(StoreError) {
            guard let link = try settings.company.link(booksAt: settings.databasePath) else {
                return nil
            }
            return try await books.gap(inLedgerOf: link).map(Self.lacksEntries)
                ?? .agrees(table: link.mapping.table.description)
        } catch {
            return .notLookedAt(error.description)
        }
    }

    var status: ExitStatus {
        if case .lacksEntries = self { .config } else { .ok }
    }

    var text: String { described.text }

    var json: CanonicalJSON {
        .object(["detail": .string(text), "outcome": .string(described.outcome)])
    }

    private var described: (outcome: String, text: String) {
        switch self {
        case .agrees(let table):
            (
                "agrees",
                "The ledger next to your table \(table) has the newest entry of trueup's database."
            )
        case .lacksEntries(let problem): ("lacks_entries", problem)
        case .notLookedAt(let reason):
            ("not_looked_at", "The ledger next to your table was not checked: \(reason)")
        }
    }
}
