package import Subscriptions

/// The report of a comparison with a third party: its files, sealed in the chain of its own folder.
package struct CompareReport {
    /// The folder of these reports, inside the report folder.
    package static let folderName = "compare"

    private let summary: CompareSummary
    private let context: ReportContext
    private let shownPath: String

    /// - Parameters:
    ///   - summary: What was found.
    ///   - context: What is stated next to it.
    ///   - shownPath: The folder as a person writes it.
    package init(_ summary: CompareSummary, context: ReportContext, shownPath: String) {
        self.summary = summary
        self.context = context
        self.shownPath = shownPath
    }

    /// Writes every file and publishes the folder.
    ///
    /// - Parameters:
    ///   - folder: The folder that was begun.
    ///   - differences: Hands over what differs.
    ///   - evidence: Hands over the signed payloads on which the differences rest, by digest.
    ///   - removeDraft: Removes what is in the folder and no part of the report.
    /// - Returns: The path of the published folder.
    /// - Throws: `ReportError`, or what `differences` throws.
    package func finish(
        _ folder: ReportFolder,
        differences: (_ body: (CompareDifference) throws -> Void) throws -> Void,
        evidence: (_ body: (ReportedEvidence) throws -> Void) throws -> Void,
        removeDraft: () -> Void
    ) throws -> String {
        let index = try RunIndex.read(in: folder.directory)
        let inputs = summary.files.map { file in
            FileSeal(
                name: file.path.split(separator: "/").last.map(String.init) ?? file.path,
                sha256: file.sha256, bytes: file.bytes, lines: file.lines)
        }
        var lines = try OutputFile(
            creating: folder.partialPath + "/" + Self.lineFile, mayBePacked: true)
        var csv = try OutputFile(
            creating: folder.partialPath + "/" + Self.csvFile, mayBePacked: true)
        try csv.write(Self.table.csvHeader)
        var examples: [CompareKind: [CompareDifference]] = [:]
        try differences { difference in
            try lines.append { Self.table.appendJSON(difference, to: &$0) }
            try csv.append { Self.table.appendCSV(difference, to: &$0) }
            if examples[difference.kind, default: []].count < Self.mostExamples {
                examples[difference.kind, default: []].append(difference)
            }
        }
        let notice = context.trustedRoots.notice
        var payloads = try OutputFile(
            creating: folder.partialPath + "/" + ReportFile.evidence.name, mayBePacked: true)
        try evidence { one in
            try payloads.append { one.append(notice: notice, to: &$0) }
        }
        removeDraft()
        let page = ComparePage(summary: summary, examples: examples).document
        var seals = [
            try lines.close(named: Self.lineFile), try csv.close(named: Self.csvFile),
            try payloads.close(named: ReportFile.evidence.name),
            try folder.create(Self.summaryFile, holding: json.indented),
            try folder.create(
                Self.pageFile, holding: String(decoding: page, as: UTF8.self)),
        ]
        if let sums = summary.sums {
            seals.append(
                try folder.create(SalesDaysFile.name, holding: SalesDaysFile.text(sums.days)))
        }
        _ = try folder.seal(seals, index) { files, previous in manifest(files, previous, inputs) }
        return folder.publishedPath
    }

    /// The most differences of a kind that the page shows; the files have all.
    private static let mostExamples = 20

    static let summaryFile = "summary.json"
    static let lineFile = "differences.jsonl"
    static let csvFile = "differences.csv"
    static let pageFile = "report.html"

    /// The columns of a difference, for both of its files.
    static let table = Table<CompareDifference>([
        ("kind", { .own($0.kind.rawValue) }),
        ("bundle_id", { Cell($0.bundleID) }),
        ("environment", { Cell($0.environment) }),
        ("original_transaction_id", { Cell($0.originalTransactionID) }),
        ("transaction_id", { Cell($0.transactionID) }),
        ("customer_id", { Cell($0.customerID) }),
        ("field", { Cell($0.field) }),
        ("theirs", { Cell($0.theirs) }),
        ("apple", { Cell($0.apple) }),
        ("direction", { .own($0.direction.rawValue) }),
        ("evidence", { Cell($0.evidence) }),
        ("product_id", { Cell($0.sales?.productID) }),
        ("day", { Cell.own($0.sales?.day) }),
        ("lines", { Cell($0.sales?.lines) }),
        ("explained", { Cell.own($0.sales?.explainedText) }),
        ("unexplained", { Cell($0.sales?.unexplained) }),
        ("history", { Cell.own($0.sales?.historyText) }),
    ])

    /// The text for a terminal.
    package var text: [String] {
        let totals = summary.totals
        var lines = [
            "\(summary.title) compared with what Apple signed: \(summary.verdict)",
            "",
        ]
        lines += summary.totalsInWords.map { name, count, meaning in
            "  \(count.grouped) \(name)\(meaning.isEmpty ? "" : ": \(meaning)")"
        }
        if !summary.counts.isEmpty {
            lines += ["", "Differences"] + summary.counts.map { "  \($0.sentence)" }
        }
        if !totals.reasons.isEmpty {
            lines += ["", "Not compared"]
            lines += totals.reasonsInWords.map { "  \($0.count.grouped): \($0.meaning)" }
        }
        if !summary.notes.isEmpty { lines += [""] + summary.notes }
        return lines + ["", "Report   \(shownPath)"]
    }

    /// `summary.json`.
    package var json: CanonicalJSON {
        .object([
            "compare": .string(summary.side),
            "counts": .array(
                summary.counts.map { count in
                    .object([
                        "kind": .string(count.kind.rawValue),
                        "direction": .string(count.direction.rawValue),
                        "differences": .integer(Int64(count.differences)),
                        "customers": .integer(Int64(count.customers)),
                        "sentence": .string(count.sentence),
                    ])
                }),
            "differences": .integer(differences),
            "ended": .time(summary.ended),
            "not_compared": .object(
                Dictionary(
                    summary.totals.reasons.map { ($0.key.rawValue, .integer(Int64($0.value))) },
                    uniquingKeysWith: { first, _ in first })),
            "notes": .array(summary.notes.map(CanonicalJSON.string)),
            "outcome": outcome,
            "run_id": .string(summary.header.runID),
            "started": .time(summary.header.started),
            "tool_version": .string(context.toolVersion),
            "totals": .object([
                "lines": .integer(Int64(summary.totals.lines)),
                "matched": .integer(Int64(summary.totals.matched)),
                "different": .integer(Int64(summary.totals.different)),
                "only_theirs": .integer(Int64(summary.totals.onlyTheirs)),
                "only_apple": .integer(Int64(summary.totals.onlyApple)),
                "not_compared": .integer(Int64(summary.totals.notCompared)),
            ]),
        ])
    }

    private var differences: Int64 {
        summary.counts.reduce(0) { $0 + Int64($1.differences) }
    }

    private var outcome: CanonicalJSON {
        let status = summary.exitStatus
        return .object([
            "exit_status": .integer(Int64(status.code)), "name": .string(status.name),
        ])
    }

    /// In the terms of a run's manifest, so that one index and one check serve both.
    private func manifest(
        _ files: [FileSeal], _ previous: String?, _ inputs: [FileSeal]
    ) -> CanonicalJSON {
        let totals = summary.totals
        let own: [String: CanonicalJSON] = [
            "corrections_applied": .integer(0),
            "findings": .integer(differences),
            "inputs": .array(inputs.map(\.json)),
            "job": .string("compare \(summary.side)"),
            "mode": .string("compare"),
            "outcome": outcome,
            "scope": .null,
            "totals": .object([
                "in_scope": .integer(totals.lines),
                "matched": .integer(totals.matched),
                "discrepant": .integer(totals.different + totals.onlyTheirs),
                "undecided": .integer(totals.wantingStatement),
                "excluded": .integer(totals.notCompared - totals.wantingStatement),
            ]),
        ]
        return .object(
            context.manifest(
                of: summary.header, ended: summary.ended, ledgerHead: summary.ledgerHead,
                files: files, after: previous
            ).merging(own) { _, own in own })
    }
}

