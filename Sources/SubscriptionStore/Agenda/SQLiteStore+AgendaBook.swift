import GRDB
package import Subscriptions

/// What must be asked, and why.
extension SQLiteStore {
    package func schedule(
        _ request: ScheduleRequest, in pass: OpenPass, run: RunHeader,
        level: @escaping @Sendable ([Int: Int]) -> Int,
        due: @escaping @Sendable (ScheduledRow, SweepEnds) -> QuestionReason?
    ) async throws(StoreError) -> ScheduleCounts {
        let doing = "finding out who must be asked about"
        let passID = pass.passID
        if let known = try await read(doing, { db in try ScheduledPass(db, passID).counts() }) {
            return known
        }
        var counts = ScheduleCounts()
        counts.seed = request.seed
        let ends = try await read(doing) { db in
            try SweepOrder(db: db, request: request).ends(level: level)
        }
        counts.oldestCheck = try await read(doing) { db in try SweepOrder.oldestCheck(db) }
        let scan = TableScan(request: request, ends: ends, due: due)
        var draw = SampleDraw(request.sample, seed: request.seed)
        var position: StoredKey?
        repeat {
            let start = position
            let chunk = try await read(doing) { db in try scan.chunk(after: start, db) }
            counts.rows += chunk.rows
            counts.quiet += chunk.quiet.count
            for line in chunk.lines { counts.due[line.reason, default: 0] += 1 }
            for key in chunk.quiet { draw.offer(key) }
            var lines = chunk.lines
            if draw.mayTakeEarly { lines += Self.sample(draw.take(), &counts) }
            try await ask(lines, in: passID, doing)
            position = chunk.next
        } while position != nil
        try await ask(Self.sample(draw.take(), &counts), in: passID, doing)
        let found = counts
        try await write(doing) { db in try ScheduledPass(db, passID).note(found) }
        return counts
    }

    private static func sample(
        _ keys: [SubscriptionKey], _ counts: inout ScheduleCounts
    ) -> [AgendaLine] {
        guard !keys.isEmpty else { return [] }
        counts.due[.sample, default: 0] += keys.count
        return keys.map {
            AgendaLine(
                key: $0, reason: .sample, turn: AgendaLine.turn(.sample, isEntitling: false))
        }
    }

    private func ask(
        _ lines: [AgendaLine], in passID: Int64, _ doing: String
    ) async throws(StoreError) {
        for start in stride(from: 0, to: lines.count, by: StoreLimits.rowsPerChunk) {
            let some = Array(lines[start..<min(lines.count, start + StoreLimits.rowsPerChunk)])
            try await write(doing) { db in try AgendaLines(db: db, passID: passID).ask(some) }
        }
    }

    package func lines(
        of part: AgendaPart, after position: AgendaPosition?, limit: Int, in pass: OpenPass
    ) async throws(StoreError) -> [AgendaLine] {
        try await read("reading what must be asked") { db in
            try AgendaLines(db: db, passID: pass.passID).lines(
                of: part, after: position, limit: limit)
        }
    }

    package func coverage(
        kind: RunCoverage.Kind, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) -> RunCoverage {
        try await read("counting what was asked") { db in
            try ScheduledPass(db, pass.passID).coverage(kind: kind)
        }
    }

    package func carryOpenFindings(
        in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) {
        try await inChunks("taking over open findings", from: "") { first, db in
            try CarriedFindings(db: db, passID: pass.passID, job: run.job).carry(from: first)
        }
    }
}

/// What a pass found when it was scheduled, and how much of it is done.
struct ScheduledPass {
    let db: Database
    let passID: Int64

    init(_ db: Database, _ passID: Int64) {
        self.db = db
        self.passID = passID
    }

