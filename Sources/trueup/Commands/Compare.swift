import ArgumentParser
import Reconciliation
import ReconciliationRun
import Reports
import RowFiles
import SubscriptionStore
import Subscriptions

/// `trueup compare`: what a third party says of the company's subscriptions, against what Apple signed.
struct Compare: Verb {
    static let configuration = CommandConfiguration(
        abstract: "Compare another service's export with what Apple signed.",
        discussion: """
            "trueup compare revenuecat FILE…" reads RevenueCat's scheduled data export (transactions) and \
            compares each line with the newest statement of Apple's that trueup has stored. It changes \
            nothing, and makes calls only with --ask. It leaves a report in the folder compare of the report folder, \
            sealed in a chain of its own; "trueup verify" checks it.

            Export first, then run a job with "coverage: full" that corrects, then compare. Earlier periods \
            also need "history: always". A check does \
            not count: trueup keeps no record of the statements that it saw. A line whose statement is older than \
            --fresh, or that was changed after Apple signed it, is not compared. With --ask, Apple's \
            statement is got for these: a call for each subscription, and more for lines of earlier periods.

            "trueup compare app-store-connect FILE…" reads the reports SUBSCRIPTION, SUBSCRIPTION_EVENT \
            and SUBSCRIBER of Sales and Trends, and compares their sums by product and day with those of \
            signed statements. "app_store_connect.products" in the settings says which product is meant. \
            With --fetch it gets these reports itself, with a key of App Store Connect's API: \
            yesterday's, and those since the first comparison of the last 30 days that have none.
            """)

    /// The third parties.
    enum Side: String, CaseIterable, ExpressibleByArgument, Sendable {
        case revenuecat
        case appStoreConnect = "app-store-connect"
    }

    @Argument(help: ArgumentHelp("The service that wrote the files.", valueName: "service"))
    var side: Side

    @Argument(
        help: ArgumentHelp(
            "Exported files, as CSV or separated by tabs, also packed with gzip; - is standard input.",
            valueName: "file"), completion: .file())
    var files: [String] = []

    @Option(
        help: ArgumentHelp(
            "How old a stored statement of Apple's may be, such as 24h or 7d.",
            valueName: "duration"))
    var fresh = "24h"

    @Flag(
        help:
            "Get Apple's statement for lines that lack a fresh one, within the share of the quota.")
    var ask = false

    @Flag(
        help:
            "With app-store-connect: get the reports that no comparison has from App Store Connect."
    )
    var fetch = false

    @Option(
        help: ArgumentHelp(
            "With app-store-connect: the zone of the reports' days, if it is not the settings' one.",
            valueName: "zone"))
    var timeZone: SalesZone?

    @Option(help: .rehearsal)
    var now: Timestamp?

    @OptionGroup(title: "For every command") var common: CommonOptions

    static let exitStatuses = CommandStatuses(
        [CommandStatuses.database + [.protocol, .denied]],
        [
            .ok: "compared; nothing differs",
            .findings: "compared; something differs",
            .incomplete:
                "some lines could not be compared for want of a fresh statement of Apple's",
            .empty: "the files have no line, and nothing that Apple signed lacks one",
            .data: "a file cannot be used; its first 20 bad lines are named",
            .cannotCreate: "the report folder cannot be made",
            .output: "the report or the output cannot be written",
            .busy: "another comparison is active, or another program keeps the database locked",
        ])

    func validate() throws {
        try refuse(if: files.isEmpty && !fetch, "Name a file to compare.")
        try refuse(
            if: DurationText(fresh) == nil, "--fresh takes a time such as 45m, 24h or 7d.")
        try refuse(
            if: side == .appStoreConnect && ask,
            "--ask is for revenuecat: sums are compared with what is stored.")
        try refuse(
            if: side == .revenuecat && fetch,
            "--fetch is for app-store-connect: name RevenueCat's files.")
        try refuse(
            if: side == .revenuecat && timeZone != nil,
            "--time-zone is for app-store-connect: RevenueCat's times are UTC.")
    }