/// The words of a comparison, for text and page.
extension CompareSummary {
    fileprivate var verdict: String {
        let missing = totals.onlyApple
        let ofMissing =
            sums == nil
            ? "\(missing.of("transaction")) that Apple signed \(missing == 1 ? "is" : "are") missing"
            : "\(missing.of("signed number")) \(missing == 1 ? "has" : "have") no line"
        let compared = totals.matched + totals.different + totals.onlyTheirs
        guard compared > 0 else {
            let none = totals.lines == 0 ? "the files have no line" : "no line could be compared"
            return none + (missing > 0 ? ", and \(ofMissing)." : ".")
        }
        let differing = totals.different + totals.onlyTheirs
        if differing + totals.onlyApple == 0 {
            return "no difference in \(compared.of("line"))."
        }
        return
            "\(differing.grouped) of \(compared.of("line")) \(differing == 1 ? "differs" : "differ"), "
            + "and \(ofMissing)."
    }

    fileprivate var totalsInWords: [(name: String, count: Int, meaning: String)] {
        guard sums == nil else {
            return [
                ("lines read", totals.lines, "lines of the reports, the sum of the next four"),
                ("matched", totals.matched, "their sums are those of signed statements"),
                ("different", totals.different, "their sums are others"),
                ("only theirs", totals.onlyTheirs, "trueup has no row of the product"),
                ("not compared", totals.notCompared, "for the reasons below"),
                (
                    "only Apple's", totals.onlyApple,
                    "numbers that signed statements give and no line has"
                ),
            ]
        }
        return [
            ("lines read", totals.lines, "the sum of the next four"),
            ("matched", totals.matched, "they agree with what Apple signed"),
            ("different", totals.different, "at least one value is not what Apple signed"),
            ("only theirs", totals.onlyTheirs, "Apple does not know the transaction"),
            ("not compared", totals.notCompared, "for the reasons below"),
            (
                "only Apple's", totals.onlyApple,
                "transactions that Apple signed and no line is about"
            ),
        ]
    }
}

