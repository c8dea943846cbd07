import Subscriptions

/// The result of a run in one sentence with the exit status.
struct Headline {
    private let summary: RunSummary

    init(_ summary: RunSummary) { self.summary = summary }

    private var status: ExitStatus { summary.conclusion.exitStatus }

    var text: String { "\(opening) (exit status \(status.code)): \(clauses)." }

    var ink: Ink {
        switch status {
        case .ok: .good
        case .findings, .incomplete, .empty, .stale, .hungUp, .interrupted, .terminated, .busy:
            .notable
        default: .alarming
        }
    }

    private var opening: String {
        switch status {
        case .ok: "OK"
        case .findings: "Findings remain"
        case .incomplete: "Incomplete"
        case .empty: "Nothing in scope"
        case .guarded: "Stopped by a guard"
        case .stale: "Stale"
        case .hungUp: "Stopped by SIGHUP"
        case .interrupted: "Stopped by SIGINT"
        case .terminated: "Stopped by SIGTERM"
        case .denied: "Denied by Apple"
        case .protocol: "Stopped: Apple's answers cannot be trusted"
        case .unavailable: "Unavailable"
        case .busy: "Busy"
        case .internal: "Internal fault"
        case .config: "Settings are wrong"
        case .output, .cannotCreate: "Output failed"
        case .usage, .data, .tampered, .failure: "Failed"
        }
    }
}

/// The numbers of a summary as clauses.
extension Headline {
    private var totals: RunTotals { summary.totals }
    private var purchases: PurchaseTotals? { summary.measures?.purchases }
    private var applied: Int { summary.corrections[.applied] ?? 0 }
    private var planned: Int { summary.corrections[.planned] ?? 0 }
    /// Corrections of the same checkpoint that another run's report lists.
    private var reportedBefore: Int { summary.reportedBefore }
    private var meaning: String { summary.meaning(of: status) }
    private var isUndo: Bool { summary.undoOf != nil }

    private var judgesNothing: Bool { summary.judgesNothing }

    /// The guards that stopped the run, by name.
    private var guards: String {
        let mark = "guard "
        return summary.conclusion.limits.filter { $0.hasPrefix(mark) }
            .map { String($0.dropFirst(mark.count)) }.joined(separator: ", ")
    }

    private var clauses: String {
        let parts: [String]
        switch status {
        case .ok, .stale, .incomplete:
            if judgesNothing { return work }
        default: break
        }
        if totals.excludedCount > 0, totals.judged == 0, !judgesNothing {
            return nothingJudged
        }
        switch status {
        case .ok, .findings:
            parts = [
                rows([differing, notJudged, unconfigured]), ofPurchases, corrections, standing,
                known,
            ]
        case .incomplete:
            // The reason comes first: rows that were not checked, or else what was not read.
            let unread = IncompleteReading.clause(among: summary.conclusion.messages) ?? ""
            let counted = rows([notJudged, unconfigured, differing])
            let isOfRows = notJudged.rows > 0 || unconfigured.rows > 0
            parts =
                (isOfRows ? [counted, unread] : [unread, counted])
                + [ofPurchases, corrections, standing, known]
        case .empty:
            // What the notification history shows of subscriptions that no row has.
            parts = ["no row was checked", ofPurchases, corrections, standing, known]
        case .guarded: parts = [guards, written]
        case .hungUp, .interrupted, .terminated:
            parts = [rows([notJudged]), corrections, resumption]
        default: parts = [meaning, rows([notJudged]), corrections]
        }
        let said = parts.filter { !$0.isEmpty }
        return said.isEmpty ? meaning : said.joined(separator: "; ")
    }

    /// Every row was excluded, or could not be checked.
    private var nothingJudged: String {
        let excluded = [ExclusionReason.appNotConfigured, .inFlight, .seatMember]
            .compactMap { reason in
                totals.excluded[reason].map { "\($0.grouped) \(reason.inWords)" }
            }
        let undecided =
            totals.undecidedCount > 0 ? ["\(totals.undecidedCount.grouped) undecided"] : []
        let rows =
            "0 of \(totals.inScope.of("row")) checked: "
            + (excluded + undecided).joined(separator: ", ")
        let first = status == .guarded ? [guards] : status == .incomplete ? [] : [meaning]
        return (first + [rows, ofPurchases, corrections]).filter { !$0.isEmpty }.joined(
            separator: "; ")
    }

    /// For `apply` and `undo`: what became of the other run's plan or corrections.
    private var work: String {
        let written =
            isUndo
            ? "\(applied.of("correction")) reverted"
            : "\(parts(applied, .applied) ?? applied.of("correction")) written"
        let left = [CorrectionFate.stale, .rejected, .unproven, .heldBack].reduce(0) {
            $0 + (summary.corrections[$1] ?? 0)
        }
        return left > 0
            ? written + ", \(left.of("row")) not changed"
            : written
    }

    /// A later run begins again, with what is pending.
    private var resumption: String {
        "a run of the job within \(OpenPass.usualHours) hours resumes here"
    }

    /// A canary stops a run after its first corrections; the other guards stop it before any.
    private var written: String {
        guard applied == 0 else { return corrections }
        return planned == 0
            ? "nothing was planned or written"
            : summary.fills[.planned] == nil
                ? "none of the \(planned.of("planned correction")) was written"
                : "nothing of the plan was written: " + (parts(planned, .planned) ?? "")
    }

