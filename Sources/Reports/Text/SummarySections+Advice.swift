import Subscriptions

extension SummarySections {
    /// From how many purchases on that are not in the table it is likely that the table holds only a part
    /// of them, and from which share of the judged rows.
    private static let partialTable = (findings: 5, share: 0.05)

    /// What to do where many purchases of known customers are not in the table; `nil` where they are
    /// few.
    static func importAdvice(_ summary: RunSummary) -> String? {
        let missing = summary.findings.filter {
            $0.kind == .missingLocally && $0.state != .corrected && $0.state != .acknowledged
        }.reduce(0) { $0 + $1.findings }
        let judged = summary.totals.matched + summary.totals.discrepant
        guard missing >= partialTable.findings,
            Double(missing) >= Double(judged) * partialTable.share
        else { return nil }
        return
            "\(missing.of("purchase")) of your customers \(missing == 1 ? "is" : "are") not in the "
            + "table (missing_locally). If the table holds only a part of your subscriptions, import "
            + "the rest first: `trueup import FILE`. One cause explains all of them then; do not work "
            + "through them one by one. If the table is meant to be whole, a run that writes inserts "
            + "them."
    }

    /// What to do about the exit status.
    ///
    /// A run is incomplete for several reasons, and only rows that were undecided are asked again by
    /// themselves.
    static func advice(_ summary: RunSummary) -> [String] {
        let status = summary.conclusion.exitStatus
        // An empty table does not make what Apple's history shows of it any less.
        if status == .empty, summary.conclusion.statuses.contains(.findings) {
            return [status, .findings].compactMap(\.advice)
        }
        guard status == .incomplete else { return [status.advice].compactMap(\.self) }
        let totals = summary.totals
        var sentences: [String] = []
        if totals.undecidedCount > 0 {
            sentences.append(
                "Run the job again: rows that were not judged are asked again. undecided.csv names "
                    + "them.")
        }
        if let strangers = totals.excluded[.appNotConfigured], strangers > 0 {
            let (they, their) = strangers == 1 ? ("it", "its") : ("they", "their")
            sentences.append(
                "\(strangers.of("row")) \(strangers == 1 ? "belongs" : "belong") to no configured "
                    + "app, and no run will ask about \(strangers == 1 ? "it" : "them"): add \(their) "
                    + "app (bundle_id and environment) to apps in the settings, or correct these "
                    + "columns where \(they) \(strangers == 1 ? "names" : "name") the wrong one. The "
                    + "job stays incomplete until then.")
        }
        return sentences.isEmpty ? [status.advice].compactMap(\.self) : sentences
    }
}

extension RunSummary {
    /// What is known of the ids where the list of those that Apple does not find is empty.
    var answersAboutIDs: String {
        let questions = conclusion.calls.filter {
            $0.endpoint != "notification_history" && $0.calls > 0
        }
        guard !questions.isEmpty else { return "Apple was asked about no id." }
        guard questions.contains(where: { ["ok", "not_found"].contains($0.result) }) else {
            return "Not one question about an id was answered, so nothing is known of them."
        }
        return "Apple found every id that it answered about."
    }
}
