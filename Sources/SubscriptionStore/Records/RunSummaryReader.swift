import GRDB
import Subscriptions

/// Reads what a concluded run says of itself.
struct RunSummaryReader {
    let db: Database
    let sequence: Int64

    func summary() throws -> RunSummary {
        guard
            let row = try Row.fetchOne(
                db,
                sql: """
                    SELECT run_id, job, mode, started, apps, actor, tool_version, settings_digest,
                        narrowing, not_found_confirmations, covers_every_row, ended, statuses,
                        messages, limits, closes_pass, coverage, resumed_from, ledger_head,
                        pass_id, control, measures
                    FROM trueup_runs WHERE run_seq = ?
                    """,
                arguments: [sequence])
        else {
            throw StoreError.inconsistent(
                "A run was deleted while its record was read. Nothing was written. This is a fault "
                    + "of trueup, please report it.")
        }
        var columns = RowColumns(row)
        let header = header(&columns)
        var conclusion = RunConclusion(
            ended: columns.time() ?? header.started,
            statuses: columns.list().compactMap(ExitStatus.init(rawValue:)),
            messages: columns.list(), limits: columns.list(),
            calls: try Self.calls(of: sequence, db),
            closesPass: columns.flag())
        conclusion.causes = try RunCauses(db: db).read(of: sequence)
        conclusion.coverage = try StoredJSON.decode(columns.text())
        let (resumedFrom, ledgerHead) = (columns.text(), columns.text())
        let passID = columns.integer() ?? 0
        var summary = RunSummary(
            header: header, conclusion: conclusion, resumedFrom: resumedFrom,
            totals: try Self.totals(of: sequence, db), findings: try findings(),
            money: try money(), corrections: try corrections(passID: passID, runID: header.runID),
            ledgerHead: ledgerHead ?? LedgerEntry.firstPreviousHash,
            evidence: try EvidenceCost(ofRun: sequence, db))
        summary.reportedBefore = try reportedBefore(passID: passID, runID: header.runID)
        summary.fills = try fills(passID: passID, runID: header.runID)
        summary.totals.filled = try filled(passID: passID)
        summary.plan = try PlanReader(db: db).seal(ofRun: sequence)
        summary.undoOf = try String.fetchOne(
            db, sql: "SELECT undo_of FROM trueup_applications WHERE pass_id = ?",
            arguments: [passID])
        summary.control = try StoredJSON.decode(columns.text())
        summary.measures = try StoredJSON.decode(columns.text())
        summary.acknowledged = try Acknowledgements(db: db).reported(byRun: sequence)
        summary.liftedGuards = try GuardLift.fetchAll(
            db, where: "run_seq = ?", arguments: [sequence])
        summary.business = try BusinessRecord(
            upTo: sequence, of: header.apps, on: header.started.dayNumber, db)
        return summary
    }

    private func header(_ columns: inout RowColumns) -> RunHeader {
        var header = RunHeader(
            runID: columns.requiredText(), job: columns.requiredText(),
            mode: RunMode(rawValue: columns.requiredText()) ?? .check,
            started: columns.requiredTime(), apps: TextList.apps(columns.requiredText()),
            actor: columns.requiredText(), toolVersion: columns.requiredText(),
            settingsDigest: columns.requiredText(), filters: columns.list(),
            notFoundConfirmations: columns.number() ?? 0)
        header.coversEveryRow = columns.flag()
        return header
    }

    static func totals(of sequence: Int64, _ db: Database) throws -> RunTotals {
        var totals = RunTotals()
        try db.forEachRow(
            "SELECT rows, verdict, reason FROM trueup_run_totals WHERE run_seq = ?", [sequence]
        ) { row in
            try totals.add(
                row.number(at: 0) ?? 0, code: row.integer(at: 1) ?? 0,
                reason: row.requiredText(at: 2))
        }
        return totals
    }

