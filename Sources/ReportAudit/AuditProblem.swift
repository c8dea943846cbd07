/// One thing that is wrong with a report: where it stands and what does not hold.
package struct AuditProblem: Hashable, Sendable, CustomStringConvertible {
    /// The run's folder below the report folder; `nil` for what concerns the report folder itself.
    package var run: String?
    /// The file inside that folder.
    package var file: String?
    /// Counted from 1, as editors do.
    package var line: Int?
    /// The entry of the ledger that is concerned.
    package var ledgerEntry: Int64?
    /// What does not hold, in one sentence without a full stop.
    package var text: String

    package init(
        run: String? = nil, file: String? = nil, line: Int? = nil, ledgerEntry: Int64? = nil,
        text: String
    ) {
        self.run = run
        self.file = file
        self.line = line
        self.ledgerEntry = ledgerEntry
        self.text = text
    }

    /// For example `2026-11-21/20261121T…/corrections.jsonl:3 (ledger entry 12): …`.
    package var description: String {
        var place = [run, file].compactMap(\.self).joined(separator: "/")
        if let line { place += ":\(line)" }
        if let ledgerEntry { place += " (ledger entry \(ledgerEntry))" }
        return place.isEmpty ? text : place + ": " + text
    }
}

/// Problems as they are found, kept up to a limit and counted beyond it.
package struct ProblemList: Hashable, Sendable {
    /// A report in ruins must neither fill the memory nor the screen.
    package static let kept = 100

    package private(set) var problems: [AuditProblem] = []
    /// Found beyond those that are kept.
    package private(set) var omitted = 0

    package var isEmpty: Bool { problems.isEmpty }

    package var count: Int { problems.count + omitted }

    mutating func append(_ problem: AuditProblem) {
        if problems.count < Self.kept {
            problems.append(problem)
        } else {
            omitted += 1
        }
    }
}
