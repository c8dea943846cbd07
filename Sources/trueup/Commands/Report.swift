import ArgumentParser
import Reports
import SubscriptionStore
import Subscriptions

/// `trueup report RUN`: renders the report of a stored run again.
struct Report: Verb {
    static let configuration = CommandConfiguration(
        abstract: "Render a stored report again, compare two, or sum up the runs of a day.",
        discussion: """
            It prints summary.txt (with --json summary.json) or the file that --file names, byte for \
            byte as it was published, or writes all files into a new folder. It reads the database and \
            changes nothing there. Only the report folder itself has run.log.jsonl, manifest.json and \
            SHA256SUMS. A payload that was erased since then shows as a tombstone.

            "trueup report night DATE" shows the runs that began on one UTC day, one line for each, and \
            their sums. If several workers share a database server, it shows the runs of all of \
            them. With --reports it reads the summary.json files of those report folders instead.

            "trueup report diff RUN RUN" compares the findings of two runs: + is listed by the second \
            run only, - by the first only, ~ by both with other values. With --json it prints one object \
            a line, and the totals in the last one.
            """)

    @Argument(
        help: ArgumentHelp(
            "The run as \"trueup status\" lists it, the end of its name, its report folder, or latest; "
                + "or \"night\" before a date; or \"diff\" before two runs.", valueName: "run"),
        completion: .directory)
    var run: String

    @Argument(
        help: ArgumentHelp(
            "With \"night\": the UTC day on which the runs began, such as 2026-11-20. With \"diff\": two "
                + "runs, the earlier one first.", valueName: "date-or-runs"))
    var more: [String] = []

    @Option(
        help: ArgumentHelp(
            "Print this file, such as report.html (default: summary.txt).", valueName: "name"))
    var file: String?

    @Option(
        help: ArgumentHelp("Write all files into this new folder.", valueName: "dir"),
        completion: .directory)
    var output: String?

    @Option(
        help: ArgumentHelp(
            "With \"night\": read this report folder instead of the database; may be repeated.",
            valueName: "dir"),
        completion: .directory)
    var reports: [String] = []

    @OptionGroup var dry: DryRunOption
    @OptionGroup(title: "For every command") var common: CommonOptions

    static let exitStatuses = CommandStatuses(
        [CommandStatuses.database],
        [
            .ok: "printed or written",
            .cannotCreate: "the folder of --output exists or cannot be made",
            .usage: "bad arguments, no such run, or no run began on that day",
            .unavailable: "the database did not open, or the runs of other workers cannot be read",
        ])

    func validate() throws {
        let expected = run == Self.night ? 1 : run == Self.diff ? 2 : 0
        try refuse(
            if: more.count != expected,
            "Give a run alone, one date after \"night\" (\"trueup report night 2026-11-20\"), or two "
                + "runs after \"diff\".")
        try refuse(
            if: !more.isEmpty && (file != nil || output != nil),
            "--file and --output are for the report of one run, not for the runs of a day or for "
                + "a comparison.")
        try refuse(
            if: date == nil && !reports.isEmpty,
            "--reports is for the runs of a day, such as \"trueup report night 2026-11-20 "
                + "--reports DIR\".")
        try refuse(
            if: file != nil && output != nil,
            "--file prints one file, --output writes all of them; give one of the two.")
    }

    func perform(in invocation: Invocation) async throws -> ExitStatus {
        if let date, !reports.isEmpty {
            return try await showDay(date, in: invocation) { _ in reportedRuns(of: date) }
        }
        let settings = try common.settings(in: invocation)
        if let date {
            return try await showDay(date, in: invocation) {
                try await storedRuns(from: $0, of: date, settings, invocation)
            }
        }
        guard run != Self.diff else {
            try compare(settings, invocation)
            return .ok
        }
        let rendered = try rendered(settings, invocation)
        if let output, dry.dryRun {
            try rendered.requireNew(output)
            return try dry.show(
                .object(["files": .strings(RenderedRun.fileNames)]),
                "\(RenderedRun.fileNames.count) files would be written into \(output): "
                    + RenderedRun.fileNames.joined(separator: ", ") + ".",
                common, in: invocation)
        }
        if let output {
            try await onBackgroundThread { try rendered.write(into: output) }
            if !common.quiet {
                invocation.say(
                    "trueup wrote \(RenderedRun.fileNames.count) files into \(output). Only the run's report "
                        + "folder has " + RenderedRun.missingNames.joined(separator: ", ")
                        + ", because the database does not store the log.")
            }
            return .ok
        }
        try print(file ?? (common.json ? "summary.json" : "summary.txt"), of: rendered, invocation)
        return .ok
    }

