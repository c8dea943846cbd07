import Subscriptions

/// What happened, in one sentence with the exit status.
struct Headline {
    let text: String
    let ink: Ink

    init(_ summary: RunSummary) {
        let status = summary.conclusion.exitStatus
        let facts = Facts(summary)
        text =
            "\(Self.opening(status)) (exit status \(status.code)): \(facts.clauses(for: status))."
        ink =
            switch status {
            case .ok: .good
            case .findings, .incomplete, .empty, .stale, .interrupted, .terminated, .busy: .notable
            default: .alarming
            }
    }

    private static func opening(_ status: ExitStatus) -> String {
        switch status {
        case .ok: "OK"
        case .findings: "Findings remain"
        case .incomplete: "Incomplete"
        case .empty: "Nothing in scope"
        case .guarded: "Stopped by a guard"
        case .stale: "Stale plan"
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
private struct Facts {
    let totals: RunTotals
    let findings: Int
    let applied: Int
    let planned: Int
    let isCheck: Bool
    let meaning: String

    init(_ summary: RunSummary) {
        totals = summary.totals
        findings = summary.findings.reduce(0) { $0 + $1.findings }
        applied = summary.corrections[.applied] ?? 0
        planned = summary.corrections[.planned] ?? 0
        isCheck = summary.header.mode == .check
        meaning = summary.conclusion.exitStatus.meaning
    }

    func clauses(for status: ExitStatus) -> String {
        var parts: [String]
        switch status {
        case .ok, .findings: parts = [difference, corrections] + notJudged
        case .incomplete: parts = notJudged + [difference, corrections]
        case .empty: parts = ["no row was asked about"]
        case .guarded:
            parts = [
                "none of the \(planned.of("planned correction")) was written", difference,
            ]
        case .interrupted, .terminated:
            parts = notJudged + [corrections, "the next run goes on from here"]
        default: parts = [meaning] + notJudged + [corrections]
        }
        if parts.allSatisfy(\.isEmpty) { parts = [meaning] }
        return parts.filter { !$0.isEmpty }.joined(separator: "; ")
    }

    private var difference: String {
        guard totals.inScope > 0 else { return findings > 0 ? findings.of("finding") : "" }
        if totals.discrepant > 0 {
            let verb = totals.discrepant == 1 ? "differs" : "differ"
            return "\(totals.discrepant.grouped) of \(totals.inScope.of("row")) \(verb) from Apple"
        }
        let beside = findings > 0 ? ", beside \(findings.of("finding"))" : ""
        guard totals.matched < totals.inScope else {
            return "all \(totals.inScope.of("row")) agree with Apple\(beside)"
        }
        return "no row of \(totals.inScope.grouped) differs from Apple\(beside)"
    }

    private var corrections: String {
        var parts: [String] = []
        if applied > 0 { parts.append("\(applied.of("correction")) written") }
        if planned > 0 {
            parts.append(
                isCheck
                    ? "\(planned.of("correction")) planned, none written (check)"
                    : "\(planned.of("correction")) planned but not written")
        }
        return parts.joined(separator: "; ")
    }

    private var notJudged: [String] {
        let undecided = totals.undecidedCount
        return undecided == 0
            ? [] : ["\(undecided.grouped) of \(totals.inScope.of("row")) not judged"]
    }
}
