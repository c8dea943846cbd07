package import Subscriptions
import Synchronization

extension PostgresBooks {
    /// Makes the changes of one transaction, all or none, if the books are in this state.
    ///
    /// - Parameters:
    ///   - changes: Each table at most once.
    ///   - state: In which the changes were made.
    /// - Returns: The state that the books are in then.
    /// - Throws: `StoreError.busy` where they are in another state.
    package func commit(
        _ changes: [BooksChange], to state: BooksState
    ) throws(StoreError) -> BooksState {
        let statements: [(sql: String, json: String)]
        do {
            statements = try changes.flatMap(Self.statements)
        } catch {
            throw .inconsistent(
                "A value in the books has not the form of its column \(error). Nothing was written; "
                    + "this is a fault of trueup, please report it.")
        }
        var next = state
        next.generation &+= 1
        next.transaction = Self.newName()
        let outcome: Outcome
        do throws(StoreError) {
            outcome = try keeper.withLock { keeper throws(StoreError) in
                // The same again leaves the same behind: the transaction is known by its name.
                try keeper.write("committing the books") { session throws(ServerFailure) in
                    try self.commit(statements, from: state, to: next, in: session)
                }
            }
        } catch {
            switch error {
            case .unavailable, .stopped: unanswered.withLock { $0 = next.transaction }
            case .notWritten, .busy, .schema, .inconsistent: break
            }
            throw error
        }
        switch outcome {
        case .done: return next
        case .isPast:
            throw .busy(
                "The books in \(place) were changed by another run since they were read. Nothing of "
                    + "this step was written. Run again: the books are read anew first.")
        case .isOurs:
            throw .unavailable(
                "The books in \(place) have the step whose answer was lost when the server did not "
                    + "answer, and the copy of them has not. Nothing of this step was written, and "
                    + "nothing is lost. Run again: the copy is made anew, and the run goes on.")
        }
    }

    /// What became of a transaction.
    private enum Outcome {
        case done
        /// Somebody else has changed the books.
        case isPast
        /// They have a transaction of ours that was given up without an answer.
        case isOurs
    }

    private func commit(
        _ statements: [(sql: String, json: String)], from state: BooksState,
        to next: BooksState, in session: any ServerSession
    ) throws(ServerFailure) -> Outcome {
        let number = String(state.number)
        let raised = try session.run(
            """
            UPDATE trueup.books SET generation = $3, transaction_name = $4,
                committed_at = clock_timestamp()
            WHERE number = $1 AND transaction_name = $2
            """, [number, state.transaction, String(next.generation), next.transaction])
        guard raised.affected == 1 else {
            // A commit whose answer was lost and that is tried again has been done.
            let last = try session.run(
                "SELECT transaction_name FROM trueup.books WHERE number = $1", [number]
            ).first
            if last == next.transaction { return .done }
            return last != nil && last == unanswered.withLock(\.self) ? .isOurs : .isPast
        }
        guard try claim(in: session) == nil else {
            _ = try session.script("ROLLBACK; BEGIN")
            return .isPast
        }
        for statement in statements {
            _ = try session.run(statement.sql, [number, statement.json])
        }
        return .done
    }

    private static func statements(
        of change: BooksChange
    ) throws(BooksText.Misfit) -> [(sql: String, json: String)] {
        let text = BooksText(table: change.table)
        let there = BooksSchema.table(change.table.name)
        var statements: [(sql: String, json: String)] = []
        if !change.deleted.isEmpty {
            let match = change.table.key.map { "t.\"\($0)\" = r.\"\($0)\"" }
            statements.append(
                (
                    """
                    DELETE FROM \(there) AS t
                    USING json_populate_recordset(NULL::\(there), $2::json) AS r
                    WHERE t.books = $1::integer AND \(match.joined(separator: " AND "))
                    """, try text.json(ofKeys: change.deleted)
                ))
        }
        guard !change.rows.isEmpty else { return statements }
        let names = text.columns.map { "\"\($0)\"" }
        let key = change.table.key.map { "\"\($0)\"" }.joined(separator: ", ")
        let others = text.columns.filter { !change.table.key.contains($0) }
            .map { "\"\($0)\" = excluded.\"\($0)\"" }
        let resolution =
            others.isEmpty ? "NOTHING" : "UPDATE SET " + others.joined(separator: ", ")
        statements.append(
            (
                """
                INSERT INTO \(there) (books, \(names.joined(separator: ", ")))
                SELECT $1::integer, \(names.map { "r." + $0 }.joined(separator: ", "))
                FROM json_populate_recordset(NULL::\(there), $2::json) AS r
                ON CONFLICT (books, \(key)) DO \(resolution)
                """, try text.json(of: change.rows)
            ))
        return statements
    }
}
