import Foundation
import GRDB
package import Subscriptions

/// What a run found, as it is stored with the run.
enum FiguresText {
    static func encode(_ figures: RunFigures) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(figures), as: UTF8.self)
    }

    static func decode(_ text: String?) throws -> RunFigures? {
        try text.map { try JSONDecoder().decode(RunFigures.self, from: Data($0.utf8)) }
    }
}

extension RunSummaryReader {
    /// The findings by kind and the money of the run.
    func figures() throws -> RunFigures {
        var kinds: [String: Int] = [:]
        for count in try findings() { kinds[count.kind.rawValue, default: 0] += count.findings }
        return RunFigures(kinds: kinds, money: try money())
    }
}

extension SQLiteRunRecord {
    /// Runs of the same job and mode that judged rows themselves, oldest first.
    ///
    /// Runs exclude each other, so that those which began before this one had all ended, or were
    /// killed, and nothing of them changes later.
    package func forEachEarlierRun(
        since first: Timestamp, _ body: (EarlierRun) throws -> Void
    ) throws {
        try store.stream("reading the runs before \(runID)") { db in
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT e.run_id, e.started, CASE WHEN e.ended IS NULL THEN NULL
                            ELSE e.exit_status END,
                        e.narrowing, e.coverage, e.found, e.run_seq, e.measures, r.narrowing
                    FROM trueup_runs AS e
                    JOIN trueup_runs AS r ON r.job = e.job AND r.mode = e.mode
                    WHERE r.run_seq = ?1 AND e.run_seq < ?1 AND e.started >= ?2
                        AND e.started < r.started
                        AND NOT EXISTS (SELECT 1 FROM trueup_applications AS a
                            WHERE a.pass_id = e.pass_id)
                    ORDER BY e.run_seq
                    """,
                arguments: [sequence, first.unixMilliseconds])
            while let row = try rows.next() {
                let calls = try RunSummaryReader.calls(of: row.integer(at: 6) ?? 0, db)
                var run =
                    EarlierRun(
                        runID: row.requiredText(at: 0),
                        started: row.time(at: 1) ?? Timestamp(unixMilliseconds: 0),
                        exitStatus: row.text(at: 2).flatMap(ExitStatus.init(rawValue:)),
                        isNarrowed: Self.isNarrowed(row),
                        totals: try RunSummaryReader.totals(of: row.integer(at: 6) ?? 0, db),
                        calls: calls.reduce(0) { $0 + $1.calls },
                        coverage: try CoverageText.decode(row.text(at: 4)),
                        figures: try FiguresText.decode(row.text(at: 5)))
                for count in calls {
                    run.callsByEndpoint[count.endpoint, default: 0] += count.calls
                }
                run.measures = try MeasureText.decode(row.text(at: 7))
                try body(run)
            }
        }
    }

    /// Whether an earlier run left out rows that this one is about.
    ///
    /// A run for some apps alone is held against those for the same apps.
    private static func isNarrowed(_ row: Row) -> Bool {
        let earlier = row.requiredText(at: 3)
        let isAlike =
            earlier == row.requiredText(at: 8)
            && RunHeader.isForAppsAlone(TextList.decode(earlier))
        return !earlier.isEmpty && !isAlike
    }

    /// What the report stated beside the stored run; `nil` for runs of versions that did not keep it.
    package func context() throws -> String? {
        try store.stream("reading the report's context of \(runID)") { db in
            try String.fetchOne(
                db, sql: "SELECT report_context FROM trueup_runs WHERE run_seq = ?",
                arguments: [sequence])
        }
    }
}

extension SQLiteStore {
    /// Keeps what the report of a run states beside the stored run, before it is written.
    package func keepReportContext(
        _ context: String, ofRun runID: String
    ) async throws(StoreError) {
        try await write("keeping what the report of \(runID) states") { db in
            try db.execute(
                sql: "UPDATE trueup_runs SET report_context = ? WHERE run_id = ?",
                arguments: [context, runID])
        }
    }

    /// What the reports of the newest runs state beside them, as `keepReportContext` left it; the
    /// newest first, without runs whose reports are not known to be published.
    ///
    /// - Parameter limit: How many at most.
    /// - Returns: Each with its run.
    /// - Throws: `StoreError` when the database cannot be read.
    package func newestReportContexts(
        _ limit: Int
    ) throws(StoreError) -> [(runID: String, context: String)] {
        let doing = "reading what the newest reports state"
        do {
            return try stream(doing) { db in
                try Row.fetchAll(
                    db,
                    sql: """
                        SELECT run_id, report_context FROM trueup_runs
                        WHERE report_context IS NOT NULL
                            AND run_id NOT IN (SELECT run_id FROM trueup_awaited_reports)
                        ORDER BY run_seq DESC LIMIT ?
                        """,
                    arguments: [limit]
                ).map { ($0.requiredText(at: 0), $0.requiredText(at: 1)) }
            }
        } catch {
            throw StoreError(error, doing: doing)
        }
    }
}
