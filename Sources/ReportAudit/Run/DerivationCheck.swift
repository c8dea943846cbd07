import JSONWebSignature
import Subscriptions

/// Checks `derivations.jsonl`, which has a line for each status that was written on Apple's word,
/// in the order of the corrections.
final class DerivationCheck {
    static let name = "derivations.jsonl"
    /// The column of `corrections.csv` that repeats the sentence of a line.
    static let column = "derivation"
    /// Members that the line shares with the ledger entry.
    private static let shared = [
        "app", "environment", "evidence", "evidence_renewal", "ledger_entry",
        "original_transaction_id", "run_id",
    ]

    private var lines: LineFile?
    private let problems: RunProblems

    /// - Parameters:
    ///   - folder: The run's folder.
    ///   - isListed: Whether the manifest names the file; older reports have none.
    ///   - problems: Takes what is wrong.
    init(folder: String, isListed: Bool, problems: RunProblems) {
        self.problems = problems
        guard isListed else { return }
        lines = try? LineFile(folder + "/" + Self.name)
    }

    /// Checks the line of an entry, where the entry has one.
    ///
    /// - Parameters:
    ///   - entry: The next ledger entry.
    ///   - outcome: What the check of its evidence gave.
    ///   - correctionLine: The entry's line in `corrections.jsonl`.
    /// - Returns: What `corrections.csv` states beside the entry's status, an empty text for none;
    ///   `nil` where that cannot be said.
    func check(
        _ entry: JSONRecord, _ outcome: StatementCheck.Outcome, correctionLine: Int
    ) -> String? {
        guard let status = Self.status(of: entry) else { return "" }
        guard let lines else { return nil }
        do throws(UnreadableFile) {
            guard let line = try lines.next() else {
                problems.add(
                    Self.name,
                    "it ends before line \(correctionLine) of \(CorrectionCheck.name)")
                self.lines = nil
                return nil
            }
            guard let record = JSONRecord(line), record.isCanonical else {
                problems.add(Self.name, line: lines.lineNumber, "it is no derivation of a status")
                return nil
            }
            if let problem = problem(of: record, entry, status, outcome) {
                problems.add(
                    Self.name, line: lines.lineNumber, entry: entry.integer("ledger_entry"),
                    problem)
            }
            return record.text(Self.column)
        } catch {
            problems.add(Self.name, error.reason)
            self.lines = nil
            return nil
        }
    }

    /// Checks that the file ends with the corrections.
    func checkEnd() {
        do throws(UnreadableFile) {
            if try lines?.next() != nil {
                problems.add(
                    Self.name, line: lines?.lineNumber,
                    "it has more lines than \(CorrectionCheck.name) has statuses")
            }
        } catch {
            problems.add(Self.name, error.reason)
        }
    }

    /// The status that an entry writes on Apple's word.
    private static func status(of entry: JSONRecord) -> Int64? {
        guard entry.text("table") == "subscriptions", !entry.states("undo_of") else { return nil }
        return entry.record("after")?.integer("status")
    }

    private func problem(
        of record: JSONRecord, _ entry: JSONRecord, _ status: Int64,
        _ outcome: StatementCheck.Outcome
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
