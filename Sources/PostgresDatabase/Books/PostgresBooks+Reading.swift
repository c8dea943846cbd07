package import Subscriptions
import Synchronization

extension PostgresBooks {
    /// Reads the books as they are at one moment, in one transaction that only reads.
    ///
    /// - Parameter body: Reads.
    /// - Returns: What it read.
    /// - Throws: `StoreError` where they cannot be read; what `body` throws.
    package func reading<Value>(_ body: (PostgresBooksReading) throws -> Value) throws -> Value {
        let (connector, limits) = keeper.withLock { ($0.connector, $0.limits) }
        // Of its own: the other one may be needed to say that the books are still held.
        let session = try connector.connect()
        do throws(ServerFailure) {
            _ = try session.script(limits.begin(writes: false, isSnapshot: true))
        } catch {
            throw StoreError(
                error, doing: "beginning to read the books", at: connector.address, about: .books)
        }
        defer { _ = try? session.script("ROLLBACK") }
        return try body(PostgresBooksReading(name, in: session, at: connector.address))
    }
}

/// The books of one name at one moment.
package struct PostgresBooksReading {
    private let session: any ServerSession
    private let address: PostgresAddress
    /// Which books stand there; `nil` for none.
    package let state: BooksState?

    init(
        _ name: String, in session: any ServerSession, at address: PostgresAddress
    ) throws(StoreError) {
        self.session = session
        self.address = address
        do throws(ServerFailure) {
            state = try PostgresBooks.state(of: name, in: session)
        } catch {
            throw StoreError(error, doing: "looking for the books", at: address, about: .books)
        }
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
        let found: [[String?]]
        do throws(ServerFailure) {
            found = try session.run(
                """
                SELECT \(names) FROM \(there)
                WHERE books = $1 \(position) ORDER BY \(order) LIMIT \(limit)
                """, [String(state.number)] + (key ?? []).map(BooksText.parameter)
            ).rows
        } catch {
            throw StoreError(error, doing: "reading the books", at: address, about: .books)
        }
        return try found.map { texts throws(StoreError) in
            guard let row = text.row(texts) else {
                throw .inconsistent(
                    "A row of \(there) in \(address) cannot be read: somebody else wrote it. Nothing "
                        + "was changed. Restore the schema trueup from a backup.")
            }
            return row
        }
    }
}
