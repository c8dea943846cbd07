/// What a run covered, and what it left: a part of its conclusion.
package struct RunCoverage: Hashable, Sendable, Codable {
    package enum Kind: String, Hashable, Sendable, Codable { case delta, full }

    package var kind: Kind
    /// Rows in the table when the questions were found; `nil` where they were not counted.
    package var rows: Int?
    /// Rows that no reason named.
    package var quiet: Int?
    /// Rows with a question of their own that Apple answered, or that were left undecided by it, by
    /// reason.
    package var asked: [QuestionReason: Int] = [:]
    /// Rows that the answer to another row's question judged, as that of the same customer.
    ///
    /// `nil` in what earlier versions stored: they counted these by the reason of that question.
    package var askedBeside: Int?
    /// Rows that a notification's own signed statement settled, without a call.
    package var settledByNotification = 0
    /// Questions that were not asked, by reason.
    package var left: [QuestionReason: Int] = [:]
    package var oldestCheck: Timestamp?
    /// Where each row of the table is counted; `nil` in what earlier versions stored.
    package var table: TableCount?
    /// Rows that earlier runs of an unfinished round had judged and this one did not ask about again;
    /// `nil` for a run that went on with no round.
    package var roundBefore: Int?
    package var sample: Sample?
    /// What became of the sample of the quiet rows, which no reason names; `nil` where every row
    /// was asked about.
    package var routine: RoutineRows?

    /// `nil` for a narrowed run, and for what is stored of earlier versions.
    package var forecast: CallForecast?

    package struct Sample: Hashable, Sendable, Codable {
        package var drawn: Int
        /// Drawn rows that were judged and differ.
        ///
        /// Where `notJudged` is `nil` also those that were not judged.
        package var differing: Int
        /// Drawn rows that were undecided or left out; `nil` in what earlier versions stored.
        package var notJudged: Int?
        /// By what the drawn rows were judged; `nil` in what earlier versions stored.
        package var judgedBy: JudgedBy?
        /// The largest number of differing rows among the quiet ones that is compatible with that,
        /// if no row that was not judged agrees.
        package var bound: Int
        package var seed: UInt64

        /// By what the drawn rows that were judged came to be so; with `notJudged` these are all drawn.
        package struct JudgedBy: Hashable, Sendable, Codable {
            /// Questions of the sample itself.
            package var ownQuestion: Int
            /// Answers to another question, mostly about another row of the same customer.
            package var otherQuestion: Int
            /// A notification's own signed statement, without a call.
            package var notification: Int

            package init(ownQuestion: Int, otherQuestion: Int, notification: Int) {
                self.ownQuestion = ownQuestion
                self.otherQuestion = otherQuestion
                self.notification = notification
            }
        }

        /// Drawn rows that are not known to agree.
        package var unproven: Int {
            let (sum, overflow) = differing.addingReportingOverflow(notJudged ?? 0)
            return overflow ? .max : sum
        }

        package init(
            drawn: Int, differing: Int, notJudged: Int?, judgedBy: JudgedBy? = nil, bound: Int,
            seed: UInt64
        ) {
            self.judgedBy = judgedBy
            self.drawn = drawn
            self.differing = differing
            self.notJudged = notJudged
            self.bound = bound
            self.seed = seed
        }
    }

    package init(kind: Kind) { self.kind = kind }

    /// Rows that Apple's answers judged, or left undecided.
    package var askedRows: Int {
        asked.values.reduce(askedBeside ?? 0) { $0.addingReportingOverflow($1).partialValue }
    }
}

extension RunCoverage {
    /// The rows of the table as the run ended, of the run's apps where it was for some alone.
    ///
    /// `rows` = rows in scope − `gone` + `judgedBefore` + `notAsked` + `inserted`.
    package struct TableCount: Hashable, Sendable, Codable {
        package var rows: Int
        /// Rows without a verdict: there was no reason to ask, or the run was narrowed.
        package var notAsked: Int
        /// Rows that earlier runs of an unfinished round judged, and this one did not.
        package var judgedBefore: Int
        /// Rows that the run itself added.
        package var inserted: Int
        /// Rows in scope that are no longer in the table.
        package var gone: Int

        package init(rows: Int, notAsked: Int, judgedBefore: Int, inserted: Int, gone: Int) {
            self.rows = rows
            self.notAsked = notAsked
            self.judgedBefore = judgedBefore
            self.inserted = inserted
            self.gone = gone
        }
    }
}