extension CompareTotals {
    fileprivate var reasonsInWords: [(name: String, count: Int, meaning: String)] {
        NotComparedReason.allCases.compactMap { reason in
            guard let count = reasons[reason], count > 0 else { return nil }
            return (reason.rawValue, count, reason.meaning)
        }
    }
}

extension NotComparedReason {
    fileprivate var meaning: String {
        switch self {
        case .otherStore: "the purchase was made in another store"
        case .oneTimePurchase: "it is not a subscription"
        case .superseded: "a newer line is about the same transaction"
        case .neverChecked: "trueup has stored nothing that Apple signed about the subscription"
        case .statementOld: "Apple's stored statement is older than --fresh allows"
        case .notFound: "Apple does not find the id; only runs on several days confirm that"
        case .rowChanged: "what is stored is not, or no longer, what Apple signed"
        case .lineNewer: "the line was changed after Apple signed the stored statement"
        case .periodNotStored:
            "it is an earlier period, and Apple's history up to the latest one is not stored"
        case .productNotMapped: "the settings do not say which product it is"
        case .eventNotSigned: "signed statements do not show such an event"
        case .rowsUnchecked:
            "the sums differ by no more than the rows whose stored statement does not cover the day"
        }
    }
}

extension Direction {
    /// The party that loses by a difference.
    var loser: String {
        switch self {
        case .customerLoses: "the customer loses"
        case .companyLoses: "the company loses"
        case .neutral: "neither"
        }
    }
}

/// The comparison as one page that loads nothing.
struct ComparePage {
    let summary: CompareSummary
    /// The first differences of each kind.
    let examples: [CompareKind: [CompareDifference]]

    var document: [UInt8] {
        Markup.page(titled: "\(summary.header.started.utcDay) \(heading)", body)
    }

    private var heading: String { "\(summary.title) compared with what Apple signed" }

    private func body(_ body: inout Markup) {
        body.element("header") { head in
            head.element(
                "p", [.named("kicker")], "Comparison · \(summary.header.started.utcDay)")
            head.element("h1", heading)
            let isClean = summary.exitStatus == .ok
            let verdict = summary.verdict
            head.element(
                "p", [.named(isClean ? "verdict good" : "verdict notable")],
                verdict.prefix(1).uppercased() + verdict.dropFirst())
        }
        body.element("main") { main in
            totals(&main)
            main.element("h2", "What the differences mean")
            if summary.counts.isEmpty { main.element("p", "There is no difference.") }
            main.list(summary.counts.map(\.sentence))
            counts(&main)
            if let sums = summary.sums { self.sums(sums, &main) }
            for kind in CompareKind.allCases { list(kind, &main) }
            if !summary.notes.isEmpty {
                main.element("h2", "Before you rely on it")
                main.list(summary.notes)
            }
        }
        body.lineFeed()
        body.element("footer") { footer in
            footer.element(
                "p",
                "Run \(summary.header.runID), begun \(summary.header.started.rfc3339). Nothing was "
                    + "changed, here or there. differences.csv and differences.jsonl list every "
                    + "difference; \"trueup verify\" checks that this folder is as it was written.")
        }
    }

    private func totals(_ main: inout Markup) {
        let columns: [Markup.Column] = ["lines are", .number("number"), "meaning"]
        main.table(
            "Totals", columns, rows: summary.totalsInWords.map { [$0, $1.grouped, $2] })
        let reasons = summary.totals.reasonsInWords
        guard !reasons.isEmpty else { return }
        main.table(
            "Not compared, and why", columns, rows: reasons.map { [$0, $1.grouped, $2] })
    }

    private func counts(_ main: inout Markup) {
        guard !summary.counts.isEmpty else { return }
        let (counted, measure) =
            summary.sums == nil ? ("lines", "customers") : ("numbers", "differ by")
        main.table(
            "Differences by kind", ["kind", "who loses", .number(counted), .number(measure)],
            rows: summary.counts.map { count in
                [
                    count.kind.rawValue, count.direction.loser,
                    (summary.sums == nil ? count.lines : count.differences).grouped,
                    count.customers.grouped,
                ]
            })
    }

    private func list(_ kind: CompareKind, _ main: inout Markup) {
        guard let differences = examples[kind] else { return }
        let all = summary.counts.filter { $0.kind == kind }.reduce(0) { $0 + $1.differences }
        let caption = "\(kind.rawValue): \(differences.count.grouped) of \(all.grouped)"
        if summary.sums != nil { return listOfSums(differences, caption, &main) }
        main.table(
            caption,
            [
                "original transaction id", "transaction id", "customer", "field",
                Markup.Column(summary.title), "Apple", "who loses",
            ], named: "dense",
            rows: differences.map { difference in
                [
                    difference.originalTransactionID ?? "", difference.transactionID ?? "",
                    difference.customerID ?? "", difference.field ?? "",
                    difference.theirs.isEmpty ? "nothing" : difference.theirs.plainText,
                    difference.apple.isEmpty ? "nothing" : difference.apple.plainText,
                    difference.direction.loser,
                ]
            })
    }
}
