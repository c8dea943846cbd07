import GRDB
package import Subscriptions

/// Reads and writes the queue: pending questions, and the questions of one checkpoint.
struct QuestionQueue {
    let db: Database
    let passID: Int64

    /// The beginning of a statement that adds lines, with the values that follow.
    static let insertion = """
        INSERT INTO trueup_agenda (
            bundle_id, environment, original_transaction_id, reason, turn, since, attempts)
        """

    /// The end of such a statement: a deferred question becomes due for the next run.
    static let wakingUp = "ON CONFLICT DO UPDATE SET not_before = NULL"

    /// Adds a question about one row, or makes it due for the next run.
    static func ask(
        about key: SubscriptionKey, _ reason: QuestionReason, isEntitling: Bool = false,
        since: Timestamp, attempts: Int = 0, _ db: Database
    ) throws {
        try db.executeCached(
            "\(insertion) VALUES (?, ?, ?, ?, ?, ?, ?) \(wakingUp)",
            key.arguments + [
                reason.rank, QueuedQuestion.priority(reason, isEntitling: isEntitling),
                since.unixMilliseconds, attempts,
            ])
    }

    /// A condition: a line of the queue is for the current run.
    ///
    /// - Parameter line: The name of the line's table.
    /// - Returns: A condition in SQL.
    static func isForThisRun(_ line: String = "trueup_agenda") -> String {
        "\(line).not_before IS NULL"
    }

    /// Priorities below this one belong to the durable reasons.
    static let firstDuePriority = QuestionReason.changed.rank * 2

    func lines(
        of part: QueuePart, after position: QueuedQuestion?, limit: Int
    ) throws -> [QueuedQuestion] {
        let start = position.map { StoredKey($0.key) } ?? .first
        let turn = position?.priority ?? -1
        let place = "(turn, bundle_id, environment, original_transaction_id)"
        let marks = "(?, \(start.marks.dropFirst())"
        let bounds: StatementArguments = [turn] + start.arguments
        let columns = "turn, bundle_id, environment, original_transaction_id"
        let order = "ORDER BY \(columns) LIMIT ?"
        let ofPass = """
            SELECT \(columns) FROM trueup_pass_questions
            WHERE pass_id = ? AND \(place) > \(marks)
            """
        let rows: [Row]
        switch part {
        case .pending:
            rows = try db.rows(
                cached: """
                    SELECT * FROM (SELECT * FROM (SELECT \(columns) FROM trueup_agenda
                            WHERE \(place) > \(marks) AND \(Self.isForThisRun()) \(order))
                        UNION
                        SELECT * FROM (\(ofPass) AND turn < \(Self.firstDuePriority) \(order)))
                    \(order)
                    """, bounds + [limit, passID] + bounds + [limit, limit])
        case .due:
            rows = try db.rows(
                cached: "\(ofPass) AND turn >= \(Self.firstDuePriority) \(order)",
                [passID] + bounds + [limit])
        }
        return rows.compactMap { row in
            guard let turn = row.integer(at: 0), let reason = QuestionReason(rank: turn / 2)
            else { return nil }
            return QueuedQuestion(key: SubscriptionKey(row, at: 1), reason: reason, priority: turn)
        }
    }

    /// Adds a question that a notification asks for to the queue, or to this checkpoint's questions alone;
    /// an older statement does not replace a newer one.
    func enqueue(_ question: NewQuestion, isDurable: Bool, since: Timestamp) throws {
        let key = question.key.arguments
        let turn = QueuedQuestion.priority(.notification, isEntitling: question.isEntitling)
        let restsOn = question.restsOn.unixMilliseconds
        // A question that a notification of this checkpoint settled stays settled unless this one
        // is newer.
        let settled = try db.integer(
            cached: "SELECT signed_date FROM \(Self.settledByNotification)", [passID] + key)
        if let settled, settled >= restsOn { return }
        try db.executeCached("DELETE FROM \(Self.settledByNotification)", [passID] + key)
        guard isDurable else {
            try db.executeCached(
                """
                INSERT INTO trueup_pass_questions VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET rests_on = max(rests_on, excluded.rests_on)
                """, [passID, turn] + key + [restsOn])
            return
        }
        try db.executeCached(
            """
            INSERT INTO trueup_agenda (
                bundle_id, environment, original_transaction_id, reason, turn, since, rests_on)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET not_before = NULL, reason = min(reason, excluded.reason),
                turn = min(turn, excluded.turn),
                rests_on = max(ifnull(rests_on, excluded.rests_on), excluded.rests_on)
            """,
            key + [
                QuestionReason.notification.rank, turn, since.unixMilliseconds, restsOn,
            ])
    }