    func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try common.settings(in: invocation)
        let clock = try invocation.clock(startingAt: now, settings: settings)
        let started = clock()
        let store = try Books(settings).openToRead(at: invocation.now())
        let header = RunHeader(
            JobSettings(name: "compare \(side.rawValue)", file: ""), mode: .check,
            started: started, settings: settings)
        let database = ReportingDatabase(
            identity: try store.databaseIdentity(), path: settings.booksURL)
        let directory = settings.reportDirectory + "/" + CompareReport.folderName
        let claim = try ReportFolderClaim.take(
            directory, for: database, holder: RunningUser.lockHolder(doing: "comparing"))
        let folder = try ReportFolder.begin(
            in: directory, runID: header.runID, started: started, hasLog: false)
        let report: CompareReport
        let summary: CompareSummary
        do {
            let context = try context(settings, database)
            switch side {
            case .revenuecat:
                let scratch = try CompareScratch(at: folder.draftPath)
                defer { scratch.remove() }
                summary = try await compare(
                    scratch, store, settings, header, clock, invocation: invocation)
                report = CompareReport(
                    summary, context: context, shownPath: folder.publishedPath)
                _ = try report.finish(
                    folder, differences: scratch.forEachDifference,
                    evidence: { try store.forEachEvidence(of: scratch, $0) },
                    removeDraft: scratch.remove)
            case .appStoreConnect:
                let comparison: SalesComparison
                (comparison, summary) = try await compareSales(
                    store, settings, header, clock, directory: directory, invocation: invocation)
                report = CompareReport(
                    summary, context: context, shownPath: folder.publishedPath)
                _ = try report.finish(
                    folder, differences: { try comparison.differences.forEach($0) },
                    evidence: { _ in }, removeDraft: {})
            }
        } catch {
            try? folder.abandon()
            throw error
        }
        _ = consume claim
        try common.show(report.json, report.text, in: invocation)
        return summary.exitStatus
    }

    private func context(
        _ settings: Settings, _ database: ReportingDatabase
    ) throws -> ReportContext {
        ReportContext(of: settings, trustedRoots: try settings.reportedRoots(), in: database)
    }

    private func compare(
        _ scratch: CompareScratch, _ store: SQLiteStore, _ settings: Settings,
        _ header: RunHeader, _ clock: () -> Timestamp, invocation: Invocation
    ) async throws -> CompareSummary {
        var intake = RevenueCatIntake()
        let newest = try scratch.load { add in
            for file in files { try intake.read(file, in: invocation, asJSON: common.json, add) }
        }
        let catalogue = settings.catalogue?.products
        let rules = RevenueCatRule.all.filter { rule in
            rule.columns.isSubset(of: intake.columns)
                && (catalogue != nil || rule.kind != .revenueCatEntitlement)
        }
        let policy = RevenueCatPolicy(
            now: header.started,
            freshMilliseconds: DurationText(fresh)?.milliseconds ?? Milliseconds.perDay,
            catalogue: catalogue, rules: rules,
            notFoundConfirmations: header.notFoundConfirmations, asks: ask,
            apps: Set(header.apps))
        var (totals, absentApps) = try store.compareWithRevenueCat(
            scratch, newest: newest, policy: policy)
        let questions = ask ? try scratch.questionCount() : 0
        var answers: (sentence: String, failure: ExitStatus?)?
        if questions > 0 {
            try scratch.prepareToAsk()
            answers = try await ReadingInquiry.with(
                settings, store, invocation, isQuiet: common.quiet
            ) { try await askApple(questions, of: scratch, by: $0) }
            (totals, absentApps) = try store.compareWithRevenueCat(
                scratch, newest: newest, policy: policy)
        }
        if intake.otherStores > 0 { totals.leaveOut(.otherStore, lines: intake.otherStores) }
        let counts = try scratch.counts().map { count in
            var count = count
            count.sentence = RevenueCatSentence.of(count)
            return count
        }
        var summary = CompareSummary(
            header: header, side: side.rawValue, title: "RevenueCat", ended: clock(),
            totals: totals, counts: counts,
            notes: [answers?.sentence].compactMap(\.self)
                + notes(totals, intake, rules, hasCatalogue: catalogue != nil, absentApps),
            files: intake.seals, ledgerHead: try store.ledgerHead().hash)
        summary.failure = answers?.failure
        return summary
    }

    private func notes(
        _ totals: CompareTotals, _ intake: RevenueCatIntake, _ rules: [RevenueCatRule],
        hasCatalogue: Bool, _ absentApps: [String]
    ) -> [String] {
        var notes: [String] = []
        if totals.wantingStatement > 0 {
            notes.append(
                (totals.wantingStatement == 1
                    ? "1 line needs"
                    : "\(RevenueCatSentence.grouped(totals.wantingStatement)) lines need")
                    + " a newer statement of Apple's. Run a job that corrects, with "
                    + "\"coverage: full\""
                    + (totals.reasons[.periodNotStored] == nil
                        ? "" : " and \"history: always\" for the earlier periods")
                    + ", then compare again"
                    + (ask ? "." : "; or add --ask."))
        }
        let used = Set(rules.map(\.kind))
        for rule in RevenueCatRule.all where !used.contains(rule.kind) {
            let lacking = rule.columns.subtracting(intake.columns).map(\.rawValue).sorted()
            if !lacking.isEmpty {
                notes.append(
                    "\(rule.kind.rawValue) was not compared: a file lacks "
                        + "\(lacking.joined(separator: " and ")).")
            } else if !hasCatalogue {
                notes.append(
                    "\(rule.kind.rawValue) was not compared: the settings name no catalogue.")
            }
        }
        for app in absentApps {
            notes.append(
                "No line is about \(app), so its transactions were not looked for in the files.")
        }
        notes += Self.note(ofUnknown: intake.unknownColumns)
        notes.append(
            "The end of access is compared with a tolerance of one day, and a refund by its presence. "
                + "Amounts in USD, percentages, attributes and experiments are not compared.")
        return notes
    }
}

