import ArgumentParser
import ReportAudit
import Reports
import SubscriptionStore
import Subscriptions

/// `trueup restored`: declares that the database was restored or rebuilt.
struct Restored: Verb {
    static let configuration = CommandConfiguration(
        abstract: "Declare that the database was restored to a state before its reports.",
        discussion: """
            A restored backup lacks the newest ledger entries; a rebuilt database lacks all of them. The \
            reports show these entries, so verify reports tampering (exit status 7) until you declare \
            the restore. The declaration is a ledger entry and a report of its own, and verify always \
            shows what was lost and why. The command refuses if the database lacks nothing.

            With a table of your own: if your database was restored, the command declares that in \
            trueup's database. If trueup's database was lost and a new one replaces it, the ledger next \
            to your table belongs to the new one from then on.

            The page docs/backup.md of the documentation has the whole procedure \
            (/usr/share/doc/trueup/docs/backup.md where the package is installed).
            """)

    @Option(help: ArgumentHelp("Why; the ledger and verify show it.", valueName: "text"))
    var reason: String

    @OptionGroup var dry: DryRunOption
    @OptionGroup(title: "For every command") var common: CommonOptions

    static let exitStatuses = CommandStatuses(
        [CommandStatuses.database, [.cannotCreate]],
        [
            .ok: "the restore is declared", .usage: "bad arguments, or there is nothing to declare",
            .data: "a report that is needed cannot be read",
        ])

    func validate() throws {
        try refuse(
            if: reason.allSatisfy(\.isWhitespace),
            "--reason is empty. Say why the database was restored or rebuilt.")
    }

    func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try common.settings(in: invocation)
        let holder = RunningUser.lockHolder(doing: "restored")
        guard !dry.dryRun else { return try await showDryRun(settings, holder, in: invocation) }
        let lock = try invocation.lock(settings, for: holder)
        let opened = try Books(settings, holder: holder)
        defer { opened.release() }
        try opened.bringUpToDate(under: lock)
        let store = try opened.openToWrite(
            company: try settings.company.link(booksAt: settings.databasePath))
        if let former = try await store.adoptCompanyLedger(
            reason: reason, by: holder, at: invocation.now())
        {
            _ = consume lock
            // The ledger next to the company's table is that of these books now.
            let books = settings.databasePath
            return try show(
                ["books": .string(books), "former_books": .string(former)],
                [
                    "Declared: the ledger next to your table belongs to \(books) from now on, no "
                        + "longer to \(former). The next run imports its entries."
                ], in: invocation)
        }
        // Where its ledger continues behind these books, they were put back: nothing is lost there.
        if try await !store.isContinuedByCompany(),
            let lost = try await store.declareCompanyRestored(
                reason: reason, by: holder, at: invocation.now())
        {
            _ = consume lock
            // The books have these entries, and the company's table lost them.
            return try show(
                ["lost": .array([Self.json(lost)])],
                [
                    "Declared: your table lost the corrections of entries \(lost.lowerBound) to "
                        + "\(lost.upperBound). trueup's database keeps them. The next run checks "
                        + "every row."
                ], in: invocation)
        }
        if let range = try await store.adoptCompanyEntries(
            filling: ReportedLedger.lines(in: settings.reportDirectory)
        ) {
            // New books that follow lost ones get their report folder as well.
            let books = ReportingDatabase(
                identity: try store.databaseIdentity(), path: settings.booksURL)
            let claim = try ReportFolderClaim.take(
                settings.reportDirectory, for: books, holder: holder, replacing: true)
            _ = try await BooksBehind(settings: settings).catchUp(store, at: nil)
            try claim.bind(books)
            _ = consume claim
            _ = consume lock
            // The ledger next to the company's table had these entries, so that nothing is lost.
            return try show(
                ["taken_over": Self.json(range)],
                [
                    "Nothing had to be declared: trueup's database was restored to an earlier state. "
                        + "Entries \(range.lowerBound) to \(range.upperBound) were imported from the "
                        + "ledger next to your table, and from reports where that ledger lacks them. "
                        + Restoration.aboutImports
                ], in: invocation)
        }
        let restoration = Restoration(
            settings: settings, reason: reason, holder: holder, invocation: invocation)
        let (lost, report) = try await restoration.declare(in: store)
        _ = consume lock
        return try show(
            ["lost": Self.json(lost), "report": .string(report)],
            lost.map(\.sentence) + [
                "The restore is declared. \"trueup verify\" shows it as a declared break from now on. "
                    + "\(Restoration.aboutImports) Report: \(report)"
            ], in: invocation)
    }

    /// Says what would be declared; nothing is written.
    private func showDryRun(
        _ settings: Settings, _ holder: String, in invocation: Invocation
    ) async throws -> ExitStatus {
        let store = try Books(settings).openToRead(at: invocation.now())
        let ledger = await CompanyLedgerLook.look(settings, beside: store)
        if case .lacksEntries = ledger, let ledger {
            return try dry.show(
                .object(["company_ledger": ledger.json]),
                ledger.text + " The command would settle that.", common, in: invocation
            )
        }
        let restoration = Restoration(
            settings: settings, reason: reason, holder: holder, invocation: invocation)
        let lost = try restoration.lost(in: store)
        return try dry.show(
            .object(["lost": Self.json(lost)]),
            lost.map(\.sentence).joined(separator: " ")
                + " This would be declared as a restore, in the ledger and in a report of its own.",
            common, in: invocation)
    }

    private static func json(_ lost: [LedgerBreak]) -> CanonicalJSON {
        .array(
            lost.map {
                .object([
                    "from": .integer($0.keptEntry &+ 1),
                    "to": $0.lostEntry.map(CanonicalJSON.integer) ?? .null,
                ])
            })
    }

    private static func json(_ entries: ClosedRange<Int64>) -> CanonicalJSON {
        .object(["from": .integer(entries.lowerBound), "to": .integer(entries.upperBound)])
    }

    /// Shows what was declared.
    ///
    /// Members that are not given say that nothing is lost, and name no report.
    private func show(
        _ members: [String: CanonicalJSON], _ lines: [String], in invocation: Invocation
    ) throws -> ExitStatus {
        let usual: [String: CanonicalJSON] = [
            "lost": .array([]), "reason": .string(reason), "report": .null,
        ]
        try common.show(
            .object(members.merging(usual) { own, _ in own }), lines, in: invocation)
        return .ok
    }
}
