import GRDB
import Subscriptions

/// What the last runs did about one subscription.
///
/// A pass's rows are deleted once a run closes it. What stays are the last check, undecided rows,
/// rows in flight, and the findings that each run reported: a night in between that found a match leaves no trace.
struct SubscriptionNights {
    let db: Database
    private let about: SubscriptionExplanation

    init(db: Database, about explanation: SubscriptionExplanation) {
        self.db = db
        about = explanation
    }

    private struct Run {
        let sequence: Int64
        let passID: Int64
        let started: Timestamp
        let isEnded: Bool
        let settles: Bool
    }

    /// Oldest first; runs that judge no rows (a plan, an undo) are left out.
    func last(_ limit: Int) throws -> [SubscriptionNight] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT run_seq, pass_id, started, ended IS NOT NULL, run_id, job, mode,
                    exit_status, narrowing
                FROM trueup_runs WHERE job NOT LIKE 'apply %' AND job NOT LIKE 'undo %'
                ORDER BY run_seq DESC LIMIT ?
                """, arguments: [limit])
        return try rows.reversed().map { row in
            let narrowing = TextList.decode(row.requiredText(at: 8))
            let mode = row.requiredText(at: 6)
            let run = Run(
                sequence: row.integer(at: 0) ?? 0, passID: row.integer(at: 1) ?? 0,
                started: row.time(at: 2) ?? Timestamp(unixMilliseconds: 0),
                isEnded: row.integer(at: 3) == 1,
                settles: mode == RunMode.apply.rawValue && isComplete(narrowing))
            return SubscriptionNight(
                runID: row.requiredText(at: 4), job: row.requiredText(at: 5), mode: mode,
                started: run.started,
                exitStatus: row.text(at: 7).flatMap(ExitStatus.init(rawValue:)),
                narrowing: narrowing, look: try look(of: run))
        }
    }

    /// Whether a run leaves out nothing of the subscription's app.
    private func isComplete(_ narrowing: [String]) -> Bool {
        guard RunHeader.isForAppsAlone(narrowing) else { return narrowing.isEmpty }
        let app = "\(about.key.bundleID)/\(about.key.environment.lowercased())"
        return narrowing.contains(RunHeader.appNarrowing + app)
    }

    private func look(of run: Run) throws -> SubscriptionNight.Look {
        let reported = try reported(by: run)
        if let asked = reported.first(where: { !$0.isCarried }) {
            return .asked(because: asked.because)
        }
        if let reason = try undecided(in: run) { return .undecided(reason) }
        if try wasInFlight(in: run) { return .inFlight }
        if about.check?.askedAt == run.started { return .judged }
        if let staged = try staged(by: run) { return staged }
        if !reported.isEmpty { return .carried }
        // A run that settles what it asks about would have left a younger check.
        guard run.settles, run.isEnded, let check = about.check, check.askedAt < run.started else {
            return .unknown
        }
        return .notAsked
    }

    /// The findings about the subscription that a run reported.
    private func reported(
        by run: Run
    ) throws -> [(isCarried: Bool, because: QuestionReason?)] {
        try about.findings.flatMap { known in
            try Row.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT f.is_carried, f.asked_because FROM trueup_pass_findings AS f
                        JOIN trueup_run_findings AS r
                            ON r.run_seq = ? AND r.finding_seq = f.finding_seq
                        WHERE f.pass_id = ? AND f.finding_id = ?
                            AND f.outcome_original_transaction_id IS NOT NULL
                        """), arguments: [run.sequence, run.passID, known.findingID]
            ).map { row in
                (row.integer(at: 0) != 0, row.text(at: 1).flatMap(QuestionReason.init(rawValue:)))
            }
        }
    }

    private func undecided(in run: Run) throws -> String? {
        try String.fetchOne(
            db,
            sql: """
                SELECT reason FROM trueup_run_undecided
                WHERE run_seq = ? AND bundle_id = ? AND environment = ?
                    AND original_transaction_id = ?
                """, arguments: [run.sequence] + about.key.arguments)
    }

    private func wasInFlight(in run: Run) throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (SELECT 1 FROM trueup_run_in_flight
                    WHERE run_seq = ? AND bundle_id = ? AND environment = ?
                        AND original_transaction_id = ?)
                """, arguments: [run.sequence] + about.key.arguments) ?? false
    }

    /// From a pass that is not closed: its rows are still there.
    private func staged(by run: Run) throws -> SubscriptionNight.Look? {
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT verdict, reason, asked_because FROM trueup_pass_rows
                WHERE pass_id = ? AND bundle_id = ? AND environment = ?
                    AND original_transaction_id = ?
                """, arguments: [run.passID] + about.key.arguments)
        guard let row, let verdict = VerdictCode(rawValue: row.integer(at: 0) ?? -1) else {
            return nil
        }
        switch verdict {
        case .match, .discrepancy, .inserted:
            let because = row.integer(at: 2).flatMap { QuestionReason(rank: $0) }
            return because == nil ? .judged : .asked(because: because)
        case .excluded where row.text(at: 1) == ExclusionReason.inFlight.rawValue:
            return .inFlight
        case .undecided, .excluded: return .undecided(row.text(at: 1) ?? "")
        case .noted: return nil
        }
    }
}
