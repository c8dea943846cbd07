package import Subscriptions

/// The port to a database on a server that holds the books; a run then works on a copy of them.
///
/// All methods block. What stands on the server counts: a copy that is not of its generation is made
/// anew.
package protocol BooksServer: Sendable {
    /// Where the books are, for messages.
    var place: String { get }

    /// Which books stand there; `nil` for none.
    func state() throws(StoreError) -> BooksState?

    /// Keeps everybody else from writing these books until `release`, or until nothing was heard of
    /// the holder for a while.
    ///
    /// - Throws: `.busy`, naming who has them.
    func claim() throws(StoreError)

    /// Lets others write; nothing happens where somebody else has taken the books over.
    func release()

    /// Begins books beside those that stand there; they count once `conclude` is called.
    func begin(identity: String, schema: Int) throws(StoreError) -> BooksState

    /// Puts the books that were begun in the place of those that stood there.
    func conclude(_ state: BooksState) throws(StoreError)

    /// Makes the changes of one transaction, all or none, if the books are in this state.
    ///
    /// - Returns: The state that they are in then.
    /// - Throws: `.busy` where they are in another state, because somebody else changed them.
    func commit(_ changes: [BooksChange], to state: BooksState) throws(StoreError) -> BooksState

    /// Reads the books as they are at one moment, whatever is written meanwhile.
    func reading<Value>(_ body: (any BooksReading) throws -> Value) throws -> Value
}

/// The books on a server at one moment.
package protocol BooksReading {
    /// Which books stand there; `nil` for none.
    var state: BooksState? { get }

    /// Rows of a table in the order of its key, values in the order of its columns.
    ///
    /// - Parameters:
    ///   - table: Which.
    ///   - key: Rows with greater keys; `nil` from the first on.
    ///   - limit: How many at most.
    /// - Returns: The rows.
    /// - Throws: `StoreError` where they cannot be read.
    func rows(
        of table: BooksTable, after key: [BooksValue]?, limit: Int
    ) throws(StoreError) -> [[BooksValue]]
}
