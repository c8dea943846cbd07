import Foundation
import GRDB
package import Subscriptions

/// The clusters of causes that a run reports.
struct RunCauses {
    let db: Database

    /// How far back a cause is looked for in earlier runs.
    private static let daysBefore: Int64 = 7
    private static let day = Milliseconds.perDay

    /// Writes them, each with the number of days before on which a run found the same cause.
    func write(_ causes: [CauseCluster], of run: RunReference, started: Timestamp) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        for (position, cause) in causes.enumerated() {
            var cause = cause
            cause.earlierDays = try earlierDays(with: cause, before: run.sequence, started)
            let facts = String(decoding: try encoder.encode(cause), as: UTF8.self)
            try db.execute(
                sql: "INSERT INTO trueup_run_causes VALUES (?, ?, ?, ?, ?, ?)",
                arguments: [
                    run.sequence, position, cause.bundleID, cause.environment, cause.cause, facts,
                ])
        }
    }

    func read(of sequence: Int64) throws -> [CauseCluster] {
        let decoder = JSONDecoder()
        return try String.fetchAll(
            db, sql: "SELECT facts FROM trueup_run_causes WHERE run_seq = ? ORDER BY position",
            arguments: [sequence]
        ).map { facts in
            do {
                return try decoder.decode(CauseCluster.self, from: Data(facts.utf8))
            } catch {
                throw StoreError.inconsistent(
                    "The bookkeeping holds a cause that this version cannot read. Use the version "
                        + "that wrote it.")
            }
        }
    }

    /// UTC days of the week before on which a run that ended found the same cause.
    private func earlierDays(
        with cause: CauseCluster, before sequence: Int64, _ started: Timestamp
    ) throws -> Int {
        let today = started.unixMilliseconds / Self.day
        return try Int.fetchOne(
            db,
            sql: """
                SELECT count(DISTINCT r.started / \(Self.day)) FROM trueup_runs AS r
                JOIN trueup_run_causes AS c ON c.run_seq = r.run_seq
                WHERE r.run_seq < ? AND r.ended IS NOT NULL AND r.started >= ? AND r.started < ?
                    AND c.bundle_id = ? AND c.environment = ? AND c.cause = ?
                """,
            arguments: [
                sequence, (today - Self.daysBefore) * Self.day, today * Self.day, cause.bundleID,
                cause.environment, cause.cause,
            ]) ?? 0
    }
}

/// The reasons why planned corrections were deferred: the subscription that continues the access
/// they end is not in the table.
struct HeldBackCauses: Sendable {
    let run: RunReference

    private var chunks: PassChunks {
        PassChunks(
            table: "trueup_pass_corrections", number: "correction_id", passID: run.passID,
            rowsPerChunk: StoreLimits.rowsPerChunk)
    }

    /// Where the corrections of the checkpoint begin.
    func first(_ db: Database) throws -> Int64? { try chunks.first(db) }

