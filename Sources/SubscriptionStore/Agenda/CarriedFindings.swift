import GRDB
import Subscriptions

/// Open findings of the job's earlier nights that nobody looked at in a pass: they are still true, as
/// far as anybody knows, and every report of the job says so until a look finds them mended.
///
/// What the pass has found again itself, perhaps of a later period, is not repeated beside it.
/// Another job may have seen them since: what it said last is what is carried.
struct CarriedFindings {
    let db: Database
    let passID: Int64
    let job: String
    /// As it is stored with the run.
    let narrowing: String

    /// Takes over a chunk of them; returns the id with which the next one begins.
    func carry(from first: String) throws -> String? {
        let next = try FindingLook.next(after: StoreLimits.correctionsPerChunk, from: first, db)
        // Nobody was asked about them tonight.
        let columns = FindingStaging.columns.filter { $0 != "action" && $0 != "asked_because" }
        let names = columns.joined(separator: ", ")
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO trueup_pass_findings (pass_id, \(names), action, is_carried)
                SELECT ?1, \(names), CASE action WHEN 'refused' THEN 'refused' ELSE 'none' END, 1
                FROM (SELECT f.*, row_number() OVER (PARTITION BY f.finding_id
                        ORDER BY f.superseded_by IS NOT NULL, f.is_carried, f.finding_seq DESC
                    ) AS place
                    FROM trueup_findings AS h
                    JOIN trueup_pass_findings AS f ON f.pass_id = h.last_pass_id
                        AND f.finding_id = h.finding_id
                        AND (f.superseded_by IS NULL OR f.is_carried = 1)
                        AND (f.pass_id <> ?1 OR f.is_carried = 1)
                    WHERE h.state IN \(FindingLook.unresolved)
                        AND h.finding_id >= ?2 AND h.finding_id < ?3
                        AND EXISTS (SELECT 1 FROM trueup_finding_jobs AS j
                            WHERE j.finding_id = h.finding_id AND j.job = ?4)
                        AND \(FindingLook.isOfAnApp(narrowing: "?5"))
                        AND h.kind NOT IN ('notification_missed', 'notification_lost')
                        AND NOT \(FindingLook.wasFound)
                        AND \(FindingLook.isAboutSomething) AND NOT \(FindingLook.wasLookedAt))
                WHERE place = 1
                """, arguments: [passID, first, next ?? "~", job, narrowing])
        try dropMended(from: first, to: next ?? "~")
        return next
    }

    /// What an unpublished report would have called open, and this pass found mended, is nobody's
    /// concern any more.
    ///
    /// Where it names no subscription, its source may show it only once: it is told all the same.
    private func dropMended(from first: String, to end: String) throws {
        try db.execute(
            sql: """
                UPDATE trueup_pass_findings AS f INDEXED BY trueup_pass_findings_owed
                SET superseded_by = (
                    SELECT max(run_seq) FROM trueup_runs WHERE pass_id = ?1)
                WHERE f.pass_id = ?1 AND f.finding_id >= ?2 AND f.finding_id < ?3
                    AND f.is_carried = \(OwedFindings.mark) AND f.superseded_by IS NULL
                    AND f.action NOT IN ('corrected', 'inserted', 'recovered')
                    AND f.kind NOT IN ('notification_missed', 'notification_lost')
                    AND EXISTS (SELECT 1 FROM trueup_findings AS h
                        WHERE h.finding_id = f.finding_id
                            AND h.original_transaction_id IS NOT NULL
                            AND (NOT \(FindingLook.isAboutSomething)
                                OR \(FindingLook.wasLookedAt)))
                """, arguments: [passID, first, end])
    }
}
