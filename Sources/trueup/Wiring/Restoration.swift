import ReportAudit
import Reports
import SubscriptionStore
import Subscriptions

/// Finds what a database lacks of the ledger that its reports prove, and declares it.
struct Restoration {
    let settings: Settings
    var reason = ""
    /// For the lock of the report folder.
    let holder: String
    let invocation: Invocation

    /// Returns the first notice of a run where the newest report proves entries of the ledger that
    /// the database does not have; `nil` where it has them.
    ///
    /// All reports are read in that case only: a run must not take longer the more runs came before
    /// it.
    func notice(of store: SQLiteStore) throws -> String? {
        let directory = settings.reportDirectory
        guard try lostHead(of: store) != nil else { return nil }
        // Where the exact entries cannot be found, the loss itself is still reported.
        let lost = (try? self.lost(try ReportedLedger(directory), store)) ?? []
        let entries = lost.isEmpty ? "" : " " + lost.map(\.sentence).joined(separator: " ")
        return
            "The ledger in \(settings.booksURL) lacks the entry with which the newest report in "
            + "\(directory) ends.\(entries) The run checks every row again. If the database was restored "
            + "from a backup, declare it with \"trueup restored --reason TEXT\". Until then \"trueup "
            + "verify\" reports tampering. \(Self.aboutImports)"
    }

    /// The advice about received notifications, which no run can read anywhere else.
    static let aboutImports =
        "If a job has inbox: imported, import the notifications that you received since the backup "
        + "again: until then runs find them lost (notification_lost)."

    /// Has every row checked again where the newest report proves what the database does not
    /// have.
    func lookAtEveryRowAgain(in store: SQLiteStore) async throws {
        guard let lost = try lostHead(of: store) else { return }
        try await store.lookAtEveryRowAgain(afterLossOf: lost, at: invocation.now())
    }

    /// The hash of the newest reported entry; `nil` where the database has it.
    private func lostHead(of store: SQLiteStore) throws -> String? {
        try Self.lostHead(of: store, provenIn: settings.reportDirectory)
    }

    /// Returns the lost head of a database that is only read.
    static func lostHead(of store: SQLiteStore, provenIn directory: String) throws -> String? {
        guard let head = ReportedLedger.newestHead(in: directory),
            try store.ledgerHead().hash != head, try store.ledgerEntry(withHash: head) == nil
        else { return nil }
        return head
    }

    /// Returns what would be declared; nothing is written.
    ///
    /// - Throws: 64 where nothing was lost.
    func lost(in store: SQLiteStore) throws -> [LedgerBreak] {
        try lostEntries(try ReportedLedger(settings.reportDirectory), store)
    }

    private func lostEntries(
        _ reported: ReportedLedger, _ store: SQLiteStore
    ) throws -> [LedgerBreak] {
        let lost = try lost(reported, store)
        guard !lost.isEmpty else {
            throw CommandFailure(
                .usage,
                "The ledger in \(settings.booksURL) lacks nothing that the reports in "
                    + "\(settings.reportDirectory) show, so there is no restore to declare. Nothing "
                    + "was changed.")
        }
        return lost
    }

    /// Writes the declaration into the ledger, and a report that shows it into the chain.
    ///
    /// - Returns: What was lost, and the report's path.
    func declare(in store: SQLiteStore) async throws -> (lost: [LedgerBreak], report: String) {
        let database = ReportingDatabase(
            identity: try store.databaseIdentity(), path: settings.booksURL)
        let claim = try ReportFolderClaim.take(
            settings.reportDirectory, for: database, holder: holder, replacing: true)
        let reported = try ReportedLedger(settings.reportDirectory)
        let lost = try lostEntries(reported, store)
        let started = invocation.now()
        let header = RunHeader(
            JobSettings(name: "restored", file: ""), mode: .apply, started: started,
            settings: settings)
        let folder = try ReportFolder.begin(
            in: settings.reportDirectory, runID: header.runID, started: started)
        try await lookAtEveryRowAgain(in: store)
        let entries = try await store.declareRestored(
            lost, reason: reason, manifest: reported.newestManifest, run: header, at: started)
        try claim.bind(database)
        let record = DeclaringRun(
            header: header, ended: invocation.now(),
            messages: lost.map(\.sentence) + ["Declared as a restore: " + reason],
            ledgerHead: entries.last?.hash ?? reported.head)
        let context = try context(declaring: entries, database)
        let report = try await onBackgroundThread {
            try folder.finish(record, context: context).path
        }
        _ = consume claim
        return (lost, report)
    }

