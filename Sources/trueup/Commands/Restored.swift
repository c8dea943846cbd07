package import ArgumentParser
import Reports
import SubscriptionStore
package import Subscriptions

/// `trueup restored`: declares that the database was restored or rebuilt.
package struct Restored: Verb {
    package static let configuration = CommandConfiguration(
        abstract:
            "Declare that the database was restored or rebuilt behind what its reports prove.",
        discussion: """
            A backup that was put back lacks the newest entries of the ledger; a database that was \
            rebuilt has none at all. The reports prove them, and verify takes their absence for \
            tampering (7) until it is declared. The declaration is an entry of the ledger and a \
            report of its own, and verify shows for ever what was lost and why. It is refused where \
            the reports prove nothing that the database lacks. Where the rows stand in a table of \
            your own and that was restored, this is declared in the books first; where the books are lost \
            and new ones take their place, the ledger beside that table becomes theirs. See \
            docs/backup.md.
            """)

    @Option(
        name: .long,
        help: ArgumentHelp("Why, for the ledger and for verify.", valueName: "text"))
    package var reason: String

    @OptionGroup(title: "For every command") package var common: CommonOptions

    package init() {}

    package func validate() throws {
        guard reason.contains(where: { !$0.isWhitespace }) else {
            throw ValidationError("--reason says why the database was restored or rebuilt.")
        }
    }

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try Settings.load(
            flag: common.config, environment: invocation.environment)
        let holder = RunningUser.lockHolder(doing: "restored")
        let lock = try RunLock.acquire(
            forDatabaseAt: settings.databasePath, holder: holder, now: invocation.now(),
            waitMilliseconds: invocation.lockPatienceMilliseconds)
        let opened = try Books(settings, holder: holder)
        defer { opened.release() }
        try opened.bringUpToDate(under: lock)
        let store = try opened.openToWrite(
            company: try CompanyConnection.link(
                settings.company, booksAt: settings.databasePath))
        if let former = try await store.adoptCompanyLedger(
            reason: reason, by: holder, at: invocation.now())
        {
            _ = consume lock
            try showAdoption(insteadOf: former, by: settings.databasePath, in: invocation)
            return .ok
        }
        // Where its ledger goes on behind these books, they were put back: nothing is lost there.
        if try await !store.isContinuedByCompany(),
            let lost = try await store.declareCompanyRestored(
                reason: reason, by: holder, at: invocation.now())
        {
            _ = consume lock
            try showLoss(ofTable: lost, in: invocation)
            return .ok
        }
        let reports = ShownEntries(directory: settings.reportDirectory)
        if let range = try await store.takeOverCompanyEntries(
            filling: reports.line
        ) {
            // New books that follow lost ones get their report folder, too.
            let books = ReportingDatabase(
                identity: try store.databaseIdentity(), path: settings.booksURL)
            let claim = try ReportFolderClaim.take(
                settings.reportDirectory, for: books, holder: holder, replacing: true)
            _ = try await BooksBehind(settings: settings).catchUp(store, at: nil)
            try claim.bind(books)
            _ = consume claim
            _ = consume lock
            try showTakeOver(of: range, in: invocation)
            return .ok
        }
        let restoration = Restoration(
            settings: settings, reason: reason, holder: holder, invocation: invocation)
        let (lost, report) = try await restoration.declare(in: store)
        _ = consume lock
        guard !common.json else {
            try invocation.show(
                CanonicalJSON.object([
                    "lost": .array(
                        lost.map {
                            .object([
                                "from": .integer($0.keptEntry &+ 1),
                                "to": $0.lostEntry.map(CanonicalJSON.integer) ?? .null,
                            ])
                        }), "reason": .string(reason), "report": .string(report),
                ]).rendered)
            return .ok
        }
        for one in lost { try invocation.show(one.sentence) }
        try invocation.show(
            "Declared: trueup verify shows it as a declared break from now on. Report: \(report)"
        )
        return .ok
    }

    /// The ledger beside the company's table is that of these books now.
    private func showAdoption(
        insteadOf former: String, by books: String, in invocation: Invocation
    ) throws {
        guard !common.json else {
            return try invocation.show(
                json: CanonicalJSON.object([
                    "lost": .array([]), "books": .string(books), "former_books": .string(former),
                    "reason": .string(reason), "report": .null,
                ]))
        }
        try invocation.show(
            "Declared: the ledger beside your table is that of \(books) from now on, no longer of "
                + "\(former). The next run takes its entries over.")
    }

    /// The ledger beside the company's table had these entries, so that nothing is lost.
    private func showTakeOver(of range: ClosedRange<Int64>, in invocation: Invocation) throws {
        guard !common.json else {
            let taken: [String: CanonicalJSON] = [
                "from": .integer(range.lowerBound), "to": .integer(range.upperBound),
            ]
            return try invocation.show(
                json: CanonicalJSON.object([
                    "lost": .array([]), "taken_over": .object(taken), "reason": .string(reason),
                    "report": .null,
                ]))
        }
        try invocation.show(
            "Nothing had to be declared: the books were behind, and entries \(range.lowerBound) to "
                + "\(range.upperBound) were taken over from the ledger beside your table, and from "
                + "reports where it lacks them.")
    }

    /// The books have these entries, and the company's table lost them.
    private func showLoss(ofTable lost: ClosedRange<Int64>, in invocation: Invocation) throws {
        guard !common.json else {
            let range: [String: CanonicalJSON] = [
                "from": .integer(lost.lowerBound), "to": .integer(lost.upperBound),
            ]
            return try invocation.show(
                json: CanonicalJSON.object([
                    "lost": .array([.object(range)]), "reason": .string(reason), "report": .null,
                ]))
        }
        try invocation.show(
            "Declared: your table lost the corrections of entries \(lost.lowerBound) to "
                + "\(lost.upperBound). The books keep them; the next run asks Apple about every row."
        )
    }
}
