import GRDB
import Subscriptions

/// Which rows have Apple's oldest words, and how many of them tonight's sweep takes.
struct SweepOrder {
    let db: Database
    let request: ScheduleRequest

    func ends(level: ([Int: Int]) -> Int) throws -> SweepEnds {
        let rows = try histograms()
        return SweepEnds(
            lasting: try end(isLasting: true, after: level(rows.lasting)),
            ended: try end(isLasting: false, after: level(rows.ended)))
    }

    private func end(isLasting: Bool, after rows: Int) throws -> SweepPlace? {
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

    /// How many rows reach the allowed age in so many days, without those whose clock asks before: of
    /// those that entitle or are in billing retry, and of the others.
    ///
    /// Reads the whole table in its own order: along the index SQLite looks each row up, and to group
    /// by the day it sorts them.
    private func histograms() throws -> (lasting: [Int: Int], ended: [Int: Int]) {
        let statement = try db.cachedStatement(
            sql: """
                SELECT is_lasting, ifnull(signed_date, asked_at), clock
                FROM trueup_checks NOT INDEXED
                """)
        let columns = ColumnsInPlace(of: statement)
        let cursor = try Row.fetchCursor(statement)
        var lasting: [Int: Int] = [:]
        var ended: [Int: Int] = [:]
        while try cursor.next() != nil {
            guard let asOf = columns.integer(at: 1) else { continue }
            let isLasting = columns.integer(at: 0) == 1
            let reached = Timestamp(unixMilliseconds: asOf).adding(
                milliseconds: request.allowedAge(isLasting: isLasting))
            let clock = columns.integer(at: 2)
            guard clock.map({ $0 > reached.unixMilliseconds }) ?? true else { continue }
            let left = reached.milliseconds(since: request.now) / Milliseconds.perDay
            let day = Int(clamping: max(0, left))
            if isLasting { lasting[day, default: 0] += 1 } else { ended[day, default: 0] += 1 }
        }
        return (lasting, ended)
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
