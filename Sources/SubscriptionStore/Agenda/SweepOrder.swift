import GRDB
import Subscriptions

/// Which rows have Apple's oldest words, and how many of them tonight's sweep takes.
struct SweepOrder {
    let db: Database
    let request: ScheduleRequest

    func ends(level: ([Int: Int]) -> Int) throws -> SweepEnds {
        SweepEnds(
            lasting: try end(isLasting: true, level), ended: try end(isLasting: false, level))
    }

    private func end(isLasting: Bool, _ level: ([Int: Int]) -> Int) throws -> SweepPlace? {
        let rows = level(try histogram(isLasting: isLasting))
        guard rows > 0 else { return nil }
        let place = try Row.fetchOne(
            db,
            sql: """
                SELECT bundle_id, environment, original_transaction_id,
                    ifnull(signed_date, asked_at)
                FROM trueup_checks
                WHERE is_lasting = ?1 AND \(Self.waitsForSweep)
                ORDER BY ifnull(signed_date, asked_at), bundle_id, environment,
                    original_transaction_id
                LIMIT 1 OFFSET ?3
                """, arguments: [isLasting, request.allowedAge(isLasting: isLasting), rows - 1])
        return place.map {
            SweepPlace(
                asOf: $0.time(at: 3) ?? Timestamp(unixMilliseconds: 0),
                key: SubscriptionKey($0, at: 0))
        }
    }

    /// How many rows reach the allowed age in so many days, without those whose clock asks before.
    private func histogram(isLasting: Bool) throws -> [Int: Int] {
        let age = request.allowedAge(isLasting: isLasting)
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT max(0, (ifnull(signed_date, asked_at) + ?2 - ?3) / 86400000), count(*)
                FROM trueup_checks INDEXED BY trueup_checks_by_age
                WHERE is_lasting = ?1 AND \(Self.waitsForSweep)
                GROUP BY 1
                """,
            arguments: [isLasting, age, request.now.unixMilliseconds])
        return Dictionary(
            rows.map { ($0.number(at: 0) ?? 0, $0.number(at: 1) ?? 0) },
            uniquingKeysWith: { $0 + $1 })
    }

    /// That no clock asks about the row before its word reaches the allowed age, `?2`.
    private static let waitsForSweep = """
        (clock IS NULL OR clock > ifnull(signed_date, asked_at) + ?2)
        """

    /// When the oldest word was signed.
    static func oldestCheck(_ db: Database) throws -> Timestamp? {
        try [true, false].compactMap { isLasting in
            try Int64.fetchOne(
                db,
                sql: """
                    SELECT min(ifnull(signed_date, asked_at)) FROM trueup_checks
                    WHERE is_lasting = ?
                    """, arguments: [isLasting])
        }.min().map(Timestamp.init(unixMilliseconds:))
    }
}
