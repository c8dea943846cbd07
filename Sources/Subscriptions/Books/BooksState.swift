/// Which state of the books a database holds.
package struct BooksState: Hashable, Sendable {
    /// The database's own number of the set of books.
    package var number: Int
    /// The identity of the books, which their ledger and reports carry.
    package var identity: String
    /// Rises by one with every transaction.
    package var generation: Int64
    /// A name that the last transaction alone has: where an earlier state is put back and goes on
    /// another way, numbers come again, names do not.
    package var transaction: String
    /// The version of the books' schema whose rows these are.
    package var schema: Int

    package init(
        number: Int, identity: String, generation: Int64, transaction: String, schema: Int
    ) {
        self.number = number
        self.identity = identity
        self.generation = generation
        self.transaction = transaction
        self.schema = schema
    }
}
