/// What PgBouncer refuses for good: it has no state of an error of its own, but its words are never
/// translated.
enum PoolerRefusal: CaseIterable {
    case startupParameter
    case statementMode

    /// - Parameter words: Of a failure; what the server itself says about a statement is none of these.
    init?(_ words: String) {
        guard let known = Self.allCases.first(where: { words.contains($0.words) }) else {
            return nil
        }
        self = known
    }

    private var words: String {
        switch self {
        case .startupParameter: "unsupported startup parameter"
        case .statementMode: "not allowed in statement pooling mode"
        }
    }

    /// What is refused and what to do, to go on after "refuses".
    var advice: String {
        switch self {
        case .startupParameter:
            "a parameter that a session begins with. trueup sends application_name and "
                + "client_encoding alone: unset PGOPTIONS and other variables of libpq that set "
                + "more (PGTZ, PGDATESTYLE, PGGEQO), or name the parameter in "
                + "ignore_startup_parameters of pgbouncer.ini."
        case .statementMode:
            "transactions, because its pool_mode is statement, and no correction is written "
                + "without one. Set pool_mode = transaction (or session) for this database in "
                + "pgbouncer.ini."
        }
    }
}

extension ServerFailure {
    /// Whether PgBouncer had no session with the server to give: waiting once more would take as long.
    var isOfFullPooler: Bool { endsSession && words.contains("query_wait_timeout") }

    /// Whether PgBouncer ended the session for a reason that waiting does not take away.
    var isOfPooler: Bool { isOfFullPooler || (endsSession && PoolerRefusal(words) != nil) }
}
