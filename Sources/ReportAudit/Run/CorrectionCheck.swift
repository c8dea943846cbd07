import JSONWebSignature

/// Checks `corrections.jsonl` entry by entry, together with `corrections.csv` and `undo.json`.
struct CorrectionCheck {
    static let name = "corrections.jsonl"

    let folder: String
    /// Whether the run was not to write: then its CSV goes on with what it would change.
    let isCheck: Bool
    let statements: StatementCheck
    /// Whether the manifest names `derivations.jsonl`.
    let hasDerivations: Bool
    let problems: RunProblems

    private final class Companions {
        var csv: CorrectionCSVCheck?
        var undo: SealedList?
    }

    func check(
        trail: inout LedgerTrail, audit: inout RunAudit, changed: inout CorrectedTotals
    ) async throws(UnreadableFile) {
        let lines = try LineFile(folder + "/" + Self.name)
        let companions = Companions()
        let derivations = DerivationCheck(
            folder: folder, isListed: hasDerivations, problems: problems)
        companions.csv = try? CorrectionCSVCheck(folder: folder, problems: problems)
        companions.undo = try? SealedList(folder + "/" + UndoCheck.name)
        if companions.undo?.head.map({ !problems.isOfRun($0) }) ?? false {
            problems.add(UndoCheck.name, line: 1, "it is the inverse of another run")
        }
        while let line = try lines.next() {
            audit.corrections += 1
            guard let entry = JSONRecord(line), let number = entry.integer("ledger_entry") else {
                problems.add(Self.name, line: lines.lineNumber, "it is no ledger entry")
                continue
            }
            // Those of a killed run stand here, too.
            if problems.isOfRun(entry) { changed.take(entry) }
            let before = problems.count
            let erasedBefore = audit.onErased
            let report = { (text: String) in
                problems.add(Self.name, line: lines.lineNumber, entry: number, text)
            }
            checkPlace(of: entry, number, &trail, report)
            let outcome = await checkEvidence(of: entry, number, trail, &audit, report)
            let derivation = derivations.check(entry, outcome, correctionLine: lines.lineNumber)
            companions.csv = companions.csv?.check(
                entry, line: lines.lineNumber, of: Self.name, derivation: derivation)
            checkUndo(of: entry, companions, line: lines.lineNumber)
            if problems.count == before, audit.onErased == erasedBefore, !entry.states("undo_of") {
                audit.reverifiedCorrections += 1
            }
        }
        companions.csv = companions.csv?.checkTotal(of: Self.name)
        if isCheck { try checkPlanned(companions) }
        checkEnds(companions)
        derivations.checkEnd()
    }

    /// The CSV file of a check goes on with the plan, line by line and without ledger entries.
    ///
    /// Reports of versions that did not write it end before.
    private func checkPlanned(_ companions: Companions) throws(UnreadableFile) {
        guard let csv = companions.csv, try !csv.isAtEnd() else { return }
        var plan = try SealedList(folder + "/" + PlanCheck.name)
        // What is wrong with the list itself is found where it is checked.
        while let item = try plan.next({ _, _ in }) {
            companions.csv = companions.csv?.check(
                item, line: plan.lineNumber, of: PlanCheck.name, derivation: nil)
            guard companions.csv != nil else { return }
        }
        companions.csv = companions.csv?.checkTotal(of: PlanCheck.name)
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
    ) async -> StatementCheck.Outcome {
        guard entry.states("undo_of") else {
            let outcome = await statements.check(entry)
            take(outcome, &audit, report)
            return outcome
        }
        audit.undone += 1
        let outcome = await statements.check(undoing: entry)
        take(outcome, &audit, report)
        guard let undone = entry.integer("undo_of"), undone < number else {
            report("its undo_of is no earlier entry")
            return outcome
        }
        guard let original = trail.entry(undone) else {
            audit.notes.append(
                "ledger entry \(number) takes back entry \(undone), which is not in the folders at "
                    + "hand: what it was taken back to is not checked")
            return outcome
        }
        for name in ["app", "environment", "original_transaction_id", "table", "evidence"]
        where !JSONValue.areSame(original[name], entry[name]) {
            report("its \(name) is not that of entry \(undone), which it takes back")
        }
        let after = entry.record("after")
        let values = original.record("before")
        for column in after?.names ?? []
        where values?[column] == nil || !JSONValue.areSame(after?[column], values?[column]) {
            report("its \(column) does not go back to what entry \(undone) found")
        }
        return outcome
    }

    private func take(
        _ outcome: StatementCheck.Outcome, _ audit: inout RunAudit, _ report: (String) -> Void
    ) {
        for problem in outcome.problems { report(problem) }
        if outcome.restsOnErased { audit.onErased += 1 }
    }

    private func checkUndo(of entry: JSONRecord, _ companions: Companions, line: Int) {
        guard companions.undo != nil else { return }
        do throws(UnreadableFile) {
            let item = try companions.undo?.next { problems.add(UndoCheck.name, line: $0, $1) }
            guard let item else {
                problems.add(UndoCheck.name, "it ends before line \(line) of \(Self.name)")
                companions.undo = nil
                return
            }
            if let problem = UndoCheck.problem(of: item, undoing: entry) {
                problems.add(
                    UndoCheck.name, line: companions.undo?.lineNumber,
                    entry: entry.integer("ledger_entry"), problem)
            }
        } catch {
            problems.add(UndoCheck.name, error.reason)
            companions.undo = nil
        }
    }

    /// Checks that both other files end here, too.
    private func checkEnds(_ companions: Companions) {
        companions.csv?.checkEnd(after: Self.name)
        do throws(UnreadableFile) {
            let rest = try companions.undo?.next { problems.add(UndoCheck.name, line: $0, $1) }
            if rest != nil {
                problems.add(
                    UndoCheck.name, line: companions.undo?.lineNumber,
                    "it takes back more than \(Self.name) lists")
            }
        } catch {
            problems.add(UndoCheck.name, error.reason)
        }
    }
}

/// Compares the items of `undo.json` with the corrections that they revert.
struct UndoCheck {
    static let name = "undo.json"
    private static let shared = [
        "app", "environment", "evidence", "evidence_renewal", "ledger_hash",
        "original_transaction_id", "table", "transaction_id",
    ]

    /// Why an item is not the inverse of a correction; `nil` when it is.
    static func problem(of item: JSONRecord, undoing entry: JSONRecord) -> String? {
        for name in shared where !JSONValue.areSame(item[name], entry[name]) {
            return "its \(name) is not that of the correction"
        }
        guard JSONValue.areSame(item["undo_of"], entry["ledger_entry"]) else {
            return "it takes back another ledger entry than the next correction"
        }
        guard JSONValue.areSame(item["before"], entry["after"]),
            JSONValue.areSame(item["after"], entry["before"])
        else { return "its before and after are not those of the correction exchanged" }
        guard item.text("action") == inverse(of: entry) else {
            return "its action does not take the correction back"
        }
        return nil
    }

    /// The action that reverts an entry.
    ///
    /// Old entries state none: those versions only inserted periods, and inserted a subscription
    /// only when it was missing.
    private static func inverse(of entry: JSONRecord) -> String {
        switch entry.text("action") {
        case "insert": return "delete"
        case "delete": return "insert"
        case "update": return "update"
        default:
            let kinds = entry["kinds"]?.elements.compactMap(\.text) ?? []
            return entry.text("table") == "transactions" || kinds.contains("missing_locally")
                ? "delete" : "update"
        }
    }
}
