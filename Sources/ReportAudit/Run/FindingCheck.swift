import Crypto
import JSONWebSignature
import Subscriptions

/// Checks `discrepancies.jsonl` line by line, together with `discrepancies.csv` and
/// `not_found.csv`.
struct FindingCheck {
    static let name = "discrepancies.jsonl"
    private static let csvName = "discrepancies.csv"
    private static let notFoundName = "not_found.csv"
    private static let key = ["app", "environment", "original_transaction_id"]

    let evidence: EvidenceFile
    let problems: RunProblems

    func check(counts: inout RunCounts) async throws(UnreadableFile) {
        let run = evidence.run
        let lines = try LineFile(run.file(Self.name))
        var signed = FindingEvidenceCheck(evidence: evidence)
        let csv = SideFile<CSVRecords>(Self.csvName, in: run, problems: problems)
        // A partial run leaves out findings.
        let notFound = SideFile(
            Self.notFoundName,
            run.manifest.isPartial ? nil : try? CSVRecords(run.file(Self.notFoundName)),
            problems: problems)
        let ahead = EvidenceAhead(of: Self.name, evidence: evidence)
        let report = { (text: String) in
            problems.add(Self.name, line: lines.lineNumber, text)
        }
        while let line = try lines.next() {
            await ahead.reach(line: lines.lineNumber)
            guard let finding = JSONRecord(line) else {
                report("it is not a JSON object")
                continue
            }
            counts.take(finding: finding)
            if !finding.isCanonical { report("it is not spelled as canonical JSON") }
            if !problems.isOfRun(finding) { report("it is a finding of another run") }
            if finding.names.contains("amount_milliunits"),
                !JSONValue.areSame(finding["amount_milliunits"], finding["amount"])
            {
                report("its amount_milliunits is not its amount")
            }
            for problem in await signed.problems(of: finding) { report(problem) }
            check(finding, lines.lineNumber, against: csv) { _ in true }
            if finding.text("kind") == "not_found" {
                check(finding, lines.lineNumber, against: notFound) { Self.key.contains($0) }
            }
        }
        counts.finishFindings()
        csv.checkEnd("it has more lines than \(Self.name) has findings")
        notFound.checkEnd("it has more lines than \(Self.name) has findings")
    }

    /// Compares the next record of a CSV file with a finding.
    private func check(
        _ finding: JSONRecord, _ line: Int, against csv: SideFile<CSVRecords>,
        columns: (String) -> Bool
    ) {
        guard let record = csv.next(beside: line, of: Self.name),
            let other = record.firstColumn(unlike: finding, among: columns)
        else { return }
        csv.report("it differs from line \(line) of \(Self.name) in \(other)")
    }
}

/// Checks `derivations.jsonl`, which has a line for each status that was written on Apple's
/// statement, in the order of the corrections.
struct DerivationCheck {
    static let name = "derivations.jsonl"
    /// The column of `corrections.csv` that repeats the sentence of a line.
    static let column = "derivation"
    /// Members that the line shares with the ledger entry.
    private static let shared = [
        "app", "environment", "evidence", "evidence_renewal", "ledger_entry",
        "original_transaction_id", "run_id",
    ]

    private let lines: SideFile<LineFile>

    /// - Parameters:
    ///   - run: The run, whose manifest names the file; older reports have none.
    ///   - problems: Takes what is wrong.
    init(_ run: RunFolder, problems: RunProblems) {
        lines = SideFile(
            Self.name, run.manifest.lists(Self.name) ? try? LineFile(run.file(Self.name)) : nil,
            problems: problems)
    }

    /// Checks the line of an entry, where the entry has one.
    ///
    /// - Parameters:
    ///   - entry: The next ledger entry.
    ///   - outcome: What the check of its evidence gave.
    ///   - correctionLine: The entry's line in `corrections.jsonl`.
    /// - Returns: What `corrections.csv` states next to the entry's status, an empty text for none;
    ///   `nil` where that cannot be said.
    func check(
        _ entry: JSONRecord, _ outcome: StatementCheck, correctionLine: Int
    ) -> String? {
        guard let status = Self.status(of: entry) else { return "" }
        guard let line = lines.next(beside: correctionLine, of: CorrectionCheck.name) else {
            return nil
        }
        guard let record = JSONRecord(line), record.isCanonical else {
            lines.report("it is not a derivation of a status")
            return nil
        }
        if let problem = problem(of: record, entry, status, outcome) {
            lines.report(problem, entry: entry.integer("ledger_entry"))
        }
        return record.text(Self.column)
    }

