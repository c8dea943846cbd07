package import Subscriptions
import Synchronization

extension PostgresCompany {
    /// Entries of our ledger there with higher numbers, in order; none where there is no ledger yet.
    ///
    /// After a commit without an answer it first waits until the server knows how that ended.
    ///
    /// - Parameters:
    ///   - number: The last number that is known.
    ///   - limit: How many at most.
    /// - Returns: The entries of these books.
    /// - Throws: `StoreError.unavailable` where the server cannot be asked.
    package func entries(
        after number: Int64, limit: Int
    ) throws(StoreError) -> [CompanyLedgerEntry] {
        try state.withLock { state throws(StoreError) in
            try Self.awaitEnd(ofLost: &state)
            return try self.read("reading the ledger", &state) { session throws(ServerFailure) in
                try self.entries(after: number, limit: limit, in: session)
            }
        }
    }

    /// Whether our ledger there has an entry, once a commit without an answer is at its end.
    ///
    /// - Throws: `StoreError` where the server cannot be asked.
    func holds(
        _ entry: CompanyLedgerEntry, _ state: inout State
    ) throws(StoreError) -> Bool {
        try Self.awaitEnd(ofLost: &state)
        return try read("reading the ledger", &state) { session throws(ServerFailure) in
            try entries(after: entry.number &- 1, limit: 1, in: session).first?.digest
                == entry.digest
        }
    }

    /// Nothing is declared: the ledger there keeps the entries of each books apart.
    ///
    /// - Parameters:
    ///   - reason: Why, for whoever asks later.
    ///   - actor: Who declares it.
    ///   - now: When.
    /// - Returns: `nil`.
    /// - Throws: Nothing.
    package func adoptLedger(
        reason: String, by actor: String, at now: Timestamp
    ) throws(StoreError) -> String? { nil }

    private func entries(
        after number: Int64, limit: Int, in session: any ServerSession
    ) throws(ServerFailure) -> [CompanyLedgerEntry] {
        guard try session.run("SELECT to_regclass('trueup.ledger')", []).first != nil else {
            return []
        }
        let rows = try session.run(
            """
            SELECT number, digest, run_id, content, written_at FROM trueup.ledger
            WHERE books = $1 AND number > $2 ORDER BY number LIMIT $3
            """, [books, String(number), String(limit)]
        ).rows
        return rows.compactMap { row in
            guard row.count == 5, let number = row[0].flatMap({ Int64($0) }),
                let digest = row[1], let run = row[2], let content = row[3],
                let written = row[4].flatMap({ Int64($0) })
            else { return nil }
            return CompanyLedgerEntry(
                number: number, digest: digest, run: run, content: content,
                writtenAt: Timestamp(unixMilliseconds: written))
        }
    }

    /// The longest that a server is waited for that still works on a COMMIT.
    private static let patience = 150
    private static let pauseMilliseconds: UInt32 = 200

    /// Waits until a transaction whose COMMIT was not answered is at its end, either way.
    ///
    /// A server that does not know it any more, as after a fail-over, cannot commit it any more.
    private static func awaitEnd(ofLost state: inout State) throws(StoreError) {
        guard let lost = state.lost else { return }
        for _ in 0..<patience {
            let standing = try state.keeper.read("looking for the end of a transaction") {
                session throws(ServerFailure) in
                do throws(ServerFailure) {
                    return try session.run("SELECT pg_xact_status($1::xid8)", [lost]).first
                } catch {
                    // A number in the future: this server has never seen the transaction.
                    guard error.state.meaning == .value else { throw error }
                    _ = try session.script("ROLLBACK; BEGIN READ ONLY")
                    return nil
                }
            }
            guard standing == "in progress" else {
                state.lost = nil
                return
            }
            guard state.keeper.connector.patience.pause(milliseconds: pauseMilliseconds) else {
                throw .stopped(
                    "A signal ended the wait for a transaction whose answer was lost: the server "
                        + "\(state.keeper.connector.address) is still at it. The next run looks at "
                        + "it before anything else; end the session in pg_stat_activity if it "
                        + "stays.")
            }
        }
        throw .unavailable(
            "The server \(state.keeper.connector.address) has not ended a transaction whose answer "
                + "was lost. The next run looks at it before anything else; end the session in "
                + "pg_stat_activity if it stays.")
    }
}