extension Compare {
    /// Columns that no version of the files has, in a sentence; empty without one.
    static func note(ofUnknown columns: Set<String>) -> [String] {
        guard !columns.isEmpty else { return [] }
        return [
            "\(columns.count) unknown \(columns.count == 1 ? "column was" : "columns were") not read: "
                + "\(list(columns.sorted()))."
        ]
    }

    /// The first of several names.
    static func list(_ names: [String]) -> String {
        let shown = 20
        let more = names.count - shown
        return names.prefix(shown).joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
    }
}

/// The questions about lines of a comparison that lack a fresh statement.
extension Compare {
    /// How many questions are read, asked and kept together.
    private static let batch = 500

    /// - Parameters:
    ///   - total: How many questions there are.
    ///   - scratch: Has the questions, and gets the answers.
    ///   - apple: Answers them.
    /// - Returns: What was asked and answered, in a sentence; 69 or 76 where nothing was answered.
    /// - Throws: What ends all asking.
    private func askApple(
        _ total: Int, of scratch: CompareScratch, by apple: ReadingInquiry
    ) async throws -> (sentence: String, failure: ExitStatus?) {
        var asked = 0
        var answered = 0
        var notFound = 0
        var unanswered = 0
        var firstReason: String?
        var last: String?
        while !apple.isOut {
            let questions = try scratch.questions(after: last, limit: Self.batch)
            guard let end = questions.last else { break }
            let answers = try await apple.inquiry.ask(questions)
            try scratch.keep(answers)
            for (_, answer) in answers {
                switch answer {
                case .answered: answered += 1
                case .notFound: notFound += 1
                case .unanswered(let why):
                    unanswered += 1
                    firstReason = firstReason ?? why
                }
            }
            asked += questions.count
            last = end.originalTransactionID
            apple.terminal.show(RunProgress(stage: .walk, done: asked, total: total))
        }
        let sentence = Self.sentence(
            asked, of: total, calls: apple.calls, notFound: notFound, unanswered: unanswered,
            firstReason)
        guard answered + notFound == 0 else { return (sentence, nil) }
        return (sentence, apple.hasAnswer ? .protocol : .unavailable)
    }

