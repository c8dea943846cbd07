/// What the audit of one run's folder came to.
package struct RunAudit: Hashable, Sendable {
    /// The folder below the report folder, or its name where it is audited alone.
    package var folder: String
    package var runID: String
    /// SHA-256 of `manifest.json`; `nil` when there is none to read.
    package var manifestDigest: String?
    /// What the manifest states as the newest hash of the ledger.
    package var ledgerHead: String?
    package var findings = 0
    package var corrections = 0
    /// Corrections whose evidence was verified again and says what was written.
    package var reverifiedCorrections = 0
    /// Corrections of which a payload was erased since: nothing is left to verify them against.
    package var onErased = 0
    /// Payloads of which only a tombstone is left.
    package var tombstones = 0
    /// Corrections that take an earlier one back: checked against that one, not against Apple.
    package var undone = 0
    /// Roots that evidence led to.
    package var roots: Set<EvidenceRoot> = []
    package var problems = ProblemList()
    /// What cannot be checked or should be known, but is no sign of tampering.
    package var notes: [String] = []

    init(folder: String, runID: String) {
        self.folder = folder
        self.runID = runID
    }
}

/// A root certificate that evidence led to.
package struct EvidenceRoot: Hashable, Comparable, Sendable {
    /// SHA-256 of its DER form in lowercase hexadecimal.
    package var fingerprint: String
    package var isApple: Bool

    package static func < (left: EvidenceRoot, right: EvidenceRoot) -> Bool {
        left.fingerprint < right.fingerprint
    }
}

/// What the audit of a run's folder or of a whole report folder came to.
///
/// The runs themselves are handed out one by one while the audit goes on.
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
    /// What is wrong with the chain from run to run, the index and the link to the newest run.
    package var problems = ProblemList()
    package var notes: [String] = []
    /// Breaks of the ledger that were declared.
    package var breaks: [DeclaredBreak] = []
    /// Entries of the ledger in the database that were held against the reports; `nil` where none
    /// was to be.
    package var ledgerEntries: Int?
    /// Decisions about findings in the database that were checked; `nil` where none were to be.
    package var decisions: Int?
    /// Problems of the runs and of the chain together.
    package var problemCount = 0
    /// The newest run of the chain.
    package var newest: RunAudit?

    package var isIntact: Bool { problemCount == 0 }

    init(isWholeFolder: Bool) {
        self.isWholeFolder = isWholeFolder
    }

    mutating func take(_ ledger: LedgerCheck.Outcome) {
        ledgerEntries = ledger.entries
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
    }
}