    static func calls(of sequence: Int64, _ db: Database) throws -> [CallCount] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT endpoint, result, calls FROM trueup_run_calls WHERE run_seq = ?
                ORDER BY position
                """,
            arguments: [sequence]
        ).map { row in
            CallCount(
                endpoint: row.requiredText(at: 0), result: row.requiredText(at: 1),
                calls: row.number(at: 2) ?? 0)
        }
    }

    func findings() throws -> [FindingCount] {
        try FindingCount.read(
            db,
            sql: """
                SELECT f.kind, f.severity, r.state, count(*) FROM trueup_run_findings AS r
                JOIN trueup_pass_findings AS f ON f.finding_seq = r.finding_seq
                WHERE r.run_seq = ? GROUP BY f.kind, f.severity, r.state
                """,
            arguments: [sequence])
    }

    /// Added up here and not by SQLite: an absurd amount must not end the report with an overflow.
    func money() throws -> [MoneyTotal] {
        var totals: [[String]: MoneyTotal] = [:]
        let others = """
            trueup_pass_findings AS g CROSS JOIN trueup_run_findings AS q
                ON q.run_seq = r.run_seq AND q.finding_seq = g.finding_seq
            """
        try db.forEachRow(
            """
            SELECT f.currency, f.direction, f.amount FROM trueup_run_findings AS r
            JOIN trueup_pass_findings AS f ON f.finding_seq = r.finding_seq
            WHERE r.run_seq = ? AND \(RunSummaryReader.isCounted(among: others))
            """, [sequence]
        ) { row in
            guard let direction = Direction(rawValue: row.requiredText(at: 1)) else { return }
            let currency = row.requiredText(at: 0)
            let group = [currency, direction.rawValue]
            var total =
                totals[group]
                ?? MoneyTotal(currency: currency, direction: direction, amount: 0, findings: 0)
            let amount = row.integer(at: 2) ?? 0
            let (sum, overflow) = total.amount.addingReportingOverflow(amount)
            total.amount = overflow ? (amount > 0 ? .max : .min) : sum
            total.findings += 1
            totals[group] = total
        }
        return totals.values.sorted {
            ($0.currency, $0.direction.rawValue) < ($1.currency, $1.direction.rawValue)
        }
    }

    /// Rows that are only filled, periods included: their corrections resolve no finding.
    private func filled(passID: Int64) throws -> Int {
        try db.count(
            """
            SELECT count(*) FROM (
                SELECT 1 FROM trueup_pass_corrections
                WHERE pass_id = ?2 AND staged_by <= ?1 AND ifnull(superseded_by > ?1, 1)
                    AND target IN ('update', 'update_period') AND undo_of IS NULL
                    AND CASE WHEN fate_by <= ?1 THEN fate ELSE 'planned' END
                        IN ('planned', 'applied')
                GROUP BY bundle_id, environment, original_transaction_id
                HAVING max(kinds <> '') = 0)
            """, [sequence, passID])
    }

    /// Counted as `corrections` are: of the plan what is not written, and of the ledger what is
    /// reported.
    private func fills(passID: Int64, runID: String) throws -> [CorrectionFate: FillCounts] {
        let planned = try Row.fetchOne(
            db,
            sql: """
                SELECT ifnull(sum(target <> 'period'), 0),
                    ifnull(sum(target = 'period'), 0)
                FROM trueup_pass_corrections
                WHERE pass_id = ?2 AND staged_by <= ?1 AND ifnull(superseded_by > ?1, 1)
                    AND kinds = '' AND undo_of IS NULL
                    AND CASE WHEN fate_by <= ?1 THEN fate ELSE 'planned' END = 'planned'
                """,
            arguments: [sequence, passID])
        let applied = try Row.fetchOne(
            db,
            sql: """
                SELECT count(*) - ifnull(sum(e.action = 'insert' AND e.target_table = 'transactions'), 0),
                    ifnull(sum(e.action = 'insert' AND e.target_table = 'transactions'), 0)
                FROM \(ReportedEntries.source) AS r JOIN trueup_ledger AS e ON e.entry = r.entry
                WHERE r.run_id = ? AND e.kinds = '' AND e.undo_of IS NULL
                """,
            arguments: [runID])
        let counts = [(CorrectionFate.planned, planned), (.applied, applied)].map { fate, row in
            (fate, FillCounts(filled: row?.number(at: 0) ?? 0, periods: row?.number(at: 1) ?? 0))
        }
        return Dictionary(counts.filter { $0.1.all > 0 }) { first, _ in first }
    }

    /// `applied` is what the report lists: entries that a killed run wrote are among them, those
    /// that an earlier run of the checkpoint has reported are not.
    private func corrections(passID: Int64, runID: String) throws -> [CorrectionFate: Int] {
        var counts: [CorrectionFate: Int] = [:]
        try db.forEachRow(
            """
            SELECT CASE WHEN fate_by <= ?1 THEN fate ELSE 'planned' END AS seen, count(*)
            FROM trueup_pass_corrections
            WHERE pass_id = ?2 AND staged_by <= ?1 AND ifnull(superseded_by > ?1, 1)
            GROUP BY seen
            """, [sequence, passID]
        ) { row in
            guard let fate = CorrectionFate(rawValue: row.requiredText(at: 0)) else { return }
            counts[fate] = row.number(at: 1)
        }
        let reported = try db.count(
            "SELECT count(*) FROM \(ReportedEntries.source) WHERE run_id = ?", [runID])
        counts[.applied] = reported == 0 ? nil : reported
        return counts
    }

    private func reportedBefore(passID: Int64, runID: String) throws -> Int {
        try db.count(
            """
            SELECT count(*) FROM trueup_runs AS r
            JOIN trueup_ledger AS l ON l.run_id = r.run_id
            WHERE r.pass_id = ? AND r.run_seq < ? AND NOT EXISTS (
                SELECT 1 FROM trueup_reported_ranges AS s
                WHERE s.run_id = ? AND l.entry BETWEEN s.first_entry AND s.last_entry)
            """, [passID, sequence, runID])
    }
}

extension FindingCount {
    /// Reads kind, severity, state and count, and sorts them: the most severe first.
    static func read(
        _ db: Database, sql: String, arguments: StatementArguments = []
    ) throws -> [FindingCount] {
        try Row.fetchAll(db, sql: sql, arguments: arguments).compactMap { row in
            guard let kind = FindingKind(rawValue: row.requiredText(at: 0)),
                let severity = Severity(rawValue: row.requiredText(at: 1)),
                let state = FindingState(rawValue: row.requiredText(at: 2))
            else { return nil }
            return FindingCount(
                kind: kind, severity: severity, state: state, findings: row.number(at: 3) ?? 0)
        }.sorted { left, right in
            guard left.severity == right.severity else { return left.severity > right.severity }
            return (left.kind.rawValue, left.state.rawValue)
                < (right.kind.rawValue, right.state.rawValue)
        }
    }
}
