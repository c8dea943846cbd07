import JSONWebSignature

/// Checks `corrections.jsonl` entry by entry, together with `corrections.csv` and `undo.json`.
struct CorrectionCheck {
    static let name = "corrections.jsonl"

    let evidence: EvidenceFile
    let problems: RunProblems

    private var run: RunFolder { evidence.run }

    func check(
        trail: inout LedgerTrail, audit: inout RunAudit, changed: inout CorrectedTotals
    ) async throws(UnreadableFile) {
        let lines = try LineFile(run.file(Self.name))
        let derivations = DerivationCheck(run, problems: problems)
        let csv = try? CorrectionCSVCheck(run, problems: problems)
        let undo = SideFile(
            Self.undoName,
            try? SealedList(run.file(Self.undoName)) {
                problems.add(Self.undoName, line: $0, $1)
            }, problems: problems)
        if undo.reader?.head.map({ !problems.isOfRun($0) }) ?? false {
            problems.add(Self.undoName, line: 1, "it is the inverse of another run")
        }
        let ahead = EvidenceAhead(of: Self.name, evidence: evidence)
        while let line = try lines.next() {
            await ahead.reach(line: lines.lineNumber)
            audit.counts.corrections += 1
            guard let entry = JSONRecord(line), let number = entry.integer("ledger_entry") else {
                problems.add(Self.name, line: lines.lineNumber, "it is not a ledger entry")
                continue
            }
            // Those of a killed run are here as well.
            if problems.isOfRun(entry) { changed.take(entry) }
            let before = problems.count
            let erasedBefore = audit.counts.onErased
            let report = { (text: String) in
                problems.add(Self.name, line: lines.lineNumber, entry: number, text)
            }
            checkPlace(of: entry, number, &trail, report)
            let outcome = await checkEvidence(of: entry, number, trail, &audit, report)
            let derivation = derivations.check(entry, outcome, correctionLine: lines.lineNumber)
            csv?.check(entry, line: lines.lineNumber, of: Self.name, derivation: derivation)
            if let item = undo.next(beside: lines.lineNumber, of: Self.name),
                let problem = Self.problem(of: item, undoing: entry)
            {
                undo.report(problem, entry: number)
            }
            if problems.count == before, audit.counts.onErased == erasedBefore,
                !entry.states("undo_of")
            {
                audit.counts.reverifiedCorrections += 1
            }
        }
        csv?.checkTotal(of: Self.name)
        // A run that was not to write continues with what it would change.
        if run.manifest.record.text("mode") == "check" { try checkPlanned(csv) }
        csv?.checkEnd(after: Self.name)
        undo.checkEnd("it reverts more than \(Self.name) lists")
        derivations.checkEnd()
    }

    /// The CSV file of a check continues the plan, line by line and without ledger entries.
    ///
    /// Reports of versions that did not write it end before.
    private func checkPlanned(_ csv: CorrectionCSVCheck?) throws(UnreadableFile) {
        guard let csv, try csv.goesOn() else { return }
        // What is wrong with the list itself is found where it is checked.
        let plan = try SealedList(run.file(PlanCheck.name)) { _, _ in }
        while let item = try plan.next() {
            csv.check(item, line: plan.lineNumber, of: PlanCheck.name, derivation: nil)
            guard csv.isReadable else { return }
        }
        csv.checkTotal(of: PlanCheck.name)
    }

    /// Checks hash, number and previous hash.
    private func checkPlace(
        of entry: JSONRecord, _ number: Int64, _ trail: inout LedgerTrail,
        _ report: (String) -> Void
    ) {
        if let problem = entry.sealProblem { report(problem) }
        guard let previous = entry.text("ledger_previous"), previous.isDigest,
            let hash = entry.text("ledger_hash"), hash.isDigest
        else { return }
        if let problem = trail.take(number, previous: previous, hash: hash) { report(problem) }
    }

