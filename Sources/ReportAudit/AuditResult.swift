/// The result of auditing one run's folder.
package struct RunAudit: Hashable, Sendable {
    /// The folder's path below the report folder, or its name where it is audited alone.
    package var folder: String
    package var runID: String
    /// SHA-256 of `manifest.json`; `nil` when there is none to read.
    package var manifestDigest: String?
    /// The newest hash of the ledger, as the manifest states it.
    package var ledgerHead: String?
    package var counts = AuditCounts()
    /// Corrections that revert an earlier one: compared with that one, not with Apple.
    package var undone = 0
    /// Remarks that are not a sign of tampering, such as what could not be checked.
    package var notes: [String] = []
}

/// The counts and problems of one run, or of a whole audit.
package struct AuditCounts: Hashable, Sendable {
    package var findings = 0
    package var corrections = 0
    /// Corrections whose evidence was verified again and states the written values.
    package var reverifiedCorrections = 0
    /// Corrections whose evidence was erased, so that they cannot be verified.
    package var onErased = 0
    /// Erased payloads.
    package var tombstones = 0
    /// The roots of the verified evidence: SHA-256 of their DER form in lowercase hexadecimal.
    package var roots: Set<String> = []
    package var problems = ProblemList()

    package var isIntact: Bool { problems.isEmpty }

    /// Whether nothing is wrong but that all evidence leads to a root which only the reports name:
    /// a rehearsal's, as long as neither settings nor an option name that root.
    ///
    /// Next to evidence under a trusted root, such a root is a sign of tampering.
    package var isUnproven: Bool {
        !isIntact && problems.unknownRoots == problems.count && roots.isEmpty
    }

    mutating func add(_ other: AuditCounts) {
        findings += other.findings
        corrections += other.corrections
        reverifiedCorrections += other.reverifiedCorrections
        onErased += other.onErased
        tombstones += other.tombstones
        roots.formUnion(other.roots)
        problems.append(other.problems)
    }
}

/// The result of auditing a run's folder or a whole report folder.
///
/// The runs themselves are returned one by one during the audit.
package struct AuditResult: Hashable, Sendable {
    /// Whether a whole report folder was audited, with the chain from run to run.
    package var isWholeFolder: Bool
    package var runs = 0
    /// The counts and problems of the runs, with the problems below.
    package var counts = AuditCounts()
    /// Problems of the chain from run to run, of the index and of the link to the newest run.
    package var problems = ProblemList()
    package var notes: [String] = []
    /// Declared breaks of the ledger.
    package var breaks: [DeclaredBreak] = []
    /// How many ledger entries of the database were compared with the reports; `nil` when that was
    /// not requested.
    package var ledgerEntries: Int?
    /// How many decisions of the database were checked; `nil` when that was not requested.
    package var decisions: Int?
    /// The newest run of the chain.
    package var newest: RunAudit?

    mutating func take(_ run: RunAudit) {
        runs += 1
        counts.add(run.counts)
    }
}

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
    /// The problem, in one sentence without a full stop.
    package var text: String
    /// Whether everything holds, but under a root that only the report itself vouches for.
    var isUnknownRoot = false

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
        if problem.isUnknownRoot { unknownRoots += 1 }
        if problems.count < Self.kept {
            problems.append(problem)
        } else {
            omitted += 1
        }
    }

    /// Appends what another part of the same audit found.
    mutating func append(_ other: ProblemList) {
        for problem in other.problems { append(problem) }
        let named = other.problems.count(where: \.isUnknownRoot)
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
        _ file: String?, line: Int? = nil, entry: Int64? = nil, isUnknownRoot: Bool = false,
        _ text: String
    ) {
        list.append(
            AuditProblem(
                run: folder, file: file, line: line, ledgerEntry: entry, text: text,
                isUnknownRoot: isUnknownRoot))
    }

    func add(_ other: ProblemList) { list.append(other) }

    /// Runs a check of a file; that the file cannot be read is a problem.
    func reading(_ file: String, _ check: () throws(UnreadableFile) -> Void) {
        do throws(UnreadableFile) { try check() } catch { add(file, error.reason) }
    }

    /// Runs a check of a file that also verifies evidence.
    func reading(_ file: String, _ check: () async throws(UnreadableFile) -> Void) async {
        do throws(UnreadableFile) { try await check() } catch { add(file, error.reason) }
    }

    /// Whether a record names this run; `true` when the manifest cannot be read.
    func isOfRun(_ record: JSONRecord, _ member: String = "run_id") -> Bool {
        manifest.map { $0.runID.isSame(as: record.text(member)) } ?? true
    }
}
