/// One problem of a report: where it is and what is wrong.
package struct AuditProblem: Hashable, Sendable, CustomStringConvertible {
    /// The run's folder below the report folder; `nil` for what concerns the report folder itself.
    package var run: String?
    /// The file inside that folder.
    package var file: String?
    /// Counted from 1.
    package var line: Int?
    /// The ledger entry that is concerned.
    package var ledgerEntry: Int64?
    /// What is wrong, in one sentence without a full stop.
    package var text: String
    package var kind: Kind

    package enum Kind: Hashable, Sendable {
        /// Something is not as it was written, or does not hold.
        case tampering
        /// Everything holds, but under a root that nobody but the report itself vouches for.
        case unknownRoot
    }

    package init(
        run: String? = nil, file: String? = nil, line: Int? = nil, ledgerEntry: Int64? = nil,
        text: String, kind: Kind = .tampering
    ) {
        self.run = run
        self.file = file
        self.line = line
        self.ledgerEntry = ledgerEntry
        self.text = text
        self.kind = kind
    }

    /// For example `2026-11-21/20261121T…/corrections.jsonl:3 (ledger entry 12): …`.
    package var description: String {
        var place = [run, file].compactMap(\.self).joined(separator: "/")
        if let line { place += ":\(line)" }
        if let ledgerEntry { place += " (ledger entry \(ledgerEntry))" }
        return place.isEmpty ? text : place + ": " + text
    }
}

/// Problems in the order in which they are found, kept up to a limit and counted beyond it.
package struct ProblemList: Hashable, Sendable {
    /// A badly damaged report must fill neither the memory nor the screen.
    package static let kept = 100

    package private(set) var problems: [AuditProblem] = []
    /// How many problems were found beyond the kept ones.
    package private(set) var omitted = 0
    /// How many of all are about a root that only the report vouches for.
    package private(set) var unknownRoots = 0

    package var isEmpty: Bool { problems.isEmpty }

    package var count: Int { problems.count + omitted }

    mutating func append(_ problem: AuditProblem) {
        if problem.kind == .unknownRoot { unknownRoots += 1 }
        if problems.count < Self.kept {
            problems.append(problem)
        } else {
            omitted += 1
        }
    }

    /// Appends what another part of the same audit found.
    mutating func append(_ other: ProblemList) {
        for problem in other.problems { append(problem) }
        let named = other.problems.count { $0.kind == .unknownRoot }
        unknownRoots += other.unknownRoots - named
        omitted += other.omitted
    }
}

/// Collects the problems of one run.
final class RunProblems {
    private let folder: String
    /// `nil` when the manifest cannot be read.
    private let manifest: ManifestRecord?
    private(set) var list = ProblemList()

    init(folder: String, manifest: ManifestRecord?) {
        self.folder = folder
        self.manifest = manifest
    }

    var count: Int { list.count }

    func add(
        _ file: String?, line: Int? = nil, entry: Int64? = nil,
        kind: AuditProblem.Kind = .tampering, _ text: String
    ) {
        list.append(
            AuditProblem(
                run: folder, file: file, line: line, ledgerEntry: entry, text: text, kind: kind))
    }

    func add(_ other: ProblemList) { list.append(other) }

    /// Whether a record names this run; `true` when the manifest cannot be read.
    func isOfRun(_ record: JSONRecord, _ member: String = "run_id") -> Bool {
        manifest.map { $0.runID.isSame(as: record.text(member)) } ?? true
    }
}
