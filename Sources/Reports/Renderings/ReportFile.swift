import Subscriptions

/// A run with everything that its files are made from.
struct ReportSource: Sendable {
    let record: any RunRecord
    var summary: RunSummary
    let context: ReportContext
    /// The folder as `summary.txt` names it.
    let shownPath: String
    /// The planned changes; `nil` unless the run was not to write.
    let plan: PlanExcerpt?
    /// The facts for the page, where they were read before the run's end; otherwise the page reads
    /// them.
    var pageFacts: PageFacts?

    /// - Throws: What reading the plan of a check throws.
    init(
        _ record: any RunRecord, _ summary: RunSummary, context: ReportContext, shownPath: String
    ) throws {
        self.record = record
        self.summary = summary
        self.context = context
        self.shownPath = shownPath
        plan =
            context.isPlanOnly ? try PlanExcerpt(of: record, runID: summary.header.runID) : nil
    }

    var runID: String { summary.header.runID }
}

extension RunHeader {
    /// Every filter in words, or null for the whole job: stated wherever a file has a head.
    var scope: CanonicalJSON {
        filters.isEmpty ? .null : .array(filters.map(CanonicalJSON.string))
    }
}

/// One file of a report: its name, what it is for, and how it is written.
///
/// A new rendering is a new file next to this one and a line in `all`.
struct ReportFile: Sendable {
    let name: String
    /// One sentence for `README.txt`.
    let purpose: String
    /// Whether it is packed where it is large: a file that grows with each correction.
    var mayBePacked = false
    /// Whether it states when the run ended; the others are part of the run and come before its
    /// end.
    var statesEnd = false
    let write: @Sendable (ReportSource, inout OutputFile) throws -> Void
}

extension ReportFile {
    /// A file of records, a line each: CSV with a header, or JSON Lines, as the name ends.
    ///
    /// - Parameters:
    ///   - name: The file's name.
    ///   - purpose: One sentence for `README.txt`.
    ///   - mayBePacked: Whether it is packed where it is large.
    ///   - table: The columns; each line also has the report's notice, if it has one.
    ///   - namesRun: Whether the run's id is put before the columns.
    ///   - records: Hands over every record, in the order of the file.
    init<Record>(
        name: String, purpose: String, mayBePacked: Bool = false,
        table: Table<Record>, namesRun: Bool = true,
        records:
            @escaping @Sendable (ReportSource, _ add: (Record) throws -> Void) throws -> Void
    ) {
        self.init(name: name, purpose: purpose, mayBePacked: mayBePacked) { source, file in
            let table = (namesRun ? table.of(run: source.runID) : table).stating(source.notice)
            guard name.hasSuffix(".csv") else {
                return try records(source) { record in
                    try file.append { table.appendJSON(record, to: &$0) }
                }
            }
            try file.write(table.csvHeader)
            try records(source) { record in
                try file.append { table.appendCSV(record, to: &$0) }
            }
        }
    }

    /// Writes it into a folder.
    func create(in folder: String, from source: ReportSource) throws -> FileSeal {
        var output = try OutputFile(creating: folder + "/" + name, mayBePacked: mayBePacked)
        try write(source, &output)
        return try output.close(named: name)
    }

    /// The files made from the stored run, in the order in which `README.txt` names them.
    static let all: [ReportFile] = [
        .summaryText, .page, .summaryJSON, .discrepancies, .discrepanciesCSV,
        .discrepanciesWorkbook, .notFound,
        .corrections, .correctionsCSV, .derivations, .undecided, .notifications, .entitlements,
        .unowned, .plan, .undo,
        .business, .businessCSV, .evidence,
        .readMe,
    ]

    /// The names of the files that every report holds and that are not made by `all`.
    static let log = "run.log.jsonl"
    static let manifest = "manifest.json"
    static let sums = "SHA256SUMS"
}

extension ReportFile {
    static let summaryText = ReportFile(
        name: "summary.txt", purpose: "the summary for people, as the terminal shows it",
        statesEnd: true
    ) { source, file in
        try file.write(
            SummaryText.render(
                source.summary, reportPath: source.shownPath,
                notice: source.context.trustedRoots.notice, plan: source.plan))
    }
}

/// `manifest.json`: what the folder must hold, and the link to the run before.
extension ReportContext {
    /// Raised when a reader of an earlier version would misread the folder.
    private static let manifestFormat: Int64 = 1

    /// The members of every manifest: of runs, and of comparisons.
    ///
    /// - Parameters:
    ///   - header: Of the run.
    ///   - ended: When it ended.
    ///   - ledgerHead: The hash of the newest entry of the ledger.
    ///   - files: All other files of the folder.
    ///   - previous: SHA-256 of the previous run's `manifest.json`; `nil` for the first.
    /// - Returns: The members by name.
    func manifest(
        of header: RunHeader, ended: Timestamp, ledgerHead: String, files: [FileSeal],
        after previous: String?
    ) -> [String: CanonicalJSON] {
        var members: [String: CanonicalJSON] = [
            "apps": .array(apps.map(\.json)),
            "ended": .time(ended),
            "files": .array(files.map(\.json)),
            "format": .integer(Self.manifestFormat),
            "job": .string(header.job),
            "ledger_head": .string(ledgerHead),
            "mode": .string(header.mode.rawValue),
            "previous": .text(previous),
            "run_id": .string(header.runID),
            "scope": header.scope,
            "settings_digest": .string(header.settingsDigest),
            "started": .time(header.started),
            "tool_version": .string(toolVersion),
            "trusted_roots": .array(trustedRoots.map(\.json)),
        ]
        if let database { members["database"] = .string(database) }
        return members
    }
}

extension ReportSource {
    func manifest(of files: [FileSeal], after previous: String?) -> CanonicalJSON {
        var members = context.manifest(
            of: summary.header, ended: summary.conclusion.ended, ledgerHead: summary.ledgerHead,
            files: files, after: previous)
        members["corrections_applied"] = .integer(summary.corrections[.applied] ?? 0)
        members["findings"] = .integer(summary.findingCount)
        members["lifted_guards"] = .array(summary.liftedGuards.map(\.json))
        members["outcome"] = summary.conclusion.outcomeJSON
        members["plan_only"] = .boolean(context.isPlanOnly)
        members["totals"] = summary.totals.json
        if !context.declarations.isEmpty {
            members["restored"] = .array(context.declarations.map(\.canonical))
        }
        if let retention = context.retentionMilliseconds {
            members["retention_seconds"] = .integer(retention / 1000)
        }
        return .object(members.merging(noticeMember) { own, _ in own })
    }
}

extension FileSeal {
    var json: CanonicalJSON {
        var members: [String: CanonicalJSON] = [
            "bytes": .integer(bytes), "lines": .integer(lines), "name": .string(name),
            "sha256": .string(sha256),
        ]
        if let contentBytes { members["content_bytes"] = .integer(contentBytes) }
        return .object(members)
    }
}

extension ReportedApp {
    var json: CanonicalJSON {
        .object([
            "app_apple_id": appAppleID.map(CanonicalJSON.integer) ?? .null,
            "bundle_id": .string(bundleID),
            "environment": .string(environment),
        ])
    }
}

extension TrustedRoot {
    var json: CanonicalJSON {
        .object([
            "certificate": isApple ? .null : .text(certificatePEM),
            "fingerprint": .string(fingerprint),
            "is_apple": .boolean(isApple),
        ])
    }
}