    private func context(
        declaring entries: [LedgerEntry], _ database: ReportingDatabase
    ) throws -> ReportContext {
        var context = ReportContext(
            of: settings, trustedRoots: try settings.reportedRoots(), in: database)
        context.retentionMilliseconds = settings.retentionMilliseconds
        context.declarations = entries
        return context
    }

    private func lost(
        _ reported: ReportedLedger, _ store: SQLiteStore
    ) throws -> [LedgerBreak] {
        var lost: [LedgerBreak] = []
        for found in reported.breaks where try store.ledgerEntry(withHash: found.lostHash) == nil {
            guard let kept = try store.ledgerEntry(withHash: found.keptHash) else { continue }
            lost.append(
                LedgerBreak(
                    keptEntry: kept, keptHash: found.keptHash, lostEntry: found.lostEntry,
                    lostHash: found.lostHash))
        }
        let head = try store.ledgerHead()
        if let shown = try store.ledgerEntry(withHash: reported.head) {
            try refuseUnreported(head.number, after: shown, lost, store)
        } else {
            let kept = try lastShared(reported, store, upTo: head.number)
            lost.append(
                LedgerBreak(
                    keptEntry: kept.number, keptHash: kept.hash, lostEntry: reported.number,
                    lostHash: reported.head))
            try refuseUnreported(head.number, after: kept.number, lost, store)
        }
        return lost
    }

    /// The newest entry that database and reports have in common: up to it all are the same.
    ///
    /// A backup that is newer than one that was put back before has entries that were lost then.
    private func lastShared(
        _ reported: ReportedLedger, _ store: SQLiteStore, upTo newest: Int64
    ) throws -> (number: Int64, hash: String) {
        var low: Int64 = 0
        var high = newest
        while low < high {
            let middle = high - (high - low) / 2
            if try isShared(middle, reported, store) {
                low = middle
            } else {
                high = middle - 1
            }
        }
        return (low, try store.ledgerHash(ofEntry: low) ?? LedgerEntry.firstPreviousHash)
    }

    private func isShared(
        _ number: Int64, _ reported: ReportedLedger, _ store: SQLiteStore
    ) throws -> Bool {
        let held = try store.ledgerHash(ofEntry: number)
        if let held, reported.hasShown(number, hash: held) { return true }
        guard number <= reported.number ?? number else { return false }
        let shown = reported.hash(ofEntry: number)
        // An entry whose report was deleted by retention counts as the same.
        return shown == nil || shown == held
    }

    /// An entry behind the declaration that no report shows would never be shown.
    private func refuseUnreported(
        _ newest: Int64, after shown: Int64, _ lost: [LedgerBreak], _ store: SQLiteStore
    ) throws {
        guard newest > shown, !lost.isEmpty,
            try !store.isDeclaration(ofEntry: shown + 1, through: newest)
        else { return }
        throw CommandFailure(
            .usage,
            "The database has corrections that no report shows yet (entries \(shown + 1) to "
                + "\(newest)). Nothing was declared. Run the job once, so that they are reported, "
                + "then declare the restore.")
    }
}

/// A run that checks no row: its report holds nothing but what it declares.
private struct DeclaringRun: RunRecord {
    let header: RunHeader
    let ended: Timestamp
    let messages: [String]
    let ledgerHead: String

    func summary() throws -> RunSummary {
        RunSummary(
            header: header,
            conclusion: RunConclusion(
                ended: ended, statuses: [.ok], messages: messages, limits: [], calls: [],
                closesPass: true),
            resumedFrom: nil, totals: RunTotals(), findings: [], money: [], corrections: [:],
            ledgerHead: ledgerHead, evidence: EvidenceCost())
    }