    /// Whether the queue has something newer than a statement about its subscription.
    func awaitsLaterStatement(about key: SubscriptionKey, than signed: Timestamp) throws -> Bool {
        let arguments = key.arguments + [signed.unixMilliseconds]
        return try db.holds(
            "trueup_agenda WHERE \(SubscriptionKey.isKey) AND rests_on > ?", arguments)
            || db.holds(
                """
                trueup_pass_questions WHERE pass_id = ? AND turn IN (\(Self.pendingPriorities))
                    AND \(SubscriptionKey.isKey) AND rests_on > ?
                """, [passID] + arguments)
    }

    /// The priorities of pending questions, each by its number, so that SQLite finds a row by its
    /// key.
    private static let pendingPriorities = (0..<firstDuePriority).map { String($0) }
        .joined(separator: ", ")

    private static let settledByNotification = """
        trueup_pass_rows WHERE pass_id = ? AND \(SubscriptionKey.isKey)
            AND verdict = \(VerdictCode.match.rawValue)
            AND asked_because IS NULL AND signed_date IS NOT NULL
        """

    /// Adds questions of the checkpoint.
    func ask(_ lines: ArraySlice<QueuedQuestion>) throws {
        for line in lines {
            try db.executeCached(
                "INSERT OR IGNORE INTO trueup_pass_questions VALUES (?, ?, ?, ?, ?, NULL)",
                [passID, line.priority] + line.key.arguments)
        }
    }
}

/// Updates the queue at the end of a run, for a chunk of the rows that its checkpoint examined.
///
/// A line leaves when what follows from a verified statement about its own row is done: the row
/// agrees, or its correction is written, or what cannot be corrected is in the report. Everything
/// else stays, or comes back. docs/delta.md lists each way off the queue.
struct QueueUpdate: Sendable {
    let run: RunReference
    let started: Timestamp
    let ended: Timestamp
    /// Whether the guard accepted how many rows the table has: rows that are not in it may
    /// otherwise come back.
    let acceptsTable: Bool

    /// Does it for a source of rows of `trueup_pass_rows`, named `p`.
    func make(_ rows: String, _ arguments: StatementArguments, _ db: Database) throws {
        try noteChecks(rows, arguments, db)
        try takeOff(rows, arguments, db)
        try holdBack(rows, arguments, db)
        try requireWholeHistories(rows, arguments, db)
    }

    private func noteChecks(
        _ rows: String, _ arguments: StatementArguments, _ db: Database
    ) throws {
        try db.executeCached(
            """
            INSERT INTO trueup_checks (
                bundle_id, environment, original_transaction_id, asked_at,
                \(CheckRecord.columns.dropFirst().joined(separator: ", ")), customer, paid_group)
            SELECT p.bundle_id, p.environment, p.original_transaction_id, ?, p.signed_date,
                p.clock, ifnull(p.is_lasting, 0), p.agreed, p.account, p.customer,
                p.paid_group
            FROM \(rows)
            WHERE p.agreed IS NOT NULL AND p.verdict IN (\(VerdictCode.match.rawValue),
                \(VerdictCode.discrepancy.rawValue), \(VerdictCode.inserted.rawValue))
            ON CONFLICT DO UPDATE SET asked_at = excluded.asked_at,
                signed_date = excluded.signed_date,
                -- What is judged without a statement leaves the date on which the last one ends.
                clock = CASE WHEN excluded.signed_date IS NULL THEN ifnull(excluded.clock,
                    CASE WHEN trueup_checks.clock > excluded.asked_at
                        THEN trueup_checks.clock END) ELSE excluded.clock END,
                is_lasting = excluded.is_lasting, agreed = excluded.agreed,
                account = ifnull(excluded.account, trueup_checks.account),
                customer = excluded.customer, paid_group = excluded.paid_group
            WHERE ifnull(trueup_checks.signed_date, 0) <= ifnull(excluded.signed_date, ?)
            """, [started.unixMilliseconds] + arguments + [ended.unixMilliseconds])
    }

    /// Corrections of the row `p` that are neither written nor replaced.
    private static let isUnwritten = """
        EXISTS (SELECT 1 FROM trueup_pass_corrections AS c
            WHERE c.pass_id = p.pass_id AND \(SubscriptionKey.agree("c", "p"))
                AND c.superseded_by IS NULL AND c.fate <> 'applied')
        """

