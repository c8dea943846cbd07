/// The books whose corrections are in a ledger next to the company's table.
package struct LedgerOwner: Hashable, Sendable {
    /// The identity of the books, which they keep for ever.
    package var identity: String
    /// Where they were when they took the ledger.
    package var path: String

    package init(identity: String, path: String) {
        self.identity = identity
        self.path = path
    }
}
