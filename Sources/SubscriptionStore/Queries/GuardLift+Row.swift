import GRDB
import Subscriptions

extension GuardLift {
    /// The lifts that a condition names, in the order of the guards.
    static func fetchAll(
        _ db: Database, where condition: String, arguments: StatementArguments
    ) throws -> [GuardLift] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT guard, reason, actor, lifted_at, lifted_by, breach FROM trueup_guard_lifts
                WHERE \(condition) ORDER BY run_seq, guard
                """,
            arguments: arguments)
        return rows.compactMap { row in
            guard let name = GuardName(rawValue: row.requiredText(at: 0)) else { return nil }
            return GuardLift(
                name: name, reason: row.requiredText(at: 1), actor: row.requiredText(at: 2),
                liftedAt: row.time(at: 3) ?? Timestamp(unixMilliseconds: 0),
                liftedBy: row.requiredText(at: 4), breach: row.text(at: 5))
        }
    }

    func insert(_ db: Database, run: RunReference) throws {
        try db.execute(
            sql: "INSERT INTO trueup_guard_lifts VALUES (?, ?, ?, ?, ?, ?, ?)",
            arguments: [
                run.sequence, name.rawValue, reason, actor, liftedAt.unixMilliseconds, liftedBy,
                breach,
            ])
    }
}
