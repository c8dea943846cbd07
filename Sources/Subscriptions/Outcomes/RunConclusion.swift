/// What a run says of itself when it ends; the rest of the summary is counted from what it staged.
package struct RunConclusion: Hashable, Sendable {
    package var ended: Timestamp
    /// Everything that holds; the decisive one is the exit status.
    package var statuses: [ExitStatus]
    /// Sentences for the person on call: why it stopped, what was not changed, what to do next.
    package var messages: [String]
    /// Limits that were reached (`max_duration`, `guard max_changes`, `quota` …), by name.
    package var limits: [String]
    package var calls: [CallCount]
    /// Whether the pass is over; otherwise the next run of the job continues it.
    package var closesPass: Bool
    /// Whether rows that the job meant to judge and did not reach count as undecided (`deadline`):
    /// the asking ended early.
    package var settlesUnreached: Bool
    /// The table's rows, with which the next run's are compared; `nil` when the run did not get to
    /// its guards, or did not accept what it saw.
    package var acceptedTableRows: Int?
    /// Why the findings came about, the commonest cause first; empty where nobody looked.
    package var causes: [CauseCluster] = []

    package init(
        ended: Timestamp, statuses: [ExitStatus], messages: [String], limits: [String],
        calls: [CallCount], closesPass: Bool, settlesUnreached: Bool = false
    ) {
        self.ended = ended
        self.statuses = statuses
        self.messages = messages
        self.limits = limits
        self.calls = calls
        self.closesPass = closesPass
        self.settlesUnreached = settlesUnreached
    }

    package var exitStatus: ExitStatus { .decisive(of: statuses) }
}

/// Everything that `summary.json` and `summary.txt` state.
package struct RunSummary: Hashable, Sendable {
    package var header: RunHeader
    package var conclusion: RunConclusion
    package var resumedFrom: String?
    package var totals: RunTotals
    package var findings: [FindingCount]
    package var money: [MoneyTotal]
    /// Corrections of this pass by fate; `applied` includes those of a killed run before.
    package var corrections: [CorrectionFate: Int]
    /// Hash of the newest ledger entry; 64 zeros when the ledger is empty.
    package var ledgerHead: String
    /// What the evidence that this run added takes.
    package var evidence: EvidenceCost
    /// The plan that the run made or applied; `nil` of runs before plans had an identity.
    package var plan: PlanSeal?
    /// The run that this one took back.
    package var undoOf: String?
    /// Guards that were lifted for this run, by name.
    package var liftedGuards: [GuardLift] = []
    /// Findings that somebody has said are known.
    package var acknowledged: [AcknowledgedFinding] = []

    package init(
        header: RunHeader, conclusion: RunConclusion, resumedFrom: String?, totals: RunTotals,
        findings: [FindingCount], money: [MoneyTotal], corrections: [CorrectionFate: Int],
        ledgerHead: String, evidence: EvidenceCost = EvidenceCost()
    ) {
        self.header = header
        self.conclusion = conclusion
        self.resumedFrom = resumedFrom
        self.totals = totals
        self.findings = findings
        self.money = money
        self.corrections = corrections
        self.ledgerHead = ledgerHead
        self.evidence = evidence
    }
}
