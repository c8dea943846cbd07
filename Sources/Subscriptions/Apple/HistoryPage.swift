/// One page of Get Transaction History, verified.
package struct HistoryPage: Hashable, Sendable {
    package var transactions: [SignedTransaction]
    package var rejected: [RejectedStatement]
    /// Where to go on; stored after success and reused in a later run.
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