    private func checkEvidence(
        of entry: JSONRecord, _ number: Int64, _ trail: LedgerTrail, _ audit: inout RunAudit,
        _ report: (String) -> Void
    ) async -> StatementCheck {
        let outcome = await evidence.check(entry)
        for problem in outcome.problems { report(problem) }
        if outcome.restsOnErased { audit.counts.onErased += 1 }
        guard entry.states("undo_of") else { return outcome }
        audit.undone += 1
        guard let undone = entry.integer("undo_of"), undone < number else {
            report("its undo_of is not an earlier entry")
            return outcome
        }
        guard let original = trail.entry(undone) else {
            audit.notes.append(
                "ledger entry \(number) reverts entry \(undone), which is in none of these folders: "
                    + "the values that it restored are not checked")
            return outcome
        }
        for name in ["app", "environment", "original_transaction_id", "table", "evidence"]
        where !JSONValue.areSame(original[name], entry[name]) {
            report("its \(name) is not that of entry \(undone), which it reverts")
        }
        let after = entry.record("after")
        let values = original.record("before")
        for column in after?.names ?? []
        where values?[column] == nil || !JSONValue.areSame(after?[column], values?[column]) {
            report("its \(column) does not go back to what entry \(undone) found")
        }
        return outcome
    }
}

/// The items of `undo.json`, compared with the corrections that they revert.
extension CorrectionCheck {
    private static let undoName = "undo.json"
    private static let sharedWithUndo = [
        "app", "environment", "evidence", "evidence_renewal", "ledger_hash",
        "original_transaction_id", "table", "transaction_id",
    ]

    /// Returns why an item is not the inverse of a correction; `nil` when it is.
    private static func problem(of item: JSONRecord, undoing entry: JSONRecord) -> String? {
        for name in sharedWithUndo where !JSONValue.areSame(item[name], entry[name]) {
            return "its \(name) is not that of the correction"
        }
        guard JSONValue.areSame(item["undo_of"], entry["ledger_entry"]) else {
            return "it reverts another ledger entry than that of the next correction"
        }
        guard JSONValue.areSame(item["before"], entry["after"]),
            JSONValue.areSame(item["after"], entry["before"])
        else { return "its before and after are not those of the correction exchanged" }
        let inverse =
            switch entry.text("action") {
            case "insert": "delete"
            case "delete": "insert"
            case "update": "update"
            default: entry.unstatedAction == "insert" ? "delete" : "update"
            }
        return item.text("action") == inverse
            ? nil : "its action does not revert the correction"
    }
}

/// Holds `corrections.csv` against the corrections: it has a line for each changed field, in the
/// order of their names.
///
/// What only fills empty fields, or adds a period for the same reason, has no lines but one that
/// counts them all. Reports of versions that listed them hold their lines.
final class CorrectionCSVCheck {
    private static let name = "corrections.csv"
    /// Columns that are not members of a correction.
    private static let perField: Set<String> = ["field", "before", "after"]

    private let file: SideFile<CSVRecords>
    private let columns: [String]
    private let entry: Int?
    private let field: Int?
    private let before: Int?
    private let after: Int?
    private let derivation: Int?
    /// Corrections without lines since the last line that counts such.
    private var unlisted: Int64 = 0
    private static let total = "fills_and_new_periods"

    /// - Parameters:
    ///   - run: The run.
    ///   - problems: Takes what is wrong.
    /// - Throws: When the file cannot be read.
    init(_ run: RunFolder, problems: RunProblems) throws(UnreadableFile) {
        let records = try CSVRecords(run.file(Self.name))
        file = SideFile(Self.name, records, problems: problems)
        columns = records.columns
        entry = columns.firstIndex(of: "ledger_entry")
        field = columns.firstIndex(of: Self.fieldName)
        before = columns.firstIndex(of: "before")
        after = columns.firstIndex(of: "after")
        derivation = columns.firstIndex(of: DerivationCheck.column)
    }

    /// Whether the file can be read further.
    var isReadable: Bool { file.reader != nil }

    /// Whether a line follows.
    func goesOn() throws(UnreadableFile) -> Bool { try file.reader?.peek() != nil }

