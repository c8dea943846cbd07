import Subscriptions

/// The corrections that `corrections.csv` counts in one line instead of listing them: those that
/// fix no finding and only fill what was empty, and those that add a period for the same reason.
///
/// `corrections.jsonl` has a line for each of them.
struct FillTotal {
    /// The value of the column `field` in the line.
    static let field = "fills_and_new_periods"

    let runID: String
    let fate: CorrectionFate
    private var fills = 0
    private var newPeriods = 0

    init(runID: String, fate: CorrectionFate) {
        self.runID = runID
        self.fate = fate
    }

    /// Counts plain new periods, none of which is listed.
    mutating func add(newPeriods count: Int) { newPeriods += count }

    /// Counts an entry that is not listed; whether it is one.
    mutating func take(_ entry: LedgerEntry) -> Bool {
        take(
            isRevert: entry.undoOf != nil, entry.kinds, entry.changes,
            isPeriod: entry.transactionID != nil,
            entry.rowAction)
    }

    /// Counts a correction that is only planned.
    mutating func take(_ correction: PlannedCorrection) -> Bool {
        take(
            isRevert: correction.undoOf != nil, correction.kinds, correction.changes,
            isPeriod: correction.transactionID != nil, correction.action)
    }

    private mutating func take(
        isRevert: Bool, _ kinds: [FindingKind], _ changes: ChangeSet, isPeriod: Bool,
        _ action: RowAction
    ) -> Bool {
        guard !isRevert, kinds.isEmpty, changes.before.values.allSatisfy({ $0 == .null }) else {
            return false
        }
        switch (action, isPeriod) {
        case (.update, _): fills += 1
        case (.insert, true): newPeriods += 1
        case (.insert, false), (.delete, _): return false
        }
        return true
    }

    /// Appends the line that counts them; nothing where there are none.
    func append(
        to table: Table<ChangedField>, _ notice: String?, _ bytes: inout [UInt8]
    ) {
        let count = fills + newPeriods
        guard count > 0 else { return }
        let list = fate == .applied ? "corrections.jsonl" : "plan.json"
        let values: [String: Cell] = [
            "run_id": .own(runID), "field": .own(Self.field), "after": Cell(count),
            "reason": .own(
                "\(fills.grouped) first fills and \(newPeriods.grouped) new periods, each with a line "
                    + "in \(list)"),
            "fate": .own(fate.rawValue), "notice": Cell(notice),
        ]
        for (index, column) in table.columns.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            (values[column.name] ?? .null).appendCSV(to: &bytes)
        }
        bytes += [0x0D, 0x0A]
    }
}