    private static let night = "night"
    private static let diff = "diff"

    private var date: String? { run == Self.night ? more.first : nil }

    /// Prints what differs between the findings of two runs as it is read.
    private func compare(_ settings: Settings, _ invocation: Invocation) throws {
        let before = try RunName(more[0]).record(settings, in: invocation).record
        let after = try RunName(more[1]).record(settings, in: invocation).record
        var differences = FindingDifferences(
            from: try before.summary(), to: try after.summary())
        try after.forEachFinding(comparedWith: before) {
            guard let difference = differences.add($0, $1) else { return }
            guard common.json else { return try invocation.show(difference.line) }
            var bytes: [UInt8] = []
            difference.appendJSON(to: &bytes)
            try invocation.show(renderedJSON: String(decoding: bytes, as: UTF8.self))
        }
        try common.show(differences.json, differences.lines, in: invocation)
    }

    /// Shows the runs of a day, in the order in which they began.
    ///
    /// - Parameters:
    ///   - date: As `yyyy-MM-dd`, in UTC.
    ///   - invocation: Where they go.
    ///   - read: Reads them; it gets the beginning of the day.
    /// - Returns: 69 where there may be runs that cannot be read.
    /// - Throws: 69 where nothing could be read, 64 where no run began.
    private func showDay(
        _ date: String, in invocation: Invocation, _ read: (Timestamp) async throws -> DayRuns
    ) async throws -> ExitStatus {
        guard let first = Timestamp(rfc3339: date + "T00:00:00Z") else {
            throw CommandFailure(
                .usage, "\"\(PlainText.of(date))\" is not a date such as 2026-11-20")
        }
        let (runs, gap, absence) = try await read(first)
        guard !runs.isEmpty else {
            throw CommandFailure(gap == nil ? .usage : .unavailable, gap ?? absence)
        }
        let inOrder = runs.sorted {
            ($0.listing.started, $0.listing.runID) < ($1.listing.started, $1.listing.runID)
        }
        let summary = DaySummary(day: date, runs: inOrder, gap: gap)
        try common.show(summary.json, summary.lines, in: invocation)
        return gap == nil ? .ok : .unavailable
    }

    /// The runs of a day, why some may be missing, and what to say where there is none.
    private typealias DayRuns = (runs: [DaySummary.Run], gap: String?, absence: String)

    /// The runs of a day in the database, and those of other workers.
    private func storedRuns(
        from first: Timestamp, of date: String, _ settings: Settings, _ invocation: Invocation
    ) async throws -> DayRuns {
        let store = try Books(settings).openToRead(at: invocation.now())
        let end = first.adding(milliseconds: Milliseconds.perDay)
        let others = await OtherWorkers.runs(
            of: settings, besides: try store.databaseIdentity(), from: first, before: end)
        var runs = others.runs.map { DaySummary.Run($0) }
        for listing in try store.runs(from: first, before: end) {
            let summary = try summary(of: listing.runID, in: store)
            var run = DaySummary.Run(listing: listing, summary: summary)
            if !others.runs.isEmpty, let header = summary?.header {
                run.share = DaySummary.Share(
                    worker: header.worker, apps: header.apps.map(\.name))
            }
            runs.append(run)
        }
        return (
            runs, others.gap,
            "No run began on \(date) (UTC). \"trueup status\" lists the last ones."
        )
    }

