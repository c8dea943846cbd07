import JSONWebSignature

/// Holds `corrections.csv` against the corrections: it has a line for each changed field, in the
/// order of their names.
///
/// What only fills empty fields, or adds a period for the same reason, has no lines but one that counts
/// them all. Reports of versions that listed them hold their lines.
struct CorrectionCSVCheck {
    private static let name = "corrections.csv"
    /// Columns that are no members of a correction.
    private static let perField: Set<String> = ["field", "before", "after"]

    private let file: CSVRecords
    private let problems: RunProblems
    private let entry: Int?
    private let field: Int?
    private let before: Int?
    private let after: Int?
    private let derivation: Int?
    /// Corrections without lines since the last line that counts such.
    private var unlisted: Int64 = 0
    private static let total = "fills_and_new_periods"

    /// - Parameters:
    ///   - folder: The run's folder.
    ///   - problems: Takes what is wrong.
    /// - Throws: When the file cannot be read.
    init(folder: String, problems: RunProblems) throws(UnreadableFile) {
        file = try CSVRecords(folder + "/" + Self.name)
        self.problems = problems
        entry = file.columns.firstIndex(of: "ledger_entry")
        field = file.columns.firstIndex(of: "field")
        before = file.columns.firstIndex(of: "before")
        after = file.columns.firstIndex(of: "after")
        derivation = file.columns.firstIndex(of: DerivationCheck.column)
    }

    /// Whether no line follows.
    func isAtEnd() throws(UnreadableFile) -> Bool { try file.isAtEnd() }

    /// Checks the lines of the next correction.
    ///
    /// - Parameters:
    ///   - correction: A ledger entry, or an item of the plan.
    ///   - line: Its line.
    ///   - list: The file that it stands in.
    ///   - derivation: What the line of its status states in that column; `nil` where that cannot be
    ///     said.
    /// - Returns: The check of the rest; `nil` where the file cannot be read on.
    func check(
        _ correction: JSONRecord, line: Int, of list: String, derivation: String?
    ) -> CorrectionCSVCheck? {
        let old = correction.record("before")
        let new = correction.record("after")
        let number = correction["ledger_entry"]
        if Self.onlyFills(correction, old, new) {
            do throws(UnreadableFile) {
                guard try isListed(correction, number) else {
                    var rest = self
                    rest.unlisted += 1
                    return rest
                }
            } catch {
                problems.add(Self.name, error.reason)
                return nil
            }
        }
        let shared = file.columns.enumerated().compactMap { place, column in
            Self.perField.contains(column) ? nil : correction[column].map { (place, $0) }
        }
        let runs = Self.runs(of: shared.map(\.0))
        // Whatever a line repeats of one before that agrees, agrees.
        var agreeing: CSVRecord?
        let fields = (new?.names ?? []).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        for field in fields {
            do throws(UnreadableFile) {
                guard let record = try file.next() else {
                    problems.add(Self.name, "it ends before line \(line) of \(list)")
                    return nil
                }
                let isRepeated =
                    agreeing.map { earlier in
                        runs.allSatisfy { record.repeats($0, of: earlier) }
                    } ?? false
                let other =
                    isRepeated ? nil : shared.first { !record.agrees($0.0, with: $0.1) }
                if other == nil { agreeing = record }
                let agrees =
                    Self.agrees(record, entry, number)
                    && self.field.map { record.field($0).isSame(as: field) } ?? false
                    && Self.agrees(record, before, old?[field])
                    && Self.agrees(record, after, new?[field])
                check(record, isStatus: field == "status", derivation)
                if !agrees || other != nil {
                    problems.add(
                        Self.name, line: file.lineNumber,
                        "it does not say what line \(line) of \(list) says of "
                            + (other.map { file.columns[$0.0] } ?? field))
                }
            } catch {
                problems.add(Self.name, error.reason)
                return nil
            }
        }
        return self
    }

    /// Whether a correction mends no finding and replaces no value.
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

    /// Whether the next line is one of this correction.
    private func isListed(
        _ correction: JSONRecord, _ number: JSONValue?
    ) throws(UnreadableFile) -> Bool {
        guard let record = try file.peek() else { return false }
        let isOfEntry = Self.agrees(record, entry, number)
        guard number == nil || number?.isNull == true else { return isOfEntry }
        // A planned one has no number: it is told by its row and period.
        return isOfEntry && record[Self.fieldName] != Self.total
            && ["original_transaction_id", "transaction_id", "table"].allSatisfy {
                CSVField.agrees(record[$0] ?? "", with: correction[$0])
            }
    }

    private static let fieldName = "field"

    /// Checks the line that counts the corrections without lines.
    ///
    /// - Parameter list: The file in which they stand.
    /// - Returns: The check of the rest; `nil` where the file cannot be read on.
    func checkTotal(of list: String) -> CorrectionCSVCheck? {
        guard unlisted > 0 else { return self }
        do throws(UnreadableFile) {
            let record = try file.next()
            guard let record, record[Self.fieldName]?.isSame(as: Self.total) == true,
                record["after"]?.isSame(as: String(unlisted)) == true,
                record["ledger_entry"]?.isEmpty == true, record["before"]?.isEmpty == true,
                record["reason"]?.hasSuffix("in \(list)") == true
            else {
                problems.add(
                    Self.name, line: file.lineNumber,
                    "no line counts the \(unlisted) fills and new periods that \(list) lists")
                return nil
            }
            var rest = self
            rest.unlisted = 0
            return rest
        } catch {
            problems.add(Self.name, error.reason)
            return nil
        }
    }

    /// Checks that no line follows.
    func checkEnd(after list: String) {
        do throws(UnreadableFile) {
            if try file.next() != nil {
                problems.add(
                    Self.name, line: file.lineNumber,
                    "it has more lines than \(list) has changed fields")
            }
        } catch {
            problems.add(Self.name, error.reason)
        }
    }

    private func check(_ record: CSVRecord, isStatus: Bool, _ sentence: String?) {
        guard let sentence, let derivation else { return }
        let stated = record.field(derivation)
        if !CSVField.agrees(stated, withText: isStatus ? sentence : "") {
            problems.add(
                Self.name, line: file.lineNumber,
                "its derivation is not the one in \(DerivationCheck.name)")
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
        guard let place else { return CSVField.agrees("", with: value) }
        return record.agrees(place, with: value)
    }
}