    /// Checks the lines of the next correction.
    ///
    /// - Parameters:
    ///   - correction: A ledger entry, or an item of the plan.
    ///   - line: Its line.
    ///   - list: The file that it is in.
    ///   - derivation: What the line of its status states in that column; `nil` where that cannot be
    ///     said.
    func check(_ correction: JSONRecord, line: Int, of list: String, derivation: String?) {
        guard isReadable else { return }
        let old = correction.record("before")
        let new = correction.record("after")
        let number = correction["ledger_entry"]
        if Self.onlyFills(correction, old, new) {
            guard let next = file.read({ file throws(UnreadableFile) in try file.peek() }) else {
                return
            }
            guard next.map({ isListed(correction, number, by: $0) }) ?? false else {
                unlisted += 1
                return
            }
        }
        let shared = columns.enumerated().compactMap { place, column in
            Self.perField.contains(column) ? nil : correction[column].map { (place, $0) }
        }
        let runs = Self.runs(of: shared.map(\.0))
        // Whatever a line repeats of one before that agrees, agrees.
        var agreeing: CSVRecord?
        let fields = (new?.names ?? []).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        for field in fields {
            guard let record = file.next(beside: line, of: list) else { return }
            let isRepeated =
                agreeing.map { earlier in
                    runs.allSatisfy { record.repeats($0, of: earlier) }
                } ?? false
            let other = isRepeated ? nil : shared.first { !record.agrees($0.0, with: $0.1) }
            if other == nil { agreeing = record }
            let agrees =
                Self.agrees(record, entry, number)
                && self.field.map { record.field($0).isSame(as: field) } ?? false
                && Self.agrees(record, before, old?[field])
                && Self.agrees(record, after, new?[field])
            check(record, isStatus: field == "status", derivation)
            if !agrees || other != nil {
                file.report(
                    "it differs from line \(line) of \(list) in "
                        + (other.map { columns[$0.0] } ?? field))
            }
        }
    }

    /// Whether a correction fixes no finding and replaces no value.
    private static func onlyFills(
        _ correction: JSONRecord, _ old: JSONRecord?, _ new: JSONRecord?
    ) -> Bool {
        guard correction["kinds"]?.elements.isEmpty == true, !correction.states("undo_of"),
            let old, let new, !new.names.isEmpty, new.names.allSatisfy({ !old.states($0) })
        else { return false }
        switch correction.text("action") {
        case "update": return true
        case "insert": return correction.text("table") == "transactions"
        default: return false
        }
    }

    /// Whether a line is one of this correction.
    private func isListed(
        _ correction: JSONRecord, _ number: JSONValue?, by record: CSVRecord
    ) -> Bool {
        let isOfEntry = Self.agrees(record, entry, number)
        guard number == nil || number?.isNull == true else { return isOfEntry }
        // A planned one has no number: it is told by its row and period.
        return isOfEntry && record[Self.fieldName] != Self.total
            && ["original_transaction_id", "transaction_id", "table"].allSatisfy {
                (record[$0] ?? "").agrees(with: correction[$0])
            }
    }

    private static let fieldName = "field"

    /// Checks the line that counts the corrections without lines.
    ///
    /// - Parameter list: The file that has them.
    func checkTotal(of list: String) {
        guard unlisted > 0,
            let last = file.read({ file throws(UnreadableFile) in try file.next() })
        else { return }
        guard let record = last, record[Self.fieldName]?.isSame(as: Self.total) == true,
            record["after"]?.isSame(as: String(unlisted)) == true,
            record["ledger_entry"]?.isEmpty == true, record["before"]?.isEmpty == true,
            record["reason"]?.hasSuffix("in \(list)") == true
        else {
            file.report("no line counts the \(unlisted) fills and new periods that \(list) lists")
            file.leave()
            return
        }
        unlisted = 0
    }

    /// Checks that no line follows.
    func checkEnd(after list: String) {
        file.checkEnd("it has more lines than \(list) has changed fields")
    }

    private func check(_ record: CSVRecord, isStatus: Bool, _ sentence: String?) {
        guard let sentence, let derivation else { return }
        let stated = record.field(derivation)
        if !stated.agrees(withText: isStatus ? sentence : "") {
            file.report("its derivation is not the one in \(DerivationCheck.name)")
        }
    }

    /// Places that follow each other, together.
    private static func runs(of places: [Int]) -> [Range<Int>] {
        var runs: [Range<Int>] = []
        for place in places {
            if let last = runs.last, last.upperBound == place {
                runs[runs.count - 1] = last.lowerBound..<place + 1
            } else {
                runs.append(place..<place + 1)
            }
        }
        return runs
    }

    /// Whether a field has a value; a column that is not there is empty.
    private static func agrees(_ record: CSVRecord, _ place: Int?, _ value: JSONValue?) -> Bool {
        guard let place else { return "".agrees(with: value) }
        return record.agrees(place, with: value)
    }
}
