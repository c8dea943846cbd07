import GRDB
import Subscriptions

extension FindingCount {
    /// Reads kind, severity, state and count, and sorts them: the gravest first.
    static func read(
        _ db: Database, sql: String, arguments: StatementArguments = []
    ) throws -> [FindingCount] {
        try Row.fetchAll(db, sql: sql, arguments: arguments).compactMap { row in
            guard let kind = FindingKind(rawValue: row.requiredText(at: 0)),
                let severity = Severity(rawValue: row.requiredText(at: 1)),
                let state = FindingState(rawValue: row.requiredText(at: 2))
            else { return nil }
            return FindingCount(
                kind: kind, severity: severity, state: state, findings: row.number(at: 3) ?? 0)
        }.sorted { left, right in
            guard left.severity == right.severity else { return left.severity > right.severity }
            return (left.kind.rawValue, left.state.rawValue)
                < (right.kind.rawValue, right.state.rawValue)
        }
    }
}