    /// `nil` before the pass is scheduled.
    func counts() throws -> ScheduleCounts? {
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT scheduled_rows, quiet_rows, oldest_check, sample_seed FROM trueup_passes
                WHERE pass_id = ? AND scheduled_rows IS NOT NULL
                """, arguments: [passID])
        guard let row else { return nil }
        var counts = ScheduleCounts()
        counts.rows = row.number(at: 0) ?? 0
        counts.quiet = row.number(at: 1) ?? 0
        counts.oldestCheck = row.time(at: 2)
        counts.seed = UInt64(bitPattern: row.integer(at: 3) ?? 0)
        counts.due = try byReason(
            """
            SELECT turn / 2, count(*) FROM trueup_pass_questions
            WHERE pass_id = ? AND turn >= \(AgendaLines.firstDueTurn) GROUP BY 1
            """)
        return counts
    }

    func note(_ counts: ScheduleCounts) throws {
        try db.execute(
            sql: """
                UPDATE trueup_passes SET scheduled_rows = ?, quiet_rows = ?, oldest_check = ?,
                    sample_seed = ?
                WHERE pass_id = ?
                """,
            arguments: [
                counts.rows, counts.quiet, counts.oldestCheck?.unixMilliseconds,
                Int64(bitPattern: counts.seed), passID,
            ])
    }

    func coverage(kind: RunCoverage.Kind) throws -> RunCoverage {
        var coverage = RunCoverage(kind: kind)
        let counts = try counts()
        coverage.rows = counts?.rows
        coverage.quiet = counts?.quiet
        coverage.oldestCheck = counts?.oldestCheck
        coverage.asked = try byReason(
            """
            SELECT asked_because, count(*) FROM trueup_pass_rows
            WHERE pass_id = ? AND asked_because IS NOT NULL
                AND verdict IN (\(VerdictCode.match.rawValue),
                    \(VerdictCode.discrepancy.rawValue), \(VerdictCode.undecided.rawValue))
            GROUP BY 1
            """)
        coverage.settledByNotification =
            try Int.fetchOne(
                db,
                sql: """
                    SELECT count(*) FROM trueup_pass_rows
                    WHERE pass_id = ? AND asked_because IS NULL AND signed_date IS NOT NULL
                        AND verdict = \(VerdictCode.match.rawValue)
                    """, arguments: [passID]) ?? 0
        coverage.left = try byReason(Self.left)
        if let counts, counts.due[.sample, default: 0] > 0 {
            coverage.sample = try sample(seed: counts.seed)
        }
        return coverage
    }

    /// Questions of the pass, and what is owed, about which nothing was judged.
    private static let left = """
        SELECT reason, count(*) FROM (
            SELECT turn / 2 AS reason, bundle_id, environment, original_transaction_id
            FROM trueup_pass_questions WHERE pass_id = ?1
            UNION SELECT reason, bundle_id, environment, original_transaction_id
            FROM trueup_agenda) AS q
        WHERE NOT EXISTS (SELECT 1 FROM trueup_pass_rows AS p WHERE p.pass_id = ?1
            AND p.bundle_id = q.bundle_id AND p.environment = q.environment
            AND p.original_transaction_id = q.original_transaction_id
            AND ifnull(p.reason, '') <> '\(UndecidedReason.deadline.rawValue)')
        GROUP BY 1
        """

    /// A drawn row that could not be judged counts as differing.
    private func sample(seed: UInt64) throws -> RunCoverage.Sample {
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT count(*), sum(p.verdict IN (\(VerdictCode.discrepancy.rawValue),
                    \(VerdictCode.undecided.rawValue), \(VerdictCode.excluded.rawValue)))
                FROM trueup_pass_questions AS q
                JOIN trueup_pass_rows AS p ON p.pass_id = q.pass_id
                    AND p.bundle_id = q.bundle_id AND p.environment = q.environment
                    AND p.original_transaction_id = q.original_transaction_id
                WHERE q.pass_id = ? AND q.turn / 2 = \(QuestionReason.sample.rank)
                """, arguments: [passID])
        return RunCoverage.Sample(
            drawn: row?.number(at: 0) ?? 0, differing: row?.number(at: 1) ?? 0, bound: 0,
            seed: seed)
    }

    private func byReason(_ sql: String) throws -> [QuestionReason: Int] {
        var counts: [QuestionReason: Int] = [:]
        for row in try Row.fetchAll(db, sql: sql, arguments: [passID]) {
            guard let reason = QuestionReason(rank: row.integer(at: 0) ?? -1) else { continue }
            counts[reason, default: 0] += row.number(at: 1) ?? 0
        }
        return counts
    }
}

/// Open findings of the job's earlier nights that nobody looked at in a pass: they are still true, as
/// far as anybody knows, and every report of the job says so until a look finds them mended.
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
        let columns = FindingStaging.columns.filter { $0 != "action" }
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
                    AND EXISTS (SELECT 1 FROM trueup_runs AS r
                        WHERE r.pass_id = h.last_pass_id AND r.job = ?4)
                    AND h.kind NOT IN ('notification_missed', 'notification_lost')
                    AND \(Self.isAboutSomething) AND NOT \(Self.wasLookedAt)
                """, arguments: [passID, first, next ?? "~", job])
        return next
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