    /// The runs of a day in the report folders of several workers, which `--reports` names; a
    /// folder that is named twice is read once.
    private func reportedRuns(of date: String) -> DayRuns {
        let paths = reports.map(FileSystemFacts.realPath).uniqued()
        let nights = paths.map { StoredDay(of: date, in: $0) }
        let gaps = nights.flatMap(\.gaps)
        let gap =
            gaps.isEmpty
            ? nil
            : "Runs may be missing: " + gaps.prefix(3).joined(separator: " ")
                + (gaps.count > 3 ? " And \(gaps.count - 3) more." : "")
        return (
            nights.flatMap(\.runs).map { DaySummary.Run($0) }, gap,
            "No run of these report folders began on \(date) (UTC): "
                + paths.map(PlainText.of).joined(separator: ", ")
        )
    }

    /// `nil` for a run that was killed or whose lists are past their retention.
    private func summary(of runID: String, in store: SQLiteStore) throws -> RunSummary? {
        do {
            return try store.runRecord(ofRun: runID).summary()
        } catch StoreError.unavailable {
            return nil
        }
    }

    private func rendered(
        _ settings: Settings, _ invocation: Invocation
    ) throws -> RenderedRun {
        let (runID, record) = try RunName(run).record(settings, in: invocation)
        guard let context = try record.context() else {
            throw CommandFailure(
                .usage,
                "The run \(runID) is of a version that did not keep what its report states of apps "
                    + "and roots, or was killed before its report; it cannot be rendered again. Its "
                    + "report folder, if there is one, is what is left of it.")
        }
        return try RenderedRun(record, context: try ReportContext(text: context))
    }

    private func print(
        _ name: String, of rendered: RenderedRun, _ invocation: Invocation
    ) throws {
        guard RenderedRun.fileNames.contains(name) else {
            let reason =
                RenderedRun.missingNames.contains(name)
                ? "\(name) is in the run's report folder only"
                : "a report has no file \"\(PlainText.of(name))\""
            throw CommandFailure(
                .usage,
                reason + "; these can be rendered: "
                    + RenderedRun.fileNames.joined(separator: ", "))
        }
        let output = invocation.rawOutput
        var refusal: CommandFailure?
        do {
            try rendered.render(name) { bytes throws(ReportError) in
                do throws(CommandFailure) {
                    try output.write(bytes)
                } catch {
                    refusal = error
                    throw .notWritten(error.description)
                }
            }
        } catch {
            throw refusal ?? error
        }
        try output.flush()
    }
}

/// `trueup show plan [RUN]`: what a check would change, for people.
struct Show: Verb {
    static let configuration = CommandConfiguration(
        abstract: "List the plan of a run, one line for each change.",
        discussion: """
            A line begins with ~ for a changed row, + for an inserted one and - for a deleted one. The \
            command reads the database and changes nothing. "trueup apply" applies the plan of a check.
            """)

    enum Subject: String, ExpressibleByArgument, CaseIterable, Sendable {
        case plan
    }

    @Argument(help: ArgumentHelp("What to show: plan.", valueName: "what"))
    var subject: Subject

    @Argument(
        help: ArgumentHelp(
            "The run as \"trueup status\" lists it, the end of its name, or its report folder.",
            valueName: "run"))
    var run = "latest"

    @OptionGroup(title: "For every command") var common: CommonOptions

    static let exitStatuses = CommandStatuses(
        [CommandStatuses.database], [.ok: "shown", .usage: "bad arguments, or no such run"])

    func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try common.settings(in: invocation)
        let (runID, record) = try RunName(run).record(settings, in: invocation)
        var counts = PlanCounts()
        try record.forEachPlanned { correction, _ in counts.add(correction) }
        if !common.json {
            let summary = try record.summary()
            let (header, status) = (summary.header, summary.conclusion.exitStatus)
            try invocation.show(
                "Plan of run \(runID) (\(header.mode.rawValue) \(header.job)): " + counts.sentence)
            if ![.ok, .findings, .empty, .guarded].contains(status) {
                try invocation.show(
                    "The run exited with \(status.code) (\(status.name)): the plan lacks what it did "
                        + "not check.")
            }
        }
        try record.forEachPlanned { correction, fate in
            try common.show(
                correction.json(fate: fate),
                [correction.line(fate: fate)], in: invocation)
        }
        return .ok
    }
}