    /// SQL for whether Apple's answer about the row `p` may be wrong once: it has no verified
    /// statement about the row, or one that is older than the statement for which Apple was asked; or
    /// the customer's history was not read to its end.
    private static let isDoubtful = """
        (p.is_doubtful <> 0 OR p.asked_because IS NOT NULL AND EXISTS (
            SELECT 1 FROM trueup_agenda AS d WHERE \(SubscriptionKey.agree("d", "p"))
                AND d.rests_on > p.signed_date))
        """

    /// A statement answers nothing that rests on a younger one.
    private func takeOff(_ rows: String, _ arguments: StatementArguments, _ db: Database) throws {
        try db.executeCached(
            """
            DELETE FROM trueup_agenda
            WHERE (bundle_id, environment, original_transaction_id) IN (
                SELECT p.bundle_id, p.environment, p.original_transaction_id FROM \(rows)
                JOIN trueup_agenda AS a ON \(SubscriptionKey.agree("a", "p"))
                WHERE (p.verdict IN (\(VerdictCode.match.rawValue),
                            \(VerdictCode.discrepancy.rawValue),
                            \(VerdictCode.inserted.rawValue))
                        -- No later run asks Apple about it either.
                        OR p.verdict = \(VerdictCode.excluded.rawValue)
                            AND p.reason = '\(ExclusionReason.seatMember.rawValue)'
                        -- A subscription without a row: it was answered, or the row is gone.
                        OR p.verdict = \(VerdictCode.noted.rawValue)
                            AND (a.reason = \(QuestionReason.notification.rank) OR ?))
                    AND p.is_doubtful = 0 AND NOT \(Self.isUnwritten)
                    AND (a.rests_on IS NULL OR p.signed_date IS NULL
                        OR a.rests_on <= p.signed_date))
            """, arguments + [acceptsTable])
    }

    private func holdBack(_ rows: String, _ arguments: StatementArguments, _ db: Database) throws {
        let (held, named) = (QuestionReason.heldBack.rank, QuestionReason.notification.rank)
        let noted = VerdictCode.noted.rawValue
        // A row that is undecided, whose correction is not written, or whose history was not read is
        // checked in each run.
        try db.executeCached(
            """
            INSERT INTO trueup_agenda (
                bundle_id, environment, original_transaction_id, reason, turn, since, attempts,
                doubts)
            SELECT p.bundle_id, p.environment, p.original_transaction_id,
                CASE p.verdict WHEN \(noted) THEN \(named) ELSE \(held) END,
                CASE p.verdict WHEN \(noted) THEN \(named) ELSE \(held) END * 2,
                ?, 1, p.verdict <> \(VerdictCode.undecided.rawValue) AND NOT \(Self.isUnwritten)
                    AND p.is_doubtful <> \(PassStaging.lacksHistory)
            FROM \(rows)
            WHERE p.verdict = \(VerdictCode.undecided.rawValue) OR \(Self.isUnwritten)
                OR \(Self.isDoubtful)
            ON CONFLICT DO UPDATE SET attempts = attempts + 1,
                doubts = CASE excluded.doubts WHEN 0 THEN 0 ELSE doubts + 1 END,
                not_before = CASE WHEN excluded.doubts = 1
                    AND doubts >= \(QuestionQueue.runsBeforeRest) THEN ? END
            """,
            [started.unixMilliseconds] + arguments + [
                QuestionQueue.endOfRest(after: started).unixMilliseconds
            ])
    }

    /// Lets the next check of a row read the whole history, where this one could not: the row may
    /// agree by then, and nothing else would ask for it.
    ///
    /// No periods agree with the empty digest.
    private func requireWholeHistories(
        _ rows: String, _ arguments: StatementArguments, _ db: Database
    ) throws {
        try db.executeCached(
            """
            INSERT INTO trueup_history_revisions (
                bundle_id, environment, original_transaction_id, revision, periods, periods_sha256)
            SELECT p.bundle_id, p.environment, p.original_transaction_id, '', 0, ''
            FROM \(rows)
            WHERE p.is_doubtful = \(PassStaging.lacksHistory)
                AND p.verdict <> \(VerdictCode.noted.rawValue)
            ON CONFLICT DO UPDATE SET periods = ifnull(periods, 0), periods_sha256 = ''
            """, arguments)
    }
}

