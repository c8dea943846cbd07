/// What one page of the walk, or one touched customer, brought.
package struct StagedBatch: Hashable, Sendable {
    package var outcomes: [RowOutcome]
    /// Rows to ask once more at the end (5000000); they are settled as undecided until then.
    package var asksAgain: [SubscriptionKey]
    /// How far a customer's history was read, by subscription.
    package var historyMarks: [SubscriptionKey: HistoryMark]
    /// The walk's position afterwards; `nil` when the batch is not a page of the walk.
    package var walkedThrough: SubscriptionKey?
    /// Whether outcomes take the place of earlier ones of the same rows.
    package var replaces: Bool

    package init(
        outcomes: [RowOutcome] = [], asksAgain: [SubscriptionKey] = [],
        historyMarks: [SubscriptionKey: HistoryMark] = [:], walkedThrough: SubscriptionKey? = nil,
        replaces: Bool = false
    ) {
        self.outcomes = outcomes
        self.asksAgain = asksAgain
        self.historyMarks = historyMarks
        self.walkedThrough = walkedThrough
        self.replaces = replaces
    }
}
