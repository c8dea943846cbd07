import GRDB
import Reconciliation
import Subscriptions

/// Updates what trueup remembers of each finding, after a run has ended.
///
/// It is done after the run's last transaction, a chunk of findings at a time, because it concerns
/// everything that was found. `FindingLife` decides; this type reads and writes. Each chunk may be
/// done twice: what a killed process leaves, the next run does before anything else.
struct FindingMemory: Sendable {
    let sequence: Int64
    let passID: Int64
    /// As it is stored with the run.
    let filter: String
    let closing: FindingLife.Closing

    /// The oldest ended run whose findings are not remembered yet.
    static func next(_ db: Database) throws -> FindingMemory? {
        try Row.fetchOne(
            db,
            sql: """
                SELECT o.run_seq, ifnull(r.pass_id, 0), ifnull(r.narrowing, ''), o.resolves,
                    ifnull(r.mode = '\(RunMode.apply.rawValue)', 0) AND EXISTS (
                        SELECT 1 FROM trueup_table_sizes AS t WHERE t.run_seq = o.run_seq),
                    -- An undo says nothing of what Apple states.
                    o.resolves = 0 AND EXISTS (SELECT 1 FROM trueup_pass_rows AS p
                            WHERE p.pass_id = r.pass_id
                                AND p.verdict = \(VerdictCode.inserted.rawValue))
                        AND NOT EXISTS (SELECT 1 FROM trueup_applications AS a
                            WHERE a.pass_id = r.pass_id AND a.undo_of IS NOT NULL)
                FROM trueup_unremembered_runs AS o
                LEFT JOIN trueup_runs AS r ON r.run_seq = o.run_seq ORDER BY o.run_seq LIMIT 1
                """
        ).map { row in
            var columns = RowColumns(row)
            let (sequence, passID) = (columns.integer() ?? 0, columns.integer() ?? 0)
            let filter = columns.requiredText()
            let resolves = columns.flag()
            let acceptsTable = columns.flag()
            let hasInserted = columns.flag()
            return FindingMemory(
                sequence: sequence, passID: passID, filter: filter,
                closing: resolves
                    ? .examined(acceptsTable: acceptsTable)
                    : hasInserted ? .ofInsertedRows : .nothing)
        }
    }

    /// Records that an ended run's findings must still be remembered.
    ///
    /// - Parameters:
    ///   - sequence: The run.
    ///   - resolves: Whether findings that the run looked for and did not find are closed.
    ///   - db: The database.
    /// - Throws: What the database throws.
    static func noteMissing(ofRun sequence: Int64, resolves: Bool, _ db: Database) throws {
        try db.execute(
            sql: "INSERT INTO trueup_unremembered_runs VALUES (?, ?)",
            arguments: [sequence, resolves])
    }

    /// Records that all of them are remembered.
    func noteComplete(_ db: Database) throws {
        try db.execute(
            sql: "DELETE FROM trueup_unremembered_runs WHERE run_seq = ?", arguments: [sequence])
    }

    /// Advances a chunk of findings; returns the id with which the next chunk begins.
    func advance(from first: String, _ db: Database) throws -> String? {
        let next = try [
            nextListed(from: first, db),
            closing == .nothing
                ? nil
                : OpenFindings.next(after: StoreLimits.scatteredRowsPerChunk, from: first, db),
        ].compactMap(\.self).min()
        // No id sorts after this one: they are hexadecimal.
        let end = next ?? "~"
        let life = FindingLife(checkpoint: passID, closing: closing)
        var changed: [RememberedFinding] = []
        var examined = try examinations(from: first, to: end, db)
        for (remembered, found) in try listed(from: first, to: end, db) {
            let id = found[0].finding.findingID
            let examination = examined.removeValue(forKey: id)?.examination
            let result = life.advance(
                remembered: remembered, found: found, examined: examination)
            if let result { changed.append(result) }
        }
        for (_, other) in examined {
            let result = life.advance(
                remembered: other.finding, found: [], examined: other.examination)
            if let result { changed.append(result) }
        }
        for finding in changed { try write(finding, db) }
        try noteJob(from: first, to: end, db)
        return next
    }