    private static func sentence(
        _ asked: Int, of total: Int, calls: Int, notFound: Int, unanswered: Int,
        _ firstReason: String?
    ) -> String {
        let number = RevenueCatSentence.grouped
        var parts = [
            "Apple's statement was requested for \(number(asked)) of \(number(total)) subscriptions "
                + "without a fresh one, in \(number(calls)) \(calls == 1 ? "call" : "calls")"
        ]
        if notFound > 0 { parts.append("\(number(notFound)) were not found") }
        if let firstReason {
            parts.append("\(number(unanswered)) had no usable answer (the first: \(firstReason))")
        }
        return parts.joined(separator: "; ") + "."
    }
}

/// The files of one comparison while they are read.
private struct RevenueCatIntake {
    /// The columns that every file has.
    private(set) var columns = Set(RevenueCatColumn.allCases)
    private(set) var unknownColumns: Set<String> = []
    /// Lines about purchases in other stores.
    private(set) var otherStores = 0
    /// The files that were read to their end, but for standard input.
    private(set) var seals: [InputSeal] = []

    /// Reads a file.
    ///
    /// - Throws: 65 where it has bad lines, of which the first are named.
    mutating func read(
        _ file: String, in invocation: Invocation, asJSON: Bool,
        _ add: (RevenueCatLine) throws -> Void
    ) throws {
        var reader = try RevenueCatFileReader(revenueCatAt: file)
        columns.formIntersection(reader.columns)
        unknownColumns.formUnion(
            reader.unknownColumns.filter { !RevenueCatColumn.notCompared.contains($0) })
        try BadLineLog.readAll(&reader, of: file, in: invocation, asJSON: asJSON) { row, isGood in
            guard let row else {
                otherStores += 1
                return
            }
            if isGood { try add(row) }
        }
        if file != "-", let seal = reader.seal { seals.append(seal) }
    }
}

/// `trueup compare app-store-connect`.
extension Compare {
    /// Compares the sums of sales reports with those of signed statements.
    ///
    /// - Returns: The comparison, and what its report says.
    private func compareSales(
        _ store: SQLiteStore, _ settings: Settings, _ header: RunHeader, _ clock: () -> Timestamp,
        directory: String, invocation: Invocation
    ) async throws -> (comparison: SalesComparison, summary: CompareSummary) {
        let products = settings.salesProducts
        guard !products.isEmpty else {
            throw CommandFailure(
                .config,
                "\(settings.file): app_store_connect.products is missing, and no product of a "
                    + "catalogue has an apple_id, so no product of the reports is known. Nothing was "
                    + "compared. Add the Subscription Apple ID of each product, as docs/compare.md "
                    + "shows.")
        }
        let zone = timeZone ?? settings.sales.zone
        let earlier = CompareReport.earlierDays(in: directory)
        var files = self.files
        var fetched: SalesFetch.Fetched = ([], [])
        if fetch {
            let compared = earlier.reduce(into: [String: Set<SalesReport>]()) { reports, number in
                guard let report = SalesReport(havingMeasure: number.measure) else { return }
                reports[number.day, default: []].insert(report)
            }
            let reports = SalesFetch.reports(
                at: header.started, in: zone, compared: compared)
            fetched = try await SalesFetch(
                settings: settings, invocation: invocation, isQuiet: common.quiet
            ).perform(reports)
            files += fetched.files.filter { !files.contains($0) }
        }
        var intake = SalesIntake()
        for file in files {
            do {
                try intake.read(file, in: invocation, asJSON: common.json)
            } catch let error where fetched.files.contains(file) {
                if let other = intake.repeated {
                    throw CommandFailure(
                        .data,
                        "\(PlainText.of(other)): --fetch gets the same report (\(PlainText.of(file))). "
                            + "Nothing was compared. Compare again without this file.")
                }
                let report = ErrorReport(error)
                throw CommandFailure(
                    report.status,
                    report.message
                        + " The file was fetched from App Store Connect. If you delete it, "
                        + "the next comparison with --fetch gets it again.")
            }
        }
        var counter = SalesCounter(days: intake.sums.allDays, zone: zone)
        try store.count(into: &counter)
        let compared = intake.sums.days.mapValues { Set($0.map(CivilDate.text(ofDay:))) }
        let comparison = SalesComparison(
            intake.sums, own: counter, products: products,
            today: header.started.dayNumber, history: earlier)
        var summary = CompareSummary(
            header: header, side: side.rawValue, title: "App Store Connect", ended: clock(),
            totals: comparison.totals, counts: comparison.counts,
            notes: fetched.notes + notes(comparison, counter, intake, products, zone),
            files: intake.seals, ledgerHead: try store.ledgerHead().hash)
        summary.sums = SalesSummary(
            zone: zone, days: comparison.days,
            earlier: earlier.filter { number in
                SalesReport(havingMeasure: number.measure)
                    .map { compared[$0]?.contains(number.day) != true } ?? true
            }, unseen: comparison.unseen)
        return (comparison, summary)
    }