    /// Corrections and what only fills, each by itself; `nil` for none.
    private func parts(_ all: Int, _ fate: CorrectionFate) -> String? {
        let beside = summary.fills[fate] ?? FillCounts()
        let counts = [
            (all - beside.all, "correction"), (beside.filled, "fill"),
            (beside.periods, "new period"),
        ].filter { $0.0 > 0 }.map { $0.of($1) }
        guard let last = counts.last else { return nil }
        return counts.count == 1 ? last : counts.dropLast().joined(separator: ", ") + " and " + last
    }

    /// Says how many rows there are in all with the first number only.
    private func rows(_ counts: [(rows: Int, what: String)]) -> String {
        let held = counts.filter { $0.rows > 0 }
        guard let first = held.first else { return agreement }
        let others = held.dropFirst().map { "\($0.rows.grouped) \($0.what)" }
        let opening = "\(first.rows.grouped) of \(totals.inScope.of("row")) \(first.what)"
        return ([opening] + others).joined(separator: ", ")
    }

    /// Says nothing of purchases that no one asked about, next to rows that were checked.
    private var ofPurchases: String {
        guard let purchases, purchases.checked > 0 || purchases.missing > 0 || totals.inScope == 0
        else { return "" }
        let stored = purchases.stored.of("one-time purchase")
        var parts: [String] = []
        if purchases.discrepant > 0 {
            let isPast = status == .ok && purchases.corrected == purchases.discrepant
            let verb = isPast ? "differed" : purchases.discrepant == 1 ? "differs" : "differ"
            parts.append("\(purchases.discrepant.grouped) of \(stored) \(verb)")
            if purchases.corrected > 0, !isPast {
                parts.append("\(purchases.corrected.grouped) corrected")
            }
        } else if purchases.matched == purchases.stored, purchases.stored > 0 {
            parts.append("all \(stored) agree with Apple")
        } else if purchases.checked > 0 {
            parts.append("\(purchases.checked.grouped) of \(stored) checked, none differs")
        } else {
            parts.append("none of \(stored) was checked")
        }
        if purchases.discrepant > 0, purchases.notChecked > 0 {
            parts.append("\(purchases.notChecked.grouped) not checked")
        }
        if purchases.undecided > 0 { parts.append("\(purchases.undecided.grouped) undecided") }
        if purchases.missing > 0 { parts.append("\(purchases.missing.grouped) missing") }
        return parts.joined(separator: ", ")
    }

    private var standing: String {
        let open = summary.count(of: WorstFindings.openStates)
        let new = summary.count(of: [.new])
        guard open > 0 else { return "" }
        let news =
            switch (open, new) {
            case (1, 0): "not new"
            case (1, _): "new"
            case (_, 0): "none new"
            case (_, open): "all new"
            default: "\(new.grouped) new" + critical(among: [.new])
            }
        return "\(open.of("finding")) open\(critical(among: WorstFindings.openStates)), \(news)"
    }

    /// How many findings are critical: they are what a page at night is for.
    private func critical(among states: Set<FindingState>) -> String {
        let findings = summary.count { $0.severity == .critical && states.contains($0.state) }
        return findings > 0 ? " (\(findings.grouped) critical)" : ""
    }

    private var known: String {
        let acknowledged = summary.count(of: [.acknowledged])
        return acknowledged > 0 ? "\(acknowledged.of("finding")) acknowledged" : ""
    }

    private var differing: (rows: Int, what: String) {
        // After a run that fixed everything the difference is past.
        if status == .ok && applied + reportedBefore > 0 { return (totals.discrepant, "differed") }
        return (totals.discrepant, totals.discrepant == 1 ? "differs" : "differ")
    }

    private var notJudged: (rows: Int, what: String) { (totals.undecidedCount, "not checked") }

    /// Rows that no one asked to leave out; they alone make a run incomplete.
    private var unconfigured: (rows: Int, what: String) {
        let rows = totals.excluded[.appNotConfigured] ?? 0
        return (rows, "\(rows == 1 ? "belongs" : "belong") to no configured app")
    }

    private var agreement: String {
        let findings = summary.findingCount
        let beside = findings > 0 ? findings.of("finding") : ""
        guard totals.inScope > 0 && totals.discrepant == 0 && totals.undecidedCount == 0 else {
            return beside
        }
        var rows: String
        let isWhole = totals.judged == totals.inScope
        // What was left out may be wrong for all that is known.
        let judged = totals.judged.grouped + (isWhole ? "" : " judged")
        if applied + planned > 0 {
            // Rows that were not known yet are filled in and count as matched.
            rows = "no row of \(judged) contradicts Apple"
        } else if !isWhole {
            rows = "no row of \(judged) differs"
        } else {
            rows = "all \(totals.inScope.of("row")) agree with Apple"
        }
        if let rest = totals.excluded[.inFlight], rest > 0 {
            rows += "; \(rest.grouped) in flight"
        }
        return rows + (beside.isEmpty ? "" : ", beside " + beside)
    }

    private var corrections: String {
        [
            parts(applied, .applied).map { $0 + " written" },
            reportedBefore > 0
                ? "\(reportedBefore.of("correction")) written and reported by a run before" : nil,
            parts(planned, .planned).map { $0 + " planned, not written" },
        ].compactMap(\.self).joined(separator: "; ")
    }
}

extension RunSummary {
    /// Whether the run worked off a plan, or reverted a run: then nothing was checked by it.
    var judgesNothing: Bool {
        undoOf != nil || plan.map { $0.head.plannedBy != header.runID } ?? false
    }
}

extension ExclusionReason {
    /// Behind a number of rows.
    var inWords: String {
        switch self {
        case .inFlight: "in flight"
        case .appNotConfigured: "of no configured app"
        case .seatMember: "of seat members"
        }
    }
}
