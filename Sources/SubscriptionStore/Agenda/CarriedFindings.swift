import GRDB
import Subscriptions

/// Open findings of the job's earlier nights that nobody looked at in a pass: they are still true, as
/// far as anybody knows, and every report of the job says so until a look finds them mended.
///
/// Another job may have seen them since: what it said last is what is carried.
struct CarriedFindings {
    let db: Database
    let passID: Int64
    let job: String

    /// Takes over a chunk of them; returns the id with which the next one begins.
    func carry(from first: String) throws -> String? {
        let next = try String.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT finding_id FROM trueup_findings
                    WHERE state IN \(FindingResolution.unresolved) AND finding_id >= ?
                    ORDER BY finding_id LIMIT 1 OFFSET \(StoreLimits.correctionsPerChunk)
                    """), arguments: [first])
        // Nobody was asked about them tonight.
        let columns = FindingStaging.columns.filter { $0 != "action" && $0 != "asked_because" }
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO trueup_pass_findings
                    (pass_id, \(columns.joined(separator: ", ")), action, is_carried)
                SELECT ?1, \(columns.map { "f." + $0 }.joined(separator: ", ")),
                    CASE f.action WHEN 'refused' THEN 'refused' ELSE 'none' END, 1
                FROM trueup_findings AS h
                JOIN trueup_pass_findings AS f ON f.pass_id = h.last_pass_id
                    AND f.finding_id = h.finding_id
                    AND (f.superseded_by IS NULL OR f.is_carried = 1)
                    AND (f.pass_id <> ?1 OR f.is_carried = 1)
                WHERE h.state IN \(FindingResolution.unresolved)
                    AND h.finding_id >= ?2 AND h.finding_id < ?3
                    AND h.original_transaction_id IS NOT NULL
                    AND EXISTS (SELECT 1 FROM trueup_finding_jobs AS j
                        WHERE j.finding_id = h.finding_id AND j.job = ?4)
                    AND h.kind NOT IN ('notification_missed', 'notification_lost')
                    AND \(Self.isAboutSomething) AND NOT \(Self.wasLookedAt)
                """, arguments: [passID, first, next ?? "~", job])
        try dropMended(from: first, to: next ?? "~")
        return next
    }

    /// What an unpublished report would have called open, and this pass found mended, is nobody's
    /// concern any more.
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
                            AND (NOT \(Self.isAboutSomething) OR \(Self.wasLookedAt)))
                """, arguments: [passID, first, end])
    }

    /// A finding about a row is nobody's any more once the row is gone.
    private static let isAboutSomething = """
        (h.kind = 'missing_locally' OR EXISTS (SELECT 1 FROM subscriptions AS s
            WHERE s.bundle_id = h.bundle_id AND s.environment = h.environment
                AND s.original_transaction_id = h.original_transaction_id))
        """

    private static let wasLookedAt = """
        EXISTS (SELECT 1 FROM trueup_pass_rows AS p
            WHERE p.pass_id = ?1 AND p.bundle_id = h.bundle_id
                AND p.environment = h.environment
                AND p.original_transaction_id = h.original_transaction_id
                AND (p.verdict = \(VerdictCode.inserted.rawValue) OR p.verdict IN (
                        \(VerdictCode.match.rawValue), \(VerdictCode.discrepancy.rawValue))
                    AND (p.look >= \(FindingResolution.neededLook)
                        OR \(FindingResolution.isOfCurrentPeriod))))
        """
}
