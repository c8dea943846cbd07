/// The load of the company's database with which a run continues.
package struct LoadLimit: Hashable, Sendable {
    /// A query of the company's that returns a number, such as how many statements are running.
    package var query: String
    /// The greatest number with which the run continues.
    package var limit: Double

    package init(query: String, limit: Double) {
        self.query = query
        self.limit = limit
    }
}

/// The limits above which a run pauses between its units of work in the company's database.
package struct DatabaseBrake: Hashable, Sendable {
    package var load: LoadLimit?
    /// The greatest replication lag with which the run continues.
    package var lagMilliseconds: Int64?

    package init(load: LoadLimit? = nil, lagMilliseconds: Int64? = nil) {
        self.load = load
        self.lagMilliseconds = lagMilliseconds
    }

    /// Returns the limit that is exceeded, in words; `nil` for none.
    ///
    /// - Parameters:
    ///   - number: The number that the query returned.
    ///   - lag: The replication lag in seconds; infinite where replication does not run.
    /// - Returns: To follow "because".
    package func excess(number: Double?, lag: Double?) -> String? {
        if let number, let limit = load?.limit, !(number <= limit) {
            return "the number of store.max_load is \(Self.text(number)), above \(Self.text(limit))"
        }
        if let lag, let lagMilliseconds, !(lag * 1000 <= Double(lagMilliseconds)) {
            let limit = Self.text(Double(lagMilliseconds) / 1000)
            return lag.isFinite
                ? "a replica is \(Self.text(lag)) s behind, more than the \(limit) s of store.max_lag"
                : "replication does not run, and store.max_lag is \(limit) s"
        }
        return nil
    }

    private static func text(_ number: Double) -> String {
        Int64(exactly: number).map { String($0) }
            ?? String(Int64(exactly: (number * 1000).rounded()).map { Double($0) / 1000 } ?? number)
    }
}

/// The pauses of a run for the sake of the company's database.
package struct DatabasePauses: Hashable, Sendable, Codable {
    package var number = 0
    package var milliseconds: Int64 = 0

    package init() {}
}

/// The query of `store.max_load`.
extension LoadLimit {
    /// The number in its answer: the last column of the only row.
    ///
    /// - Parameter rows: The answer.
    /// - Returns: The number.
    /// - Throws: `StoreError.schema` where there is none.
    package static func number(in rows: [[String?]]) throws(StoreError) -> Double {
        guard rows.count == 1, let text = rows[0].last ?? nil, let number = Double(text),
            number.isFinite
        else {
            throw .schema("it must return one row, whose last column is a number")
        }
        return number
    }

    /// The error of a query that failed because of what it says, or any other as it is.
    ///
    /// - Parameters:
    ///   - error: As the database's adapter has it.
    ///   - said: The database's own words, where it refused the query.
    /// - Returns: The error to throw.
    package static func error(_ error: StoreError, said: String?) -> StoreError {
        guard [.config, .internal].contains(error.exitStatus) else { return error }
        return .schema(
            "The query of `store.max_load` failed: \(said ?? error.description). Nothing was read or "
                + "written. Correct the query, and try it with `trueup doctor`.")
    }
}
