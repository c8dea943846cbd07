/// When, and why, Apple would be asked about a subscription again, as far as its records tell.
///
/// It is what a job with delta coverage and the step walk does (docs/delta.md); full coverage asks
/// about every row. Whom the sample draws, and when the sweep comes round, only the job's settings say.
package struct NextQuestion: Hashable, Sendable {
    /// `nil` where no reason names the row: only the sample or the sweep may take it.
    package var reason: QuestionReason?
    /// From when on; `nil` for the next run.
    package var from: Timestamp?

    package init(reason: QuestionReason? = nil, from: Timestamp? = nil) {
        self.reason = reason
        self.from = from
    }
}

extension SubscriptionExplanation {
    /// The next question; `nil` where there is no row that a run would ask about.
    package func nextQuestion(at now: Timestamp) -> NextQuestion? {
        if let owed { return NextQuestion(reason: owed.reason) }
        guard row != nil else { return nil }
        guard let check else { return NextQuestion(reason: .never) }
        if wasWrittenSince { return NextQuestion(reason: .changed) }
        guard let clock = check.check.clock else { return NextQuestion() }
        return NextQuestion(reason: .clock, from: clock > now ? clock : nil)
    }
}