    /// Checks that the file ends with the corrections.
    func checkEnd() {
        lines.checkEnd("it has more lines than \(CorrectionCheck.name) has statuses")
    }

    /// The status that an entry writes on Apple's statement.
    private static func status(of entry: JSONRecord) -> Int64? {
        guard entry.text("table") == "subscriptions", !entry.states("undo_of") else { return nil }
        return entry.record("after")?.integer("status")
    }

    private func problem(
        of record: JSONRecord, _ entry: JSONRecord, _ status: Int64,
        _ outcome: StatementCheck
    ) -> String? {
        for name in Self.shared where !JSONValue.areSame(record[name], entry[name]) {
            return "its \(name) is not that of the correction"
        }
        guard record.integer("status") == status else {
            return "its status is not the one that was written, \(status)"
        }
        if outcome.restsOnErased {
            let sentence = "status \(status): what Apple signed was erased"
            return record.states("fields") || record.states("derived_status")
                || record.text(Self.column)?.isSame(as: sentence) != true
                ? "it states more of an erased payload than that it was erased" : nil
        }
        // Evidence that does not hold is a problem of the correction, and named there.
        guard let stated = outcome.values.flatMap({ StatedStatus($0) }) else { return nil }
        let fields = stated.object.rendered
        guard record["fields"]?.compact.isSame(as: fields) == true else {
            return "its fields are not what Apple signed, \(fields)"
        }
        guard record.integer("derived_status") == stated.derived else {
            return "from the signed fields follows \(stated.derived), not its derived_status"
        }
        let sentence = stated.sentence(forStatus: status)
        guard record.text(Self.column)?.isSame(as: sentence) == true else {
            return "its derivation is not what the signed fields give: \(sentence)"
        }
        return nil
    }
}

/// Checks `plan.json`: seal, identity, run, and every planned value against its evidence.
struct PlanCheck {
    static let name = "plan.json"
    /// Members of the head that are also in the manifest.
    private static let shared = ["mode", "run_id", "settings_digest", "started", "tool_version"]
    /// The members that must agree, unless the plan was made by an earlier run.
    private static let ofOwnPlan = ["job", "scope"]

    /// Members of the head about the run that wrote the file.
    ///
    /// The identity of the plan covers the other members, and every item without its fate.
    private static let ofFile: Set<String> = [
        "corrections", "format", "guards", "job_file", "mode", "notice", "plan_only",
        "plan_sha256", "run_id", "settings_digest", "started", "tool_version",
    ]

    let evidence: EvidenceFile
    let problems: RunProblems

    func check(counts: inout RunCounts) async throws(UnreadableFile) {
        let run = evidence.run
        let list = try SealedList(run.file(Self.name)) {
            problems.add(Self.name, line: $0, $1)
        }
        if let head = list.head {
            let isOwn = !head.states("planned_by") || problems.isOfRun(head, "planned_by")
            for name in Self.shared + (isOwn ? Self.ofOwnPlan : [])
            where !JSONValue.areSame(head[name], run.manifest.record[name]) {
                problems.add(Self.name, line: 1, "its \(name) is another than manifest.json's")
            }
        } else {
            problems.add(Self.name, line: 1, "it is not the head of a plan")
        }
        var identity = SHA256()
        identity.update(line: list.head?.text { !Self.ofFile.contains($0) } ?? "")
        let ahead = EvidenceAhead(of: Self.name, evidence: evidence)
        while let item = try list.next() {
            await ahead.reach(line: list.lineNumber)
            identity.update(line: item.text { $0 != "fate" })
            counts.take(planned: item)
            for problem in await evidence.check(item).problems {
                problems.add(Self.name, line: list.lineNumber, problem)
            }
        }
        // A run that ended before its plan was complete has none.
        guard let stated = list.head?.text("plan_sha256") else { return }
        counts.plan = stated
        if !identity.finalize().hexadecimal.isSame(as: stated) {
            problems.add(
                Self.name, line: 1,
                "its plan_sha256 is not the digest of this plan: head or corrections were edited")
        }
    }
}

extension SHA256 {
    fileprivate mutating func update(line: String) {
        update(data: Array((line + "\n").utf8))
    }
}
