/// The part of a run's summary that only the run itself knows; the rest is counted from its rows.
package struct RunConclusion: Hashable, Sendable {
    package var ended: Timestamp
    /// Every status that applies; the decisive one becomes the exit status.
    package var statuses: [ExitStatus]
    /// Sentences for the person on call: why it stopped, what was not changed, what to do next.
    package var messages: [String]
    /// The limits that were reached, by name (`max_duration`, `guard max_changes`, `quota` …).
    package var limits: [String]
    package var calls: [CallCount]
    /// Whether the checkpoint is over; otherwise the next run of the job continues it.
    package var closesPass: Bool
    /// Whether the run stopped early, so that the rows it did not reach count as undecided.
    package var settlesUnreached: Bool
    /// The reason why rows that the run did not reach are undecided: `deadline`, or `unavailable`
    /// where Apple no longer answered.
    package var unreachedReason = UndecidedReason.deadline
    /// Apps about which Apple refused to answer: their unreached rows are `unavailable`, whatever
    /// ended the run.
    package var refusedApps: Set<AppIdentity> = []
    /// Whether a full scan over every row has come to its end with this run.
    ///
    /// Then no row is left to be checked, even if the run was stopped afterwards; the next run
    /// looks at every row again.
    package var endsRound: Bool
    /// The size of the table, with which the next run compares its own.
    ///
    /// `nil` when the run ended before its guards or looks at none, or a guard objected to the size.
    package var acceptedTableRows: Int?
    /// The questions, their reasons, and what was left; `nil` for runs that check no rows
    /// themselves.
    package var coverage: RunCoverage?
    /// The causes of the findings, the most frequent first; empty when none were searched for.
    package var causes: [CauseCluster] = []
    /// How hard Apple was asked; `nil` where it was not measured.
    package var effort: CallEffort?
    /// The pauses for the company's database; `nil` where no limit is set.
    package var databasePauses: DatabasePauses?

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
        endsRound = closesPass && !settlesUnreached
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
    /// Corrections of this checkpoint by fate; `applied` includes those of a killed run before.
    package var corrections: [CorrectionFate: Int]
    /// Those of them that fix no finding, of the fates applied and planned.
    package var fills: [CorrectionFate: FillCounts] = [:]
    /// Corrections of this checkpoint that another run's report lists: what a run had written that
    /// did not end the checkpoint.
    package var reportedBefore = 0
    /// Hash of the newest ledger entry; 64 zeros when the ledger is empty.
    package var ledgerHead: String
    /// The size of the evidence that this run added.
    package var evidence: EvidenceCost
    /// The plan that the run made or applied; `nil` for runs of versions without plan identities.
    package var plan: PlanSeal?
    /// The run that this one reverted.
    package var undoOf: String?
    /// Guards that were lifted for this run, by name.
    package var liftedGuards: [GuardLift] = []
    /// Findings that a person has acknowledged.
    package var acknowledged: [AcknowledgedFinding] = []
    /// The counts of Apple's notifications up to this run.
    package var business = BusinessRecord()
    /// `nil` for partial runs, and for those of versions that did not count them.
    package var control: ControlTotals?
    /// `nil` for runs of versions that did not measure them.
    package var measures: RunMeasures?

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

/// The size of the evidence that a run added.
package struct EvidenceCost: Hashable, Sendable {
    /// How many signed statements, including those inside notifications.
    package var statements: Int
    /// Their size as Apple sent them.
    package var receivedBytes: Int64
    /// Their size in the database, with digest and index, without free space in its pages.
    package var storedBytes: Int64

    package init(statements: Int = 0, receivedBytes: Int64 = 0, storedBytes: Int64 = 0) {
        self.statements = statements
        self.receivedBytes = receivedBytes
        self.storedBytes = storedBytes
    }
}

/// Corrections that fix no finding.
package struct FillCounts: Hashable, Sendable {
    /// Rows and periods of which only empty columns are filled.
    package var filled = 0
    /// Periods that were taken in with the first fill of their subscription.
    package var periods = 0

    package init(filled: Int = 0, periods: Int = 0) {
        self.filled = filled
        self.periods = periods
    }

    package var all: Int { filled + periods }
}

/// The words by which a run's messages say that a reading at Apple fell short, and by which the
/// first line of its summary finds them.
package enum IncompleteReading {
    /// One history of notifications.
    package static let notToItsEnd = "was not read to its end"
    /// Histories of customers.
    package static let notToTheirEnd = "histories were not read to their end"
    /// Entries of a history whose certificates no responder vouched for.
    package static let undetermined = "entries of the notification history of"
    /// Longer ago than Apple keeps it.
    package static let tooLate = "longer ago than Apple keeps it"

    /// Returns what was not read, as a clause.
    ///
    /// - Parameter messages: Those of the run, in the order of importance.
    /// - Returns: The first sentence that says so; `nil` where none does.
    package static func clause(among messages: [String]) -> String? {
        for message in messages {
            let sentence =
                message.firstRange(of: ". ").map { message[..<$0.lowerBound] }
                ?? message[...]
            guard
                [notToItsEnd, notToTheirEnd, undetermined, tooLate].contains(where: {
                    sentence.firstRange(of: $0) != nil
                })
            else { continue }
            let text = sentence.hasSuffix(".") ? sentence.dropLast() : sentence
            return text.hasPrefix("The ") ? "the " + text.dropFirst(4) : String(text)
        }
        return nil
    }
}