/// Checks that a run took off the queue before it was killed in its conclusion, of a checkpoint
/// that no run resumes.
///
/// The conclusion works in chunks before the run's last transaction, and only that one lets its
/// findings count. So every row with a finding of such a checkpoint is checked again.
struct UnconcludedQuestions: Sendable {
    let passID: Int64
    private let began: Int64

    /// The dropped checkpoints whose newest run did not come to its end.
    static func all(_ db: Database) throws -> [UnconcludedQuestions] {
        try db.rows(
            """
            SELECT p.pass_id, p.began FROM trueup_passes AS p
            WHERE p.state = 'dropped' AND p.mode = '\(RunMode.apply.rawValue)'
                AND (SELECT r.ended FROM trueup_runs AS r WHERE r.pass_id = p.pass_id
                    ORDER BY r.run_seq DESC LIMIT 1) IS NULL
            """
        ).map {
            UnconcludedQuestions(passID: $0.integer(at: 0) ?? 0, began: $0.integer(at: 1) ?? 0)
        }
    }

    /// Puts the questions of a chunk of rows back; returns where the next chunk begins.
    func requeue(from start: StoredKey, _ db: Database) throws -> StoredKey? {
        let (held, named) = (QuestionReason.heldBack.rank, QuestionReason.notification.rank)
        let reason =
            "CASE p.verdict WHEN \(VerdictCode.noted.rawValue) THEN \(named) ELSE \(held) END"
        try db.executeCached(
            """
            INSERT OR IGNORE INTO trueup_agenda (
                bundle_id, environment, original_transaction_id, reason, turn, since)
            SELECT p.bundle_id, p.environment, p.original_transaction_id,
                \(reason), \(reason) * 2, ?
            FROM (SELECT * FROM trueup_pass_rows
                WHERE pass_id = ? AND (bundle_id, environment, original_transaction_id)
                    >= \(start.marks)
                ORDER BY bundle_id, environment, original_transaction_id
                LIMIT \(StoreLimits.rowsPerChunk)) AS p
            WHERE p.verdict IN (\(VerdictCode.discrepancy.rawValue), \(VerdictCode.noted.rawValue))
                AND EXISTS (SELECT 1 FROM trueup_pass_findings AS f
                    INDEXED BY trueup_pass_findings_by_outcome
                    WHERE f.pass_id = p.pass_id AND f.outcome_bundle_id = p.bundle_id
                        AND f.outcome_environment = p.environment
                        AND f.outcome_original_transaction_id = p.original_transaction_id)
            """, [began, passID] + start.arguments)
        let next = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT original_transaction_id, environment, bundle_id FROM trueup_pass_rows
                    WHERE pass_id = ? AND (bundle_id, environment, original_transaction_id)
                        >= \(start.marks)
                    ORDER BY bundle_id, environment, original_transaction_id
                    LIMIT 1 OFFSET \(StoreLimits.rowsPerChunk)
                    """), arguments: [passID] + start.arguments)
        return try next.next().map(StoredKey.init)
    }
}

/// The questions and their reasons: durable lines that any run may settle, and the questions that
/// one checkpoint found among the rows (docs/delta.md).
///
/// Lines are put there by `record(_:of:in:run:)` and by `schedule`, and leave with the conclusion
/// of a run that works off the queue.
extension SQLiteStore {
    /// Reads every row with its last check, once, and puts those for which `due` names a reason
    /// among the questions of the checkpoint, together with a sample of the others.
    ///
    /// A pass is scheduled once; later calls return what the first one found. `level` says how many
    /// rows to sweep in this run, given how many reach the allowed age in so many days, 0 being
    /// overdue. `due` says why Apple must be asked about a row, given the last rows that the sweep
    /// takes.
    package func schedule(
        _ request: ScheduleRequest, in pass: OpenPass, run: RunHeader,
        level: @escaping @Sendable ([Int: Int]) -> Int,
        due: @escaping @Sendable (ScheduledRow, SweepEnds) -> QuestionReason?
    ) async throws(StoreError) -> ScheduleCounts {
        let doing = "finding out which rows must be checked"
        let passID = pass.passID
        if let known = try await read(
            doing, { db in try QuestionQueue(db: db, passID: passID).counts() })
        {
            return known
        }
        var counts = ScheduleCounts()
        counts.seed = request.seed
        let ends = try await read(doing) { db in
            try SweepOrder(request, of: run, db).ends(level: level)
        }
        counts.oldestCheck = try await read(doing) { db in
            try SweepOrder(request, of: run, db).oldestCheck()
        }
        let changed = try await read(doing) { db in
            try ChangedPeriods(db: db).rows(readsHistories: request.readsHistories)
        }
        let scan = TableScan(request: request, ends: ends, changedPeriods: changed, due: due)
        var draw = SampleDraw(request.sample, seed: request.seed)
        var position: StoredKey?
        repeat {
            let start = position
            let chunk = try await read(doing) { db in try scan.chunk(after: start, db) }
            counts.rows += chunk.rows
            counts.unchanged += chunk.unchanged.count
            for line in chunk.lines { counts.due[line.reason, default: 0] += 1 }
            for key in chunk.unchanged { draw.offer(key) }
            var lines = chunk.lines
            if draw.mayTakeEarly { lines += Self.sample(draw.take(), &counts) }
            try await ask(lines, in: passID, doing)
            position = chunk.next
        } while position != nil
        try await ask(Self.sample(draw.take(), &counts), in: passID, doing)
        let found = counts
        try await write(doing) { db in try QuestionQueue(db: db, passID: passID).note(found) }
        return counts
    }

    private static func sample(
        _ keys: [SubscriptionKey], _ counts: inout ScheduleCounts
    ) -> [QueuedQuestion] {
        guard !keys.isEmpty else { return [] }
        counts.due[.sample, default: 0] += keys.count
        return keys.map {
            QueuedQuestion(
                key: $0, reason: .sample,
                priority: QueuedQuestion.priority(.sample, isEntitling: false))
        }
    }

    private func ask(
        _ lines: [QueuedQuestion], in passID: Int64, _ doing: String
    ) async throws(StoreError) {
        for some in lines.chunked(by: StoreLimits.rowsPerChunk) {
            try await write(doing) { db in try QuestionQueue(db: db, passID: passID).ask(some) }
        }
    }

    /// The next lines of a part of the queue in their order, settled ones included; fewer than
    /// `limit` only at the end.
    package func lines(
        of part: QueuePart, after position: QueuedQuestion?, limit: Int, in pass: OpenPass
    ) async throws(StoreError) -> [QueuedQuestion] {
        try await read("reading what must be asked") { db in
            try QuestionQueue(db: db, passID: pass.passID).lines(
                of: part, after: position, limit: limit)
        }
    }

    /// The questions that the run asked and left, by reason; `bound` is left to the caller.
    package func coverage(
        kind: RunCoverage.Kind, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) -> RunCoverage {
        try await read("counting what was asked") { db in
            try QuestionQueue(db: db, passID: pass.passID).coverage(kind: kind, of: run)
        }
    }

    /// Adds to the checkpoint's findings those that earlier reports of the job left open and that
    /// this checkpoint did not examine, so that they are not forgotten.
    ///
    /// A finding that the checkpoint states itself gets no second line.
    package func carryOpenFindings(
        in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) {
        try await inChunks("importing open findings", from: "") { first, db in
            try CarriedFindings(
                db: db, passID: pass.passID, job: run.job, filter: TextList.encode(run.filters)
            ).carry(from: first)
        }
    }
}

/// When a question comes again whose answer may be wrong once: in each of the next three runs, then
/// once a week.
extension QuestionQueue {
    /// How many runs in a row ask again before the question rests in between.
    static let runsBeforeRest = 3

    private static let daysOfRest: Int64 = 7

    /// When a question that begins to rest comes again.
    static func endOfRest(after time: Timestamp) -> Timestamp {
        time.startOfDay(addingDays: daysOfRest)
    }

    /// Returns SQL for whether a line has waited long enough at the time `now`, also under a clock
    /// that was set back.
    static func isRested(at now: Timestamp) -> String {
        let end = endOfRest(after: now).unixMilliseconds
        return "(not_before <= \(now.unixMilliseconds) OR not_before > \(end))"
    }

    /// Gives a chunk of the questions that have rested long enough to the run that begins.
    ///
    /// - Returns: Whether there may be more.
    static func wakeUp(for run: RunHeader, _ db: Database) throws -> Bool {
        guard run.judgesRows else { return false }
        try db.execute(
            sql: """
                UPDATE trueup_agenda SET not_before = NULL
                WHERE (bundle_id, environment, original_transaction_id) IN (
                    SELECT bundle_id, environment, original_transaction_id FROM trueup_agenda
                    WHERE not_before IS NOT NULL AND \(isRested(at: run.started))
                    LIMIT \(StoreLimits.scatteredRowsPerChunk))
                """)
        return db.changesCount == StoreLimits.scatteredRowsPerChunk
    }
}
