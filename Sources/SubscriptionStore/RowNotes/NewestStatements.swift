import GRDB
import Subscriptions

/// The newest verified statement about each subscription that any run has seen.
///
/// Every later statement is measured against it: one that Apple signed earlier writes nothing, by
/// whatever command it comes. It only grows. A declared restore of the database forgets by what rows
/// were judged, but not this.
struct NewestStatements {
    let db: Database

    /// Keeps when a statement was signed, unless a newer one is known.
    ///
    /// - Parameters:
    ///   - signed: When Apple signed it.
    ///   - key: The subscription that it is about.
    ///   - now: The run's clock. A date more than a day after it is not kept, and a kept one gives way:
    ///     it comes from a rehearsal, or from a clock that was ahead.
    /// - Throws: What writing the database throws.
    func note(_ signed: Timestamp, about key: SubscriptionKey, now: Timestamp) throws {
        guard !signed.isAhead(of: now) else { return }
        try db.cachedStatement(
            sql: """
                INSERT INTO trueup_statements VALUES (?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET signed_date = excluded.signed_date
                WHERE signed_date < excluded.signed_date OR signed_date > ?
                """
        ).execute(
            arguments: key.arguments + [
                signed.unixMilliseconds,
                now.adding(milliseconds: Milliseconds.perDay).unixMilliseconds,
            ])
    }

    /// When Apple signed the newest one about a subscription; `nil` where none was seen.
    func date(of key: SubscriptionKey) throws -> Timestamp? {
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(Self.date(of: "s", check: "k"))
                FROM (SELECT ? AS bundle_id, ? AS environment, ? AS original_transaction_id) AS s
                LEFT JOIN trueup_checks AS k ON k.bundle_id = s.bundle_id
                    AND k.environment = s.environment
                    AND k.original_transaction_id = s.original_transaction_id
                """)
        return try Row.fetchOne(statement, arguments: key.arguments)?.time(at: 0)
    }

    /// Whether a newer statement is known than the one that a correction rests on.
    ///
    /// - Parameters:
    ///   - correction: What is planned; a period is measured by the statement about its subscription.
    ///   - now: The run's clock.
    /// - Returns: `true` where the correction must not be written.
    /// - Throws: What reading the database throws.
    func outdate(_ correction: PlannedCorrection, now: Timestamp) throws -> Bool {
        let rests =
            correction.restsOn
            ?? (correction.transactionID == nil ? correction.appleSignedDate : nil)
        guard let rests, let newest = try date(of: correction.subscription) else { return false }
        return newest > rests && !newest.isAhead(of: now)
    }

    /// The expression of that date for a row of the table `s`, beside its check: databases of earlier
    /// versions have it there alone.
    static func date(of row: String, check: String) -> String {
        """
        nullif(max(ifnull(\(check).signed_date, 0), ifnull((
            SELECT n.signed_date FROM trueup_statements AS n
            WHERE n.bundle_id = \(row).bundle_id AND n.environment = \(row).environment
                AND n.original_transaction_id = \(row).original_transaction_id), 0)), 0)
        """
    }
}
