import GRDB
import Subscriptions

/// When a question comes again whose answer may be wrong once: in each of the next three runs, then
/// once a week.
struct RestingQuestions: Sendable {
    let run: RunHeader

    /// How many runs in a row ask again before the question rests in between.
    static let runsInARow = 3

    private static let daysOfRest: Int64 = 7

    /// When a question that begins to rest comes again: from the beginning of a day, so that a job that
    /// starts some minutes earlier than last week asks it, too.
    static func end(after time: Timestamp) -> Timestamp {
        let (days, _) = time.unixMilliseconds.floorDivided(by: Milliseconds.perDay)
        return Timestamp(unixMilliseconds: 0).adding(
            milliseconds: (days &+ daysOfRest)
                .multipliedReportingOverflow(by: Milliseconds.perDay).partialValue)
    }

    /// That a line has rested long enough at the time `now`, in SQL; under a clock that was set back,
    /// too.
    static func isOver(at now: Timestamp) -> String {
        "(not_before <= \(now.unixMilliseconds) OR not_before > \(end(after: now).unixMilliseconds))"
    }

    /// Gives a chunk of the questions that have rested long enough to the run that begins.
    ///
    /// - Returns: Whether there may be more.
    func wakeUp(_ db: Database) throws -> Bool {
        guard run.judgesRows else { return false }
        try db.execute(
            sql: """
                UPDATE trueup_agenda SET not_before = NULL
                WHERE (bundle_id, environment, original_transaction_id) IN (
                    SELECT bundle_id, environment, original_transaction_id FROM trueup_agenda
                    WHERE not_before IS NOT NULL AND \(Self.isOver(at: run.started))
                    LIMIT \(StoreLimits.scatteredRowsPerChunk))
                """)
        return db.changesCount == StoreLimits.scatteredRowsPerChunk
    }
}
