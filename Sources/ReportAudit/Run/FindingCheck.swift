import JSONWebSignature

/// Checks `discrepancies.jsonl` line by line, together with `discrepancies.csv` and
/// `not_found.csv`.
struct FindingCheck {
    static let name = "discrepancies.jsonl"
    private static let csvName = "discrepancies.csv"
    private static let notFoundName = "not_found.csv"
    private static let key = ["app", "environment", "original_transaction_id"]

    let folder: String
    let manifest: ManifestRecord
    let evidence: FindingEvidenceCheck
    let problems: RunProblems

    private final class Companions {
        var csv: CSVRecords?
        /// `nil` for narrowed runs, which leave out findings.
        var notFound: CSVRecords?
    }

    func check(counts: inout RunCounts) async throws(UnreadableFile) {
        let lines = try LineFile(folder + "/" + Self.name)
        let companions = Companions()
        var evidence = evidence
        companions.csv = try? CSVRecords(folder + "/" + Self.csvName)
        if !manifest.isNarrowed {
            companions.notFound = try? CSVRecords(folder + "/" + Self.notFoundName)
        }
        while let line = try lines.next() {
            guard let finding = JSONRecord(line) else {
                problems.add(Self.name, line: lines.lineNumber, "it is not a JSON object")
                continue
            }
            counts.take(finding: finding)
            if !finding.isCanonical {
                problems.add(
                    Self.name, line: lines.lineNumber, "it is not spelled as canonical JSON")
            }
            if !problems.isOfRun(finding) {
                problems.add(Self.name, line: lines.lineNumber, "it is a finding of another run")
            }
            if finding.names.contains("amount_milliunits"),
                !JSONValue.areSame(finding["amount_milliunits"], finding["amount"])
            {
                problems.add(
                    Self.name, line: lines.lineNumber, "its amount_milliunits is not its amount")
            }
            for problem in await evidence.problems(of: finding) {
                problems.add(Self.name, line: lines.lineNumber, problem)
            }
            check(finding, against: &companions.csv, Self.csvName, lines.lineNumber) { _ in true }
            if finding.text("kind") == "not_found" {
                check(finding, against: &companions.notFound, Self.notFoundName, lines.lineNumber) {
                    Self.key.contains($0)
                }
            }
        }
        counts.finishFindings()
        checkEnd(&companions.csv, Self.csvName)
        checkEnd(&companions.notFound, Self.notFoundName)
    }

    /// Compares the next record of a CSV file with a finding.
    private func check(
        _ finding: JSONRecord, against csv: inout CSVRecords?, _ name: String, _ line: Int,
        columns: (String) -> Bool
    ) {
        guard let file = csv else { return }
        do throws(UnreadableFile) {
            guard let record = try file.next() else {
                problems.add(name, "it ends before line \(line) of \(Self.name)")
                csv = nil
                return
            }
            if let other = record.firstColumn(unlike: finding, among: columns) {
                problems.add(
                    name, line: file.lineNumber,
                    "it does not say what line \(line) of \(Self.name) says of \(other)")
            }
        } catch {
            problems.add(name, error.reason)
            csv = nil
        }
    }

    private func checkEnd(_ csv: inout CSVRecords?, _ name: String) {
        do throws(UnreadableFile) {
            if try csv?.next() != nil {
                problems.add(
                    name, line: csv?.lineNumber, "it has more lines than \(Self.name) has findings")
            }
        } catch {
            problems.add(name, error.reason)
        }
    }
}
