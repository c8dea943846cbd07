import GRDB
import Reconciliation
import Subscriptions

/// Open findings of the job's earlier runs that a checkpoint did not examine: every report of the
/// job lists them until a run shows that they are gone.
///
/// A finding that the checkpoint states itself, perhaps of a later period, is not repeated. Another
/// job may have seen a finding since: its newest report is the one that is carried.
struct CarriedFindings {
    let db: Database
    let passID: Int64
    let job: String
    /// As it is stored with the run.
    let filter: String

    /// Carries a chunk of them; returns the id with which the next one begins.
    func carry(from first: String) throws -> String? {
        let next = try OpenFindings.next(after: StoreLimits.correctionsPerChunk, from: first, db)
        let open = try FindingExamination.all(
            inPass: passID,
            where: """
                h.state IN \(OpenFindings.states) AND h.finding_id >= ?2 AND h.finding_id < ?3
                    AND EXISTS (SELECT 1 FROM trueup_finding_jobs AS j
                        WHERE j.finding_id = h.finding_id AND j.job = ?4)
                    AND \(OpenFindings.isOfAnApp(filters: "?5"))
                    AND h.kind NOT IN \(OpenFindings.kindsOfNotifications)
                    AND NOT \(OpenFindings.isStated)
                """, [first, next ?? "~", job, filter], db)
        for item in open where !item.finding.isGone(by: item.examination) {
            try carry(item.finding)
        }
        let repeated = try FindingExamination.all(
            inPass: passID,
            where: """
                h.finding_id IN (
                        SELECT f.finding_id FROM trueup_pass_findings AS f
                        WHERE \(Self.isRepeatedAsOpen) AND f.finding_id >= ?2 AND f.finding_id < ?3)
                    AND h.original_transaction_id IS NOT NULL
                """, [first, next ?? "~"], db)
        for item in repeated where item.finding.isGone(by: item.examination) {
            try drop(item.finding)
        }
        return next
    }

    /// Copies the finding as it was reported last.
    private func carry(_ finding: RememberedFinding) throws {
        // This run did not ask Apple about it.
        let columns = OutcomeStaging.findingColumns.filter {
            $0 != "action" && $0 != "asked_because"
        }
        .joined(separator: ", ")
        try db.executeCached(
            """
            INSERT OR IGNORE INTO trueup_pass_findings (pass_id, \(columns), action, is_carried)
            SELECT ?1, \(columns), CASE action WHEN 'refused' THEN 'refused' ELSE 'none' END, 1
            FROM trueup_pass_findings
            WHERE pass_id = ?2 AND finding_id = ?3 AND (superseded_by IS NULL OR is_carried = 1)
                AND (pass_id <> ?1 OR is_carried = 1)
            ORDER BY superseded_by IS NOT NULL, is_carried, finding_seq DESC LIMIT 1
            """, [passID, finding.checkpoint, finding.findingID])
    }

    /// No longer repeats a finding that an unpublished report would have listed as open, and that
    /// this checkpoint shows to be gone.
    ///
    /// One that names no subscription is repeated all the same: its source may show it only once.
    private func drop(_ finding: RememberedFinding) throws {
        try db.executeCached(
            """
            UPDATE trueup_pass_findings AS f INDEXED BY trueup_pass_findings_owed
            SET superseded_by = (SELECT max(run_seq) FROM trueup_runs WHERE pass_id = ?1)
            WHERE \(Self.isRepeatedAsOpen) AND f.finding_id = ?2
            """, [passID, finding.findingID])
    }

    private static let isRepeatedAsOpen = """
        f.pass_id = ?1 AND f.is_carried = \(UnpublishedFindings.mark) AND f.superseded_by IS NULL
            AND f.action NOT IN ('corrected', 'inserted', 'recovered')
            AND f.kind NOT IN \(OpenFindings.kindsOfNotifications)
        """
}

/// Adds the rows of a job's open findings to the queue, a chunk of findings at a time.
///
/// It is done before the run is recorded: what a killed process leaves, the next run does again.
struct FindingQuestions: Sendable {
    enum Cause: CaseIterable {
        /// The settings that decide what is corrected are no longer those of the job's run before.
        ///
        /// The lines of such findings left the queue when nothing was to be corrected, and the row
        /// gives no other reason to ask.
        case otherSettings
        /// A check, or a run that left out rows, was the last to examine them.
        ///
        /// Such a run leaves no note of how it checked the row. Where the company fixes the row
        /// itself, the row is again as it was checked before, and nothing else checks it; nor does
        /// anything where Apple's side changed.
        case unnotedChecks
    }