    func forEachFinding(_ body: (ReportedFinding) throws -> Void) throws {}
    func forEachCorrection(_ body: (LedgerEntry) throws -> Void) throws {}
    func forEachEvidencedCorrection(
        where isNeeded: (LedgerEntry) -> Bool, _ body: (ReportedCorrection) throws -> Void
    ) throws -> Int { 0 }
    func forEachPlanned(_ body: (PlannedCorrection, CorrectionFate) throws -> Void) throws {}
    func forEachUndecided(_ body: (UndecidedRow) throws -> Void) throws {}
    func forEachNotFound(_ body: (NotFoundAccount) throws -> Void) throws {}
    func forEachNotification(_ body: (NotificationAudit) throws -> Void) throws {}
    func forEachEntitlementChange(_ body: (EntitlementChange) throws -> Void) throws {}
    func forEachUnowned(_ body: (UnownedPurchase) throws -> Void) throws {}
    func forEachEvidence(_ body: (ReportedEvidence) throws -> Void) throws {}
    func forEachEarlierRun(since first: Timestamp, _ body: (EarlierRun) throws -> Void) throws {}
}

extension SQLiteRunRecord: RunRecord {}

/// Finds reports that the database knows to be published and that the report folder does not hold:
/// the folder was deleted, moved, or another one is named by the settings now.
///
/// Retention deletes the oldest reports only, so the newest one tells. Once the run that notices it
/// has published its own report, that one is the newest.
extension SQLiteStore {
    /// The reports that the folder lacks.
    ///
    /// `manifest` is SHA-256 of the newest missing report's manifest, on which the chain continues;
    /// `nil` where it was published elsewhere and older ones are here. `notice` is that of a run.
    typealias MissingReports = (manifest: String?, notice: String)

    /// How many of the newest runs are checked: those that were killed before their report was
    /// published have noted none.
    private static let newestRunsLookedAt = 8

    /// Compares the newest report of the database with the folder.
    ///
    /// - Parameter directory: The report folder of the settings.
    /// - Returns: What is missing; `nil` where nothing is, or the database cannot tell.
    /// - Throws: `StoreError` when the database cannot be read.
    func missingReports(in directory: String) throws -> MissingReports? {
        for (runID, text) in try newestReportContexts(Self.newestRunsLookedAt) {
            guard let context = try? ReportContext(text: text), let manifest = context.manifest
            else { continue }
            return Self.missing(
                runID, manifest, from: directory, publishedIn: context.shownDirectory ?? directory)
        }
        return nil
    }

    private static func missing(
        _ runID: String, _ manifest: String, from directory: String, publishedIn known: String
    ) -> MissingReports? {
        guard !ReportFolder.isPublished(runID, in: directory) else { return nil }
        let newest = ReportFolder.newestRun(in: directory)
        // A database that was restored may be behind the reports; runs of one second have no order.
        if let newest, second(of: runID) < second(of: newest) { return nil }
        let place =
            known == directory
            ? "It was published there"
            : "It was published in \(known), which report.directory named then"
        let missing =
            "The database has published the report of run \(runID), which the report folder "
            + "\(directory) does not have. \(place). "
        guard let newest else {
            return (
                manifest,
                missing
                    + "The folder has no report at all, so the chain of reports begins again with this "
                    + "run, after the missing ones. \"trueup verify\" says that older reports were "
                    + "removed, and cannot show what they corrected. Put the missing reports back next "
                    + "to this one (\(DocumentationPage.backup)), or keep the folder that has them."
            )
        }
        guard known == directory else {
            return (
                nil,
                missing
                    + "The chain of reports continues from the newest one in this folder, of run "
                    + "\(newest), as if there had been none between. If a missing report shows "
                    + "corrections, \"trueup verify\" reports the gap in the ledger as tampering. Keep "
                    + "the missing reports where they are."
            )
        }
        return (
            manifest,
            missing
                + "Its newest report is of run \(newest). The chain of reports continues after the missing "
                + "ones, and \"trueup verify\" reports the gap as tampering until they are here again. "
                + "Put them back next to the others (\(DocumentationPage.backup))."
        )
    }

    /// When a run began, as its id says.
    private static func second(of runID: String) -> Substring { runID.prefix { $0 != "-" } }
}
