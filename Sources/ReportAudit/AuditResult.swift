/// The result of auditing one run's folder.
package struct RunAudit: Hashable, Sendable {
    /// The folder's path below the report folder, or its name where it is audited alone.
    package var folder: String
    package var runID: String
    /// SHA-256 of `manifest.json`; `nil` when there is none to read.
    package var manifestDigest: String?
    /// The newest hash of the ledger, as the manifest states it.
    package var ledgerHead: String?
    package var findings = 0
    package var corrections = 0
    /// Corrections whose evidence was verified again and states the written values.
    package var reverifiedCorrections = 0
    /// Corrections whose evidence was erased, so that they cannot be verified.
    package var onErased = 0
    /// Erased payloads.
    package var tombstones = 0
    /// Corrections that revert an earlier one: compared with that one, not with Apple.
    package var undone = 0
    /// The roots of the verified evidence.
    package var roots: Set<EvidenceRoot> = []
    package var problems = ProblemList()
    /// Remarks that are no sign of tampering, such as what could not be checked.
    package var notes: [String] = []

    /// Whether nothing is wrong but that all evidence leads to a root which only the report names:
    /// a rehearsal's, as long as nobody vouches for that root.
    package var isUnproven: Bool {
        !problems.isEmpty && problems.unknownRoots == problems.count && roots.isEmpty
    }

    init(folder: String, runID: String) {
        self.folder = folder
        self.runID = runID
    }
}

/// The root certificate of some evidence.
package struct EvidenceRoot: Hashable, Comparable, Sendable {
    /// SHA-256 of its DER form in lowercase hexadecimal.
    package var fingerprint: String
    package var isApple: Bool

    package static func < (left: EvidenceRoot, right: EvidenceRoot) -> Bool {
        left.fingerprint < right.fingerprint
    }
}

/// The result of auditing a run's folder or a whole report folder.
///
/// The runs themselves are returned one by one during the audit.
package struct AuditResult: Hashable, Sendable {
    /// Whether a whole report folder was audited, with the chain from run to run.
    package var isWholeFolder: Bool
    package var runs = 0
    package var findings = 0
    package var corrections = 0
    package var reverifiedCorrections = 0
    package var onErased = 0
    package var tombstones = 0
    package var roots: Set<EvidenceRoot> = []
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
    /// The number of problems of the runs and of the chain together.
    package var problemCount = 0
    /// The newest run of the chain.
    package var newest: RunAudit?

    package var isIntact: Bool { problemCount == 0 }

    /// How many of the problems are about a root that only the reports vouch for.
    package private(set) var unknownRootCount = 0

    /// Whether nothing is wrong but that all evidence leads to a root which only the reports name.
    ///
    /// Beside evidence under a trusted root, such a root is a sign of tampering.
    package var isUnproven: Bool {
        !isIntact && unknownRootCount == problemCount && roots.isEmpty
    }

    init(isWholeFolder: Bool) {
        self.isWholeFolder = isWholeFolder
    }

    mutating func take(_ ledger: LedgerCheck.Outcome) {
        ledgerEntries = ledger.entries
        notes += ledger.notes
        for problem in ledger.problems { add(problem) }
    }

    mutating func take(_ decisions: DecisionCheck.Outcome) {
        self.decisions = decisions.decisions
        for problem in decisions.problems { add(problem) }
    }

    mutating func take(_ run: RunAudit) {
        runs += 1
        findings += run.findings
        corrections += run.corrections
        reverifiedCorrections += run.reverifiedCorrections
        onErased += run.onErased
        tombstones += run.tombstones
        roots.formUnion(run.roots)
        problemCount += run.problems.count
        unknownRootCount += run.problems.unknownRoots
    }
}
