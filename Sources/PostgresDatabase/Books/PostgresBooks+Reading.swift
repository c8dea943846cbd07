package import Subscriptions
import Synchronization

extension PostgresBooks {
    /// Reads the books as they are at one moment.
    ///
    /// In a short transaction for each page, as long as nobody writes the books meanwhile; where
    /// somebody does, once more in one transaction that only reads.
    ///
    /// - Parameter body: Reads; it may be called twice.
    /// - Returns: What it read.
    /// - Throws: `StoreError` where they cannot be read; what `body` throws.
    package func reading<Value>(_ body: (PostgresBooksReading) throws -> Value) throws -> Value {
        let pages = PostgresBooksReading(of: self, as: try state())
        do {
            return try body(pages)
        } catch {
            guard pages.isPast else { throw error }
            return try readingAtOnce(body)
        }
    }

    private func readingAtOnce<Value>(
        _ body: (PostgresBooksReading) throws -> Value
    ) throws -> Value {
        let (connector, limits) = keeper.withLock { ($0.connector, $0.limits) }
        // Of its own: the other one may be needed to say that the books are still held.
        let session = try connector.connect()
        session.isUsed(for: "reading the books")
        let state: BooksState?
        do throws(ServerFailure) {
            _ = try session.script(limits.begin(writes: false, isSnapshot: true))
            state = try Self.state(of: name, in: session)
        } catch {
            throw StoreError(
                error, doing: "beginning to read the books", at: connector.address, about: .books)
        }
        defer { _ = try? session.script("ROLLBACK") }
        return try body(PostgresBooksReading(of: self, as: state, within: session))
    }
}

/// The books of one name at one moment.
package final class PostgresBooksReading: Sendable {
    private let books: PostgresBooks
    /// With an open transaction; `nil` where each page is one of its own.
    private let session: (any ServerSession)?
    /// Which books stand there; `nil` for none.
    package let state: BooksState?
    private let hasMoved = Atomic<Bool>(false)

    /// Whether somebody has changed the books since, so that no more of that moment can be read.
    var isPast: Bool { hasMoved.load(ordering: .relaxed) }

    init(
        of books: PostgresBooks, as state: BooksState?, within session: (any ServerSession)? = nil
    ) {
        self.books = books
        self.state = state
        self.session = session
    }

    /// Rows of a table in the order of its key.
    ///
    /// - Parameters:
    ///   - table: Which.
    ///   - key: Rows with greater keys; `nil` from the first on.
    ///   - limit: How many at most.
    /// - Returns: Values in the order of the columns.
    /// - Throws: `StoreError` where they cannot be read.
    package func rows(
        of table: BooksTable, after key: [BooksValue]?, limit: Int
    ) throws(StoreError) -> [[BooksValue]] {
        guard let state else { return [] }
        let text = BooksText(table: table)
        let there = BooksSchema.table(table.name)
        let names = text.columns.map { "\"\($0)\"" }.joined(separator: ", ")
        let order = table.key.map { "\"\($0)\"" }.joined(separator: ", ")
        let marks = table.key.indices.map { "$\($0 + 2)" }.joined(separator: ", ")
        let position = key == nil ? "" : "AND (\(order)) > (\(marks))"
        let found = try texts(
            """
            SELECT \(names) FROM \(there)
            WHERE books = $1 \(position) ORDER BY \(order) LIMIT \(limit)
            """, [String(state.number)] + (key ?? []).map(BooksText.parameter), of: state)
        return try found.map { texts throws(StoreError) in
            guard let row = text.row(texts) else {
                throw .inconsistent(
                    "A row of \(there) in \(books.place) cannot be read: somebody else wrote it. Nothing "
                        + "was changed. Restore the schema trueup from a backup.")
            }
            return row
        }
    }

    private func texts(
        _ sql: String, _ parameters: [String?], of state: BooksState
    ) throws(StoreError) -> [[String?]] {
        if let session {
            do throws(ServerFailure) {
                return try session.run(sql, parameters).rows
            } catch {
                let address = books.keeper.withLock(\.connector.address)
                throw StoreError(error, doing: "reading the books", at: address, about: .books)
            }
        }
        let found = try books.keeper.withLock { keeper throws(StoreError) in
            try keeper.read("reading the books") {
                session throws(ServerFailure) -> [[String?]]? in
                let rows = try session.run(sql, parameters).rows
                // A statement sees what was committed before it: what was changed shows here.
                let now = try PostgresBooks.state(of: self.books.name, in: session)
                return now == state ? rows : nil
            }
        }
        if let found { return found }
        hasMoved.store(true, ordering: .relaxed)
        throw .busy(
            "The books in \(books.place) were changed while they were read. Nothing was written. Run "
                + "again.")
    }
}
