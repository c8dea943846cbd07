/// Checks the chain of the ledger in the database, and compares it with the reports.
struct LedgerCheck {
    private static let name = "the ledger in the database"

    /// The ledger as the reports have it.
    let trail: LedgerTrail
    /// The ledger head of the newest run.
    let head: String?
    /// Whether all reports were read, so that every entry must be in one of them.
    let isWholeFolder: Bool

    struct Outcome {
        var problems: [AuditProblem] = []
        var entries = 0
        var notes: [String] = []
    }

    func check(_ reading: DatabaseReading.Rows) throws -> Outcome {
        var outcome = Outcome()
        var last: (number: Int64, hash: String) = (0, LedgerTrail.beginning)
        var unshown: ClosedRange<Int64>?
        var hasHead = head.map { $0.isSame(as: LedgerTrail.beginning) } ?? true
        try reading { row in
            let entry: StoredEntry
            do throws(UnreadableFile) {
                entry = try StoredEntry(StoredRow(columns: row))
            } catch {
                var number = last.number &+ 1
                if case .integer(let stated) = row["entry"] { number = stated }
                outcome.add(number, error.reason)
                return
            }
            outcome.entries += 1
            for problem in problems(of: entry, after: last) { outcome.add(entry.number, problem) }
            if isBeforeEveryReport(entry.number, hasHead: hasHead) {
                let first = unshown?.lowerBound ?? entry.number
                unshown = first...max(first, entry.number)
            }
            last = (entry.number, entry.hash)
            if let head, entry.hash.isSame(as: head) { hasHead = true }
        }
        if let unshown { outcome.notes.append(Self.note(unshown)) }
        if !hasHead {
            outcome.problems.append(
                AuditProblem(
                    file: Self.name,
                    text: "it ends with entry \(last.number) and does not hold the entry that the "
                        + "newest report ends with"
                        + (trail.number.map { ", number \($0)" } ?? "")
                        + ": it was cut, or a backup was put back; if so, declare it with \"trueup "
                        + "restored --reason TEXT\""))
        }
        return outcome
    }

    /// Whether an entry is older than those of the reports at hand, whose front was deleted.
    private func isBeforeEveryReport(_ number: Int64, hasHead: Bool) -> Bool {
        guard isWholeFolder else { return false }
        guard let first = trail.firstNumber else { return !hasHead }
        return number < first && trail.entry(number) == nil
    }

    private static func note(_ unshown: ClosedRange<Int64>) -> String {
        let (first, last) = (unshown.lowerBound, unshown.upperBound)
        let entries =
            first == last
            ? "entry \(first) of the ledger in the database stands"
            : "entries \(first) to \(last) of the ledger in the database stand"
        return entries + " in no report of this folder: the older reports were removed from it, or "
            + "are in another one"
    }

    private func problems(
        of entry: StoredEntry, after last: (number: Int64, hash: String)
    ) -> [String] {
        var problems: [String] = []
        if entry.number != last.number &+ 1 {
            problems.append(
                "the entry before should be \(entry.number &- 1), but is \(last.number)")
        }
        if !entry.previous.isSame(as: last.hash) {
            problems.append("it does not rest on the entry before, whose hash is \(last.hash)")
        }
        if !entry.holds {
            problems.append("its hash is not the hash of its contents: the entry was edited")
        }
        if let reported = trail.entry(entry.number) {
            if reported.text("ledger_hash")?.isSame(as: entry.hash) != true {
                problems.append("the reports show other contents under its number")
            }
        } else if isWholeFolder, trail.covers(entry.number) {
            problems.append("no report shows it")
        }
        return problems
    }
}

extension LedgerCheck.Outcome {
    fileprivate mutating func add(_ number: Int64, _ text: String) {
        problems.append(
            AuditProblem(file: "the ledger in the database", ledgerEntry: number, text: text))
    }
}