    /// Stores the reason as the cause of the findings that these corrections would have resolved;
    /// returns where the next chunk begins.
    func write(from first: Int64, _ db: Database) throws -> Int64? {
        let next = try chunks.next(after: first, db)
        let held = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT f.finding_seq, c.continued_by FROM trueup_pass_corrections AS c
                    JOIN trueup_pass_findings AS f ON f.pass_id = c.pass_id
                        AND f.outcome_bundle_id = c.bundle_id
                        AND f.outcome_environment = c.environment
                        AND f.outcome_original_transaction_id = c.original_transaction_id
                        AND f.correction_id = c.correction_id
                    WHERE c.correction_id >= ? AND c.correction_id < ? AND \(chunks.isOfPass("c"))
                        AND c.fate = 'held_back' AND c.superseded_by IS NULL
                        AND f.superseded_by IS NULL
                    """),
            arguments: [first, next ?? Int64.max, run.passID])
        for row in held {
            guard let reason = Self.reason(row.requiredText(at: 1)) else { continue }
            try db.executeCached(
                "INSERT OR REPLACE INTO trueup_run_finding_causes VALUES (?, ?, ?)",
                [run.sequence, row.integer(at: 0), reason])
        }
        return next
    }

    /// The cause, from a correction's `continued_by`; `nil` when it waits for no subscription.
    static func reason(_ continuedBy: String) -> String? {
        TextList.decode(continuedBy).first.map(Finding.causeHeldBack(until:))
    }
}

/// The findings of a checkpoint with what may tell their cause.
extension SQLiteStore {
    /// The parts of the notification histories that the checkpoint has read to their end; nothing
    /// of an app whose history was not read.
    package func historyRead(
        in pass: OpenPass
    ) async throws(StoreError) -> [AppIdentity: NotificationWindow] {
        try await read("reading how far the notification history was read") { db in
            var windows: [AppIdentity: NotificationWindow] = [:]
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT bundle_id, environment, read_from, read_through
                    FROM trueup_pass_history WHERE pass_id = ?
                    """,
                arguments: [pass.passID])
            while let row = try rows.next() {
                guard let environment = AppStoreEnvironment(rawValue: row.requiredText(at: 1)),
                    let start = row.time(at: 2), let end = row.time(at: 3)
                else { continue }
                let app = AppIdentity(bundleID: row.requiredText(at: 0), environment: environment)
                windows[app] = NotificationWindow(start: start, end: end)
            }
            return windows
        }
    }

    /// Findings of the checkpoint in the order in which they were staged, with the notifications of
    /// their subscriptions.
    package func findingsToExplain(
        after sequence: Int64?, limit: Int, in pass: OpenPass
    ) async throws(StoreError) -> [FindingToExplain] {
        try await read("reading findings to explain") { db in
            try ExplanationPage(db: db, passID: pass.passID).findings(
                after: sequence, limit: limit)
        }
    }

    /// Causes of findings, by sequence number, in the last report, where they have been open since
    /// and it states the same values; no reasons for refused corrections.
    ///
    /// A run reads Apple's history from where the one before ended, and not again what was read
    /// before.
    package func causesFoundBefore(
        of sequences: [Int64]
    ) async throws(StoreError) -> [Int64: String] {
        guard !sequences.isEmpty else { return [:] }
        return try await read("reading causes that were found before") { db in
            var causes: [Int64: String] = [:]
            for sequence in sequences {
                causes[sequence] = try db.text(
                    cached: """
                        SELECT c.cause FROM trueup_pass_findings AS f
                        JOIN trueup_findings AS h ON h.finding_id = f.finding_id
                            AND h.state IN \(OpenFindings.states)
                        JOIN trueup_pass_findings AS g ON g.pass_id = h.last_pass_id
                            AND g.finding_id = f.finding_id AND g.superseded_by IS NULL
                            AND ifnull(g.transaction_id, '') = ifnull(f.transaction_id, '')
                        JOIN trueup_run_finding_causes AS c ON c.finding_seq = g.finding_seq
                            AND c.run_seq = (SELECT max(r.run_seq) FROM trueup_runs AS r
                                WHERE r.pass_id = g.pass_id AND r.ended IS NOT NULL)
                        JOIN trueup_run_findings AS x ON x.run_seq = c.run_seq
                            AND x.finding_seq = c.finding_seq AND x.action IN ('planned', 'none')
                        WHERE f.finding_seq = ? AND g.pass_id <> f.pass_id
                            AND g.local_value = f.local_value AND g.apple_value = f.apple_value
                        """, [sequence])
            }
            return causes
        }
    }

    /// Keeps the causes of findings, by sequence number, for this run's report.
    ///
    /// They count once the run is concluded; a run killed before that leaves none behind.
    package func explain(
        _ causes: [Int64: String], in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) {
        try await write("storing the causes of findings") { db in
            let reference = try RunReference(run, in: pass, db)
            let statement = try db.cachedStatement(
                sql: "INSERT OR REPLACE INTO trueup_run_finding_causes VALUES (?, ?, ?)")
            for (sequence, cause) in causes.sorted(by: { $0.key < $1.key }) {
                try statement.execute(arguments: [reference.sequence, sequence, cause])
            }
        }
    }
}

