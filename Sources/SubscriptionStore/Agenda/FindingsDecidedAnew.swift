import GRDB
import Subscriptions

/// Puts the rows of a job's open findings on the agenda where the settings that decide what is
/// corrected are no longer those of its run before.
///
/// Their lines left it when nothing was to be corrected, and the row gives no other reason to ask.
/// It is done before the run is recorded: what a killed process leaves, the next run does again.
struct FindingsDecidedAnew: Sendable {
    let run: RunHeader

    private var narrowing: String { TextList.encode(run.narrowing) }

    /// Whether the run decides by other settings than the one of its kind before it.
    func isNeeded(_ db: Database) throws -> Bool {
        guard run.worksOffAgenda else { return false }
        let before = try String.fetchOne(
            db,
            sql: """
                SELECT settings_digest FROM trueup_runs
                WHERE job = ? AND mode = ? AND narrowing = ?
                    AND pass_id NOT IN (SELECT pass_id FROM trueup_applications)
                ORDER BY run_seq DESC LIMIT 1
                """, arguments: [run.job, run.mode.rawValue, narrowing])
        return before.map { $0 != run.settingsDigest } ?? false
    }

    /// Asks about the rows of a chunk of findings; returns the id with which the next one begins.
    func ask(from first: String, _ db: Database) throws -> String? {
        let next = try FindingLook.next(after: StoreLimits.scatteredRowsPerChunk, from: first, db)
        let reason = QuestionReason.heldBack
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO trueup_agenda
                SELECT s.bundle_id, s.environment, s.original_transaction_id, ?1, ?2, ?3, NULL, 0
                FROM trueup_findings AS h
                JOIN subscriptions AS s ON s.bundle_id = h.bundle_id
                    AND s.environment = h.environment
                    AND s.original_transaction_id = h.original_transaction_id
                WHERE h.state IN \(FindingLook.unresolved)
                    AND h.finding_id >= ?4 AND h.finding_id < ?5
                    AND h.kind IN (\(Self.kinds))
                    AND EXISTS (SELECT 1 FROM trueup_finding_jobs AS j
                        WHERE j.finding_id = h.finding_id AND j.job = ?6)
                    AND \(FindingLook.isOfAnApp(narrowing: "?7"))
                """,
            arguments: [
                reason.rank, AgendaLine.turn(reason, isEntitling: true),
                run.started.unixMilliseconds, first, next ?? "~", run.job, narrowing,
            ])
        return next
    }

    private static let kinds = FindingKind.allCases.filter(\.isMendedByAnswer)
        .map { "'\($0.rawValue)'" }.joined(separator: ", ")
}
