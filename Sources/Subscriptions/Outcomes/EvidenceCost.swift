/// What the evidence that a run added takes.
package struct EvidenceCost: Hashable, Sendable {
    /// Signed statements, those inside notifications included.
    package var statements: Int
    /// As Apple sent them.
    package var receivedBytes: Int64
    /// As they are kept, with digest and index, without the free space of the database's pages.
    package var storedBytes: Int64

    package init(statements: Int = 0, receivedBytes: Int64 = 0, storedBytes: Int64 = 0) {
        self.statements = statements
        self.receivedBytes = receivedBytes
        self.storedBytes = storedBytes
    }
}
