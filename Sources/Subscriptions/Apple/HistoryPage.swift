/// One page of Get Transaction History, with every transaction in it verified.
package struct HistoryPage: Hashable, Sendable {
    package var transactions: [SignedTransaction]
    package var rejected: [RejectedStatement]
    /// From which the next page, or a later run, continues.
    package var revision: String
    package var hasMore: Bool
    /// Unknown fields of the unsigned envelope.
    package var unknowns: [UnknownValue]

    package init(
        transactions: [SignedTransaction], rejected: [RejectedStatement] = [], revision: String,
        hasMore: Bool, unknowns: [UnknownValue] = []
    ) {
        self.transactions = transactions
        self.rejected = rejected
        self.revision = revision
        self.hasMore = hasMore
        self.unknowns = unknowns
    }
}