    private func nextListed(from first: String, _ db: Database) throws -> String? {
        try String.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT finding_id FROM trueup_pass_findings
                    WHERE pass_id = ? AND finding_id >= ? GROUP BY finding_id ORDER BY finding_id
                    LIMIT 1 OFFSET \(StoreLimits.scatteredRowsPerChunk)
                    """),
            arguments: [passID, first])
    }

    /// The run's lines of each finding of a chunk, with what is remembered of it, by id.
    private func listed(
        from first: String, to end: String, _ db: Database
    ) throws -> [(RememberedFinding?, [FindingLife.Listed])] {
        var listed: [(remembered: RememberedFinding?, found: [FindingLife.Listed])] = []
        try db.forEachRow(
            cached: """
                SELECT f.finding_id, f.kind, f.severity, f.bundle_id, f.environment,
                    f.original_transaction_id, r.first_seen, u.started, f.pass_id,
                    CASE WHEN r.state = 'corrected' THEN r.run_seq END, r.state,
                    f.is_carried = \(UnpublishedFindings.mark), \(RememberedFinding.columns)
                FROM trueup_runs AS u
                CROSS JOIN trueup_pass_findings AS f INDEXED BY trueup_pass_findings_by_finding
                    ON f.pass_id = u.pass_id
                CROSS JOIN trueup_run_findings AS r
                    ON r.run_seq = u.run_seq AND r.finding_seq = f.finding_seq
                LEFT JOIN trueup_findings AS h ON h.finding_id = f.finding_id
                WHERE u.run_seq = ? AND f.finding_id >= ? AND f.finding_id < ?
                ORDER BY f.finding_id, f.finding_seq
                """, [sequence, first, end]
        ) { row in
            var columns = RowColumns(row)
            guard let finding = RememberedFinding(&columns) else { return }
            let line = FindingLife.Listed(finding, isRepeated: columns.flag())
            if listed.last?.found[0].finding.findingID == finding.findingID {
                listed[listed.count - 1].found.append(line)
            } else {
                listed.append((RememberedFinding(&columns), [line]))
            }
        }
        return listed
    }

    /// The examinations of the open findings of a chunk that the run may close, by id.
    ///
    /// It closes what it does not state; of a notification also what it has stated.
    private func examinations(
        from first: String, to end: String, _ db: Database
    ) throws -> [String: FindingExamination.OfFinding] {
        guard closing != .nothing else { return [:] }
        let items = try FindingExamination.all(
            inPass: passID,
            where: """
                h.state IN \(OpenFindings.states) AND h.finding_id >= ?2 AND h.finding_id < ?3
                    AND (h.kind IN \(OpenFindings.kindsOfNotifications)
                        OR NOT \(OpenFindings.isStated)
                            AND \(OpenFindings.isOfAnApp(filters: "?4")))
                """, [first, end, filter], db)
        return Dictionary(items.map { ($0.finding.findingID, $0) }) { first, _ in first }
    }

    private func write(_ finding: RememberedFinding, _ db: Database) throws {
        try db.executeCached(
            """
            INSERT INTO trueup_findings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (finding_id) DO UPDATE SET
                severity = excluded.severity, last_seen = excluded.last_seen,
                last_pass_id = excluded.last_pass_id, state = excluded.state,
                corrected_by = excluded.corrected_by
            """,
            [
                finding.findingID, finding.kind, finding.severity, finding.bundleID,
                finding.environment,
                finding.originalTransactionID, finding.firstSeen.unixMilliseconds,
                finding.lastSeen.unixMilliseconds, finding.checkpoint, finding.correctedBy,
                finding.stateName,
            ])
    }

    /// Records that the run's job reports the findings of a chunk.
    private func noteJob(from first: String, to end: String, _ db: Database) throws {
        try db.executeCached(
            """
            INSERT OR IGNORE INTO trueup_finding_jobs
            SELECT f.finding_id, u.job FROM trueup_runs AS u
            CROSS JOIN trueup_pass_findings AS f INDEXED BY trueup_pass_findings_by_finding
                ON f.pass_id = u.pass_id
            CROSS JOIN trueup_run_findings AS r
                ON r.run_seq = u.run_seq AND r.finding_seq = f.finding_seq
            WHERE u.run_seq = ? AND f.finding_id >= ? AND f.finding_id < ?
            """, [sequence, first, end])
    }
}

extension SQLiteStore {
    /// Brings `trueup_findings` up to date with every run that has ended.
    func rememberEndedRuns() async throws(StoreError) {
        let doing = "updating the state of the findings"
        while let memory = try await read(doing, FindingMemory.next) {
            try await inChunks(doing, from: "", memory.advance)
            try await write(doing, memory.noteComplete)
        }
    }
}

/// How a remembered finding is read from `trueup_findings`.
extension RememberedFinding {
    /// The columns that `init(_:)` reads, of the table `h`.
    static let columns = """
        h.finding_id, h.kind, h.severity, h.bundle_id, h.environment, h.original_transaction_id,
        h.first_seen, h.last_seen, h.last_pass_id, h.corrected_by, h.state
        """

    init?(_ row: Row) {
        var columns = RowColumns(row)
        self.init(&columns)
    }

    /// `nil` where the row has none.
    init?(_ columns: inout RowColumns) {
        guard let id = columns.text() else { return nil }
        let (kind, severity) = (columns.requiredText(), columns.requiredText())
        let (bundleID, environment) = (columns.requiredText(), columns.requiredText())
        let original = columns.text()
        let (firstSeen, lastSeen) = (columns.requiredTime(), columns.requiredTime())
        let (checkpoint, correctedBy) = (columns.integer(), columns.integer())
        self.init(
            findingID: id, kind: kind, severity: severity, bundleID: bundleID,
            environment: environment,
            originalTransactionID: original,
            firstSeen: firstSeen, lastSeen: lastSeen, checkpoint: checkpoint ?? 0,
            correctedBy: correctedBy, state: columns.text().flatMap(FindingState.init(rawValue:)))
    }
}

/// Reads what a checkpoint examined of remembered findings.
extension FindingExamination {
    typealias OfFinding = (finding: RememberedFinding, examination: FindingExamination)

    /// All findings `h` of which a condition holds, by id.
    ///
    /// - Parameters:
    ///   - passID: The checkpoint.
    ///   - condition: In SQL; it may name the checkpoint as `?1`.
    ///   - arguments: The condition's, from `?2` on.
    ///   - db: The database.
    /// - Returns: Each finding with what was examined.
    /// - Throws: What the database throws.
    static func all(
        inPass passID: Int64, where condition: String, _ arguments: StatementArguments,
        _ db: Database
    ) throws -> [OfFinding] {
        var items: [OfFinding] = []
        try db.forEachRow(
            cached: "\(Self.selection) WHERE \(condition) ORDER BY h.finding_id",
            [passID] + arguments
        ) { row in
            var columns = RowColumns(row)
            guard let finding = RememberedFinding(&columns) else { return }
            items.append((finding, FindingExamination(&columns)))
        }
        return items
    }

    /// Each line of a finding has the same `field`: it is part of the finding's id.
    private static let selection = """
        SELECT \(RememberedFinding.columns), \(rowID) IS NOT NULL, p.verdict, p.look,
            CASE h.kind WHEN '\(FindingKind.purchaseUnknown.rawValue)' THEN EXISTS (
                SELECT 1 FROM purchases AS b WHERE b.bundle_id = h.bundle_id
                    AND b.environment = h.environment AND b.transaction_id = l.field)
                ELSE s.original_transaction_id IS NOT NULL END,
            CASE h.kind WHEN '\(FindingKind.duplicateLocal.rawValue)' THEN
                s.original_transaction_id IS NOT NULL AND \(StoredSubscriptions.hasDuplicates) END,
            CASE h.kind WHEN '\(FindingKind.price.rawValue)' THEN EXISTS (
                SELECT 1 FROM trueup_pass_findings AS f
                WHERE f.pass_id = h.last_pass_id AND f.finding_id = h.finding_id
                    AND f.transaction_id = s.latest_transaction_id) END,
            EXISTS (SELECT 1 FROM trueup_pass_recovered AS a WHERE a.pass_id = ?1
                AND a.bundle_id = h.bundle_id AND a.environment = h.environment),
            EXISTS (SELECT 1 FROM trueup_pass_notifications AS n WHERE n.pass_id = ?1
                AND n.bundle_id = h.bundle_id AND n.environment = h.environment
                AND n.notification_uuid = l.field AND n.verdict NOT IN ('missed', 'lost'))
        FROM trueup_findings AS h
        LEFT JOIN trueup_pass_findings AS l ON l.finding_seq = (
            SELECT f.finding_seq FROM trueup_pass_findings AS f
            WHERE (h.kind IN ('\(FindingKind.verificationFailed.rawValue)',
                        '\(FindingKind.purchaseUnknown.rawValue)')
                    OR h.kind IN \(OpenFindings.kindsOfNotifications))
                AND f.pass_id = h.last_pass_id AND f.finding_id = h.finding_id LIMIT 1)
        LEFT JOIN trueup_pass_rows AS p ON p.pass_id = ?1 AND p.bundle_id = h.bundle_id
            AND p.environment = h.environment AND p.original_transaction_id = \(rowID)
        LEFT JOIN subscriptions AS s ON s.bundle_id = h.bundle_id
            AND s.environment = h.environment AND s.original_transaction_id = \(rowID)
        """

    /// The row that a finding names: its own, or the one whose answer could not be verified.
    private static let rowID = """
        ifnull(h.original_transaction_id, CASE
            WHEN h.kind = '\(FindingKind.verificationFailed.rawValue)'
                AND l.field NOT LIKE '\(Finding.notificationFieldPrefix)%' THEN l.field END)
        """

    private init(_ columns: inout RowColumns) {
        self.init()
        namesRow = columns.flag()
        let (verdict, depth) = (columns.integer(), columns.number())
        switch verdict.flatMap(VerdictCode.init(rawValue:)) {
        // Of an excluded row nothing is examined, except where its exclusion ends every finding about it.
        case .match, .discrepancy, .excluded:
            row = .checked(depth.flatMap(ExaminationDepth.init) ?? .nothing)
        case .inserted: row = .inserted
        // A one-time purchase is not a row in scope, but it is checked.
        case .noted:
            let depth = depth.flatMap(ExaminationDepth.init) ?? .nothing
            row = depth == .nothing ? nil : .checked(depth)
        default: break
        }
        isStored = columns.flag()
        hasDuplicates = columns.flag()
        isOfLatestPeriod = columns.flag()
        wasHistoryRead = columns.flag()
        isDelivered = columns.flag()
    }
}

/// Conditions in SQL on findings `h` that no run has corrected or closed.
enum OpenFindings {
    static let states = "('new', 'open', 'recurring', 'acknowledged')"

    /// The kinds that concern a notification of Apple's history.
    static let kindsOfNotifications = """
        ('\(FindingKind.notificationMissed.rawValue)', '\(FindingKind.notificationLost.rawValue)')
        """

    /// The open finding that comes so many places after the first one, with which the next chunk
    /// begins; `nil` where there is none.
    static func next(after count: Int, from first: String, _ db: Database) throws -> String? {
        try String.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT finding_id FROM trueup_findings
                    WHERE state IN \(states) AND finding_id >= ?
                    ORDER BY finding_id LIMIT 1 OFFSET ?
                    """),
            arguments: [first, count])
    }

    /// A condition: the checkpoint `?1` states the finding, whichever period its line names.
    static let isStated = """
        EXISTS (SELECT 1 FROM trueup_pass_findings AS f
            WHERE f.pass_id = ?1 AND f.finding_id = h.finding_id AND f.superseded_by IS NULL)
        """

    /// A condition: the finding, or the row, is of an app that the run is for.
    ///
    /// A run for some apps alone neither repeats nor closes what was found of another, nor misses its
    /// rows.
    ///
    /// - Parameters:
    ///   - filters: The stored filters of the run; they leave out nothing of its apps.
    ///   - name: Of what has the app.
    /// - Returns: A condition on what is called so.
    static func isOfAnApp(filters: String, of name: String = "h") -> String {
        """
        (\(filters) = '' OR instr(char(10) || \(filters) || char(10),
            char(10) || '\(RunHeader.appFilterPrefix)' || \(name).bundle_id || '/'
                || lower(\(name).environment) || char(10)) > 0)
        """
    }

    /// As `isOfAnApp`, with the filters as an argument that the condition takes once.
    static func isOfAnApp(boundFilters mark: String = "?", of name: String) -> String {
        """
        EXISTS (SELECT 1 FROM (SELECT \(mark) AS narrowing) AS w
            WHERE \(isOfAnApp(filters: "w.narrowing", of: name)))
        """
    }
}