/// Reads findings in the order in which they were staged, with their subscription's notifications.
struct ExplanationPage {
    let db: Database
    let passID: Int64

    /// Of one subscription; none has so many in the time that Apple keeps them.
    private static let notificationsPerSubscription = 500

    func findings(after sequence: Int64?, limit: Int) throws -> [FindingToExplain] {
        let start = try sequence.map { $0 + 1 } ?? first()
        guard let start else { return [] }
        let counts = RunSummaryReader.isCounted(
            among: "(SELECT * FROM trueup_pass_findings WHERE superseded_by IS NULL) AS g")
        // By row number: an index would have SQLite sort the whole pass for each page.
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(Finding.columns), f.finding_seq,
                    CASE WHEN c.fate IN ('planned', 'applied') THEN f.correction_id END,
                    f.changed_at, f.action,
                    CASE WHEN c.fate = 'held_back' THEN c.continued_by ELSE '' END, (\(counts))
                FROM trueup_pass_findings AS f NOT INDEXED
                LEFT JOIN trueup_pass_corrections AS c ON c.correction_id = f.correction_id
                WHERE f.finding_seq >= ? AND f.pass_id = ? AND f.superseded_by IS NULL
                    AND f.is_carried = 0
                ORDER BY f.finding_seq LIMIT ?
                """)
        var page: [FindingToExplain] = []
        let rows = try Row.fetchCursor(statement, arguments: [start, passID, limit])
        while let row = try rows.next() {
            var columns = RowColumns(row)
            var finding = try Finding(&columns)
            let (sequence, correction) = (columns.integer() ?? 0, columns.integer())
            finding.changedAt = columns.time()
            finding.action = FindingAction(rawValue: columns.requiredText()) ?? .none
            if let reason = HeldBackCauses.reason(columns.requiredText()) {
                finding.action = .refused
                finding.cause = reason
            }
            var item = FindingToExplain(
                sequence: sequence, finding: finding, correction: correction, notifications: [])
            item.countsAmount = columns.flag()
            page.append(item)
        }
        var known: (key: SubscriptionKey, notifications: [TracedNotification])?
        for index in page.indices {
            guard let key = page[index].finding.key else { continue }
            if known?.key != key { known = (key, try notifications(of: key)) }
            page[index].notifications = known?.notifications ?? []
        }
        return page
    }

    /// Findings of earlier checkpoints are kept; their rows must not be read through each time.
    private func first() throws -> Int64? {
        try Int64.fetchOne(
            db,
            sql: """
                SELECT min(finding_seq) FROM trueup_pass_findings
                WHERE pass_id = ? AND superseded_by IS NULL
                """,
            arguments: [passID])
    }

    private func notifications(of key: SubscriptionKey) throws -> [TracedNotification] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT notification_uuid, notification_type, subtype, signed_date, attempts,
                    received_at, is_reported
                FROM trueup_pass_deliveries
                WHERE pass_id = ? AND bundle_id = ? AND environment = ?
                    AND original_transaction_id = ?
                ORDER BY signed_date DESC, notification_uuid LIMIT ?
                """)
        var found: [TracedNotification] = []
        let rows = try Row.fetchCursor(
            statement,
            arguments: [passID] + key.arguments + [Self.notificationsPerSubscription])
        while let row = try rows.next() {
            found.append(
                TracedNotification(
                    notificationUUID: row.requiredText(at: 0),
                    notificationType: row.requiredText(at: 1), subtype: row.text(at: 2),
                    signedDate: row.time(at: 3) ?? Timestamp(unixMilliseconds: 0),
                    originalTransactionID: key.originalTransactionID,
                    sendAttempts: TextList.attempts(row.requiredText(at: 4)),
                    receivedAt: row.time(at: 5), isReported: row.integer(at: 6) == 1))
        }
        return found
    }
}