    let run: RunHeader
    let cause: Cause

    private var filter: String { TextList.encode(run.filters) }

    /// A condition: the run `r` leaves no notes about the rows that it checks.
    private static let notesNothing = """
        (r.mode = '\(RunMode.check.rawValue)' OR r.narrowing <> ''
            AND instr(replace(char(10) || r.narrowing,
                char(10) || '\(RunHeader.appFilterPrefix)', ''), char(10)) > 0)
        """

    private static let kindsFixedByAnswer = FindingKind.allCases.filter(\.isFixedByAnswer)
        .map { "'\($0.rawValue)'" }.joined(separator: ", ")

    /// Whether there may be such findings.
    func isNeeded(_ db: Database) throws -> Bool {
        switch cause {
        case .otherSettings:
            guard run.worksOffQueue else { return false }
            let before = try db.text(
                """
                SELECT settings_digest FROM trueup_runs
                WHERE job = ? AND mode = ? AND narrowing = ?
                    AND pass_id NOT IN (SELECT pass_id FROM trueup_applications)
                ORDER BY run_seq DESC LIMIT 1
                """, [run.job, run.mode.rawValue, filter])
            return before.map { $0 != run.settingsDigest } ?? false
        case .unnotedChecks:
            // A check over every row examines all of them anyway.
            guard run.judgesRows, run.leavesOutNothingOfItsApps,
                run.worksOffQueue || !run.coversEveryRow
            else { return false }
            return try db.holds(
                """
                trueup_runs AS r WHERE \(Self.notesNothing)
                    AND r.pass_id NOT IN (SELECT pass_id FROM trueup_applications)
                    AND r.run_seq >= ifnull((SELECT max(run_seq) FROM trueup_runs
                        WHERE job = ? AND mode = ? AND narrowing = ? AND pass_id NOT IN
                            (SELECT pass_id FROM trueup_applications)), 0)
                """, [run.job, run.mode.rawValue, filter])
        }
    }

    /// A condition on the finding `h`.
    private var condition: String {
        switch cause {
        case .otherSettings: "h.kind IN (\(Self.kindsFixedByAnswer))"
        case .unnotedChecks:
            // Rows that were never checked are checked anyway.
            """
            EXISTS (SELECT 1 FROM trueup_checks AS c
                WHERE \(SubscriptionKey.agree("c", "h")))
            AND EXISTS (SELECT 1 FROM trueup_pass_findings AS f
                JOIN trueup_runs AS r ON r.pass_id = f.pass_id
                WHERE f.pass_id = h.last_pass_id AND f.finding_id = h.finding_id
                    AND f.superseded_by IS NULL AND f.is_carried = 0
                    AND \(Self.notesNothing))
            """
        }
    }

    /// Adds the rows of a chunk of findings; returns the id with which the next one begins.
    func ask(from first: String, _ db: Database) throws -> String? {
        let next = try OpenFindings.next(after: StoreLimits.scatteredRowsPerChunk, from: first, db)
        let reason = QuestionReason.heldBack
        try db.execute(
            sql: """
                \(QuestionQueue.insertion)
                SELECT s.bundle_id, s.environment, s.original_transaction_id, ?1, ?2, ?3, 0
                FROM trueup_findings AS h
                JOIN subscriptions AS s ON \(SubscriptionKey.agree("s", "h"))
                WHERE h.state IN \(OpenFindings.states)
                    AND h.finding_id >= ?4 AND h.finding_id < ?5
                    AND EXISTS (SELECT 1 FROM trueup_finding_jobs AS j
                        WHERE j.finding_id = h.finding_id AND j.job = ?6)
                    AND \(OpenFindings.isOfAnApp(filters: "?7"))
                    AND \(condition)
                \(QuestionQueue.wakingUp)
                """,
            arguments: [
                reason.rank, QueuedQuestion.priority(reason, isEntitling: true),
                run.started.unixMilliseconds, first, next ?? "~", run.job, filter,
            ])
        return next
    }
}
