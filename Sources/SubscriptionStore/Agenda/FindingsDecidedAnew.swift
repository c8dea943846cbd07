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
        try FindingQuestions(run: run).ask(
            from: first, where: "h.kind IN (\(Self.kinds))", db)
    }

    private static let kinds = FindingKind.allCases.filter(\.isMendedByAnswer)
        .map { "'\($0.rawValue)'" }.joined(separator: ", ")
}
