import GRDB
import Subscriptions

/// Reads and writes the lines of the agenda: what is owed, and the questions of one pass.
struct AgendaLines {
    let db: Database
    let passID: Int64

    /// The beginning of a statement that adds lines, with the values that follow.
    static let insertion = """
        INSERT INTO trueup_agenda (
            bundle_id, environment, original_transaction_id, reason, turn, since, attempts)
        """

    /// The end of such a statement: a line that rests is asked by the next run.
    static let wakingUp = "ON CONFLICT DO UPDATE SET not_before = NULL"

    /// That a line of the agenda is for the run that is going on.
    ///
    /// - Parameter line: The name of the line's table.
    /// - Returns: A condition in SQL.
    static func isForThisRun(_ line: String = "trueup_agenda") -> String {
        "\(line).not_before IS NULL"
    }

    /// The turns before this one are those of the durable reasons.
    static let firstDueTurn = QuestionReason.changed.rank * 2

    func lines(
        of part: AgendaPart, after position: AgendaPosition?, limit: Int
    ) throws -> [AgendaLine] {
        let start = position.map { StoredKey($0.key) } ?? .first
        let turn = position?.turn ?? -1
        let place = "(turn, bundle_id, environment, original_transaction_id)"
        let marks = "(?, \(start.marks.dropFirst())"
        let bounds: StatementArguments = [turn] + start.arguments
        let columns = "turn, bundle_id, environment, original_transaction_id"
        let order = "ORDER BY \(columns) LIMIT ?"
        let ofPass = """
            SELECT \(columns) FROM trueup_pass_questions
            WHERE pass_id = ? AND \(place) > \(marks)
            """
        let rows: [Row]
        switch part {
        case .owed:
            rows = try Row.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT * FROM (SELECT * FROM (SELECT \(columns) FROM trueup_agenda
                                WHERE \(place) > \(marks) AND \(Self.isForThisRun()) \(order))
                            UNION
                            SELECT * FROM (\(ofPass) AND turn < \(Self.firstDueTurn) \(order)))
                        \(order)
                        """),
                arguments: bounds + [limit, passID] + bounds + [limit, limit])
        case .due:
            rows = try Row.fetchAll(
                db.cachedStatement(sql: "\(ofPass) AND turn >= \(Self.firstDueTurn) \(order)"),
                arguments: [passID] + bounds + [limit])
        }
        return rows.compactMap { row in
            guard let turn = row.integer(at: 0), let reason = QuestionReason(rank: turn / 2)
            else { return nil }
            return AgendaLine(key: SubscriptionKey(row, at: 1), reason: reason, turn: turn)
        }
    }

    /// Puts what notifications owe on the agenda, or among the questions of this pass alone; an older
    /// statement does not take the place of a newer one.
    func owe(_ question: OwedQuestion, isDurable: Bool, since: Timestamp) throws {
        let key = question.key.arguments
        let turn = AgendaLine.turn(.notification, isEntitling: question.isEntitling)
        let restsOn = question.restsOn.unixMilliseconds
        // What a notification of the same pass has settled stays settled by a younger one.
        let settled = try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT signed_date FROM \(Self.settledByNotification)"),
            arguments: [passID] + key)
        if let settled, settled >= restsOn { return }
        try db.cachedStatement(
            sql: "DELETE FROM \(Self.settledByNotification)"
        ).execute(arguments: [passID] + key)
        guard isDurable else {
            try db.cachedStatement(
                sql: """
                    INSERT INTO trueup_pass_questions VALUES (?, ?, ?, ?, ?, ?)
                    ON CONFLICT DO UPDATE SET rests_on = max(rests_on, excluded.rests_on)
                    """
            ).execute(arguments: [passID, turn] + key + [restsOn])
            return
        }
        try db.cachedStatement(
            sql: """
                INSERT INTO trueup_agenda (
                    bundle_id, environment, original_transaction_id, reason, turn, since, rests_on)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET not_before = NULL, reason = min(reason, excluded.reason),
                    turn = min(turn, excluded.turn),
                    rests_on = max(ifnull(rests_on, excluded.rests_on), excluded.rests_on)
                """
        ).execute(
            arguments: key + [
                QuestionReason.notification.rank, turn, since.unixMilliseconds, restsOn,
            ])
    }

    /// Whether something younger than a statement stands on the agenda about its subscription.
    func owesMore(about key: SubscriptionKey, than signed: Timestamp) throws -> Bool {
        let arguments = key.arguments + [signed.unixMilliseconds]
        let ofPass: StatementArguments = [passID] + arguments
        return try Bool.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT EXISTS (SELECT 1 FROM trueup_agenda WHERE bundle_id = ?
                            AND environment = ? AND original_transaction_id = ? AND rests_on > ?)
                        OR EXISTS (SELECT 1 FROM trueup_pass_questions
                            WHERE pass_id = ? AND turn IN (\(Self.owedTurns)) AND bundle_id = ?
                                AND environment = ? AND original_transaction_id = ?
                                AND rests_on > ?)
                    """), arguments: arguments + ofPass) ?? false
    }

    /// The turns of owed questions, each by its number, so that one of a key is found by its key.
    private static let owedTurns = (0..<firstDueTurn).map { String($0) }.joined(separator: ", ")

    private static let settledByNotification = """
        trueup_pass_rows WHERE pass_id = ? AND bundle_id = ? AND environment = ?
            AND original_transaction_id = ? AND verdict = \(VerdictCode.match.rawValue)
            AND asked_because IS NULL AND signed_date IS NOT NULL
        """

    /// Adds questions of the pass.
    func ask(_ lines: [AgendaLine]) throws {
        let statement = try db.cachedStatement(
            sql: "INSERT OR IGNORE INTO trueup_pass_questions VALUES (?, ?, ?, ?, ?, NULL)")
        for line in lines {
            try statement.execute(arguments: [passID, line.turn] + line.key.arguments)
        }
    }
}
