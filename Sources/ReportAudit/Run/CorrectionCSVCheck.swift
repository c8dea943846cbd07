import JSONWebSignature

/// Holds `corrections.csv` against the corrections: it has a line for each changed field, in the
/// order of their names.
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