    private func notes(
        _ comparison: SalesComparison, _ counter: SalesCounter, _ intake: SalesIntake,
        _ products: [String: String], _ zone: SalesZone
    ) -> [String] {
        var notes = ["Days are counted in the zone \(zone.rawValue)."]
        if comparison.totals.wantingStatement > 0 {
            notes.append(
                "\(RevenueCatSentence.grouped(comparison.totals.wantingStatement)) of the lines could "
                    + "not be compared, because trueup does not know the state of some rows on that "
                    + "day. Run a job that corrects, with \"coverage: full\" and \"history: always\", "
                    + "soon after the day, then compare.")
        }
        if !comparison.unmapped.isEmpty {
            let named = comparison.unmapped.sorted().map { id in
                intake.names[id].map { "\(id) (\($0))" } ?? id
            }
            notes.append(
                "app_store_connect.products does not have \(Self.list(named)), which the files have: "
                    + "not compared.")
        }
        let lacking = counter.products.subtracting(products.values).sorted()
        if !lacking.isEmpty {
            notes.append(
                "app_store_connect.products does not have \(Self.list(lacking)), of which trueup has "
                    + "rows: not compared.")
        }
        let withoutProduct = counter.rowsWithoutProduct
        if withoutProduct > 0 {
            notes.append(
                (withoutProduct == 1
                    ? "1 row has no product yet, so it"
                    : "\(RevenueCatSentence.grouped(withoutProduct)) rows have no product yet, so each")
                    + " may count for every product. Run a job that corrects: it stores the product."
            )
        }
        notes += Self.note(ofUnknown: intake.unknownColumns)
        notes.append(
            "Family members and sandbox purchases are left out. Countries, prices, proceeds, marketing "
                + "opt-ins and the column Subscribers are not compared, because trueup stores no signed "
                + "statement of them.")
        return notes
    }
}

/// The files of one comparison while they are read.
private struct SalesIntake {
    private(set) var sums = SalesSums()
    private(set) var unknownColumns: Set<String> = []
    /// The names of products by Apple's numbers.
    private(set) var names: [String: String] = [:]
    private var files: [String] = []
    /// The earlier file that has lines of the one at which reading ended.
    private(set) var repeated: String?
    /// The files that were read to their end, but for standard input.
    private(set) var seals: [InputSeal] = []

    /// Reads a file.
    ///
    /// - Throws: 65 where it has bad lines, of which the first are named, or the lines of another file.
    mutating func read(_ file: String, in invocation: Invocation, asJSON: Bool) throws {
        var reader = try SalesFileReader(salesAt: file)
        unknownColumns.formUnion(reader.unknownSalesColumns)
        if let day = SalesReport.day(inNameOf: file) { sums.cover(day, by: reader.salesReport) }
        let number = files.count
        try BadLineLog.readAll(&reader, of: file, in: invocation, asJSON: asJSON) { line, _ in
            guard let line, let other = sums.add(line, ofFile: number) else { return }
            repeated = files[other]
            throw CommandFailure(
                .data,
                "\(PlainText.of(file)): has lines of a product and day that "
                    + "\(PlainText.of(files[other])) has too. Nothing was compared. "
                    + "Name each report once.")
        }
        files.append(file)
        if file != "-", let seal = reader.seal { seals.append(seal) }
    }
}

extension SalesZone: ExpressibleByArgument {}
