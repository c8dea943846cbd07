import Subscriptions

extension SummarySections {
    /// Why Apple was asked, how many rows nobody had to ask about, and what is left.
    static func coverage(_ summary: RunSummary) -> Section {
        var section = Section(
            title: "QUESTIONS", headings: ["rows", "left", "why"], numbers: [1, 2])
        guard let coverage = summary.conclusion.coverage else { return section }
        for reason in QuestionReason.allCases {
            let (asked, left) = (coverage.asked[reason] ?? 0, coverage.left[reason] ?? 0)
            guard asked > 0 || left > 0 else { continue }
            section.rows.append(
                .init(
                    [reason.rawValue, asked.grouped, left.grouped, reason.meaning],
                    ink: left > 0 ? .notable : .plain))
        }
        func add(_ name: String, _ rows: Int, _ meaning: String) {
            guard rows != 0 else { return }
            section.rows.append(.init([name, rows.grouped, "", meaning]))
        }
        add("beside", coverage.askedBeside ?? 0, "judged by the answer to another row's question")
        add("settled", coverage.settledByNotification, "by a notification that agrees; no call")
        guard let table = coverage.table else {
            if let unasked = coverage.unasked {
                add("not asked", unasked, "there was no reason to ask")
            }
            return section
        }
        let totals = summary.totals
        add("no question", coverage.withoutQuestion(totals), "judged without asking Apple")
        add("excluded", totals.excludedCount, "left out: \"NOT JUDGED\" says why")
        add("not reached", coverage.notReached(totals), "the run ended before")
        add("before", table.judgedBefore, "judged by earlier runs of the same round")
        add(
            "not asked", table.notAsked,
            summary.header.narrowing.isEmpty
                ? "there was no reason to ask" : "no reason to ask, or left out by the narrowing")
        add("inserted", table.inserted, "by this run")
        if table.gone > 0 {
            section.rows.append(
                .init(["gone", "-" + table.gone.grouped, "", "deleted from the table meanwhile"]))
        }
        section.rows.append(
            .init(["table", table.rows.grouped, "", "the sum: rows as the run ended"], isSum: true))
        return section
    }

    /// What the sample says about the rows that nobody asked about.
    static func remainingRisk(_ summary: RunSummary) -> Section {
        var section = Section(title: "REMAINING RISK")
        guard let coverage = summary.conclusion.coverage, let quiet = coverage.quiet else {
            return section
        }
        if let sample = coverage.sample {
            section.sentences.append(
                "With 95 % confidence at most \(sample.bound.grouped) of the "
                    + "\(quiet.grouped) rows that no reason named differ from Apple: of "
                    + "\(sample.drawn.grouped) drawn at random \(sample.outcome). It holds for the "
                    + "moment of the run and for rows that Apple answers about.")
            if let tie = sample.tieOut { section.sentences.append(tie) }
        } else if quiet > 0 {
            section.sentences.append(
                "\((coverage.unasked ?? quiet).of("row")) \(coverage.unasked == 1 ? "was" : "were") not "
                    + "asked about, and no sample says how many of them differ.")
        }
        if let oldest = coverage.oldestCheck {
            section.sentences.append(
                "Apple's oldest word about a row is of \(oldest.readable) UTC.")
        }
        return section
    }
}

extension RunCoverage {
    /// Rows that the run did not reach before it ended.
    func notReached(_ totals: RunTotals) -> Int { totals.undecided[.deadline] ?? 0 }

    /// Rows with a verdict for which Apple was not asked, and no notification spoke.
    func withoutQuestion(_ totals: RunTotals) -> Int {
        totals.inScope - askedRows - settledByNotification - totals.excludedCount
            - notReached(totals)
    }
}

extension RunCoverage.Sample {
    /// How many of the drawn rows the sample itself had to ask about, and what became of the others;
    /// `nil` where all were asked about, or it is not stored.
    fileprivate var tieOut: String? {
        guard let judgedBy, judgedBy.otherQuestion > 0 || judgedBy.notification > 0 else {
            return nil
        }
        var parts = ["\(judgedBy.ownQuestion.grouped) judged by a question of the sample"]
        if judgedBy.otherQuestion > 0 {
            parts.append(
                "\(judgedBy.otherQuestion.grouped) by the answer to another question, as about the "
                    + "same customer")
        }
        if judgedBy.notification > 0 {
            parts.append("\(judgedBy.notification.grouped) by a notification, without a call")
        }
        if let notJudged, notJudged > 0 { parts.append("\(notJudged.grouped) not judged") }
        return "Of the \(drawn.grouped) drawn: " + parts.joined(separator: ", ") + "."
    }

    /// What was found of the drawn rows, as the end of a sentence.
    fileprivate var outcome: String {
        let differ = "\(differing.grouped) \(differing == 1 ? "differs" : "differ")"
        guard let notJudged else {
            // Earlier versions counted both together.
            return "\(differ) or \(differing == 1 ? "was" : "were") not judged"
        }
        guard notJudged > 0 else { return differ }
        return "\(differ) and \(notJudged.grouped) \(notJudged == 1 ? "was" : "were") not judged; "
            + "the bound counts \(notJudged == 1 ? "it as if it" : "those as if they") differed"
    }
}

extension QuestionReason {
    /// In a few words, for people.
    var meaning: String {
        switch self {
        case .notification: "a notification says something newer"
        case .heldBack: "undecided before, or its correction was not written"
        case .changed: "somebody wrote to the row since it was judged"
        case .clock: "its period, grace or retry day has passed"
        case .never: "never judged before"
        case .sample: "drawn at random from the rest"
        case .sweep: "Apple's last word is getting old"
        case .round: "every row is asked about"
        }
    }
}
