import Crypto
import GRDB
package import Subscriptions

/// The notes of earlier runs about single subscriptions.
extension SQLiteStore {
    /// The notes about these subscriptions, stored or not; those without a note are left out.
    package func notes(
        about keys: [SubscriptionKey]
    ) async throws(StoreError) -> [SubscriptionKey: RowNotes] {
        try await read("reading what is noted about rows") { db in
            let statement = try db.cachedStatement(sql: Self.noted)
            var notes: [SubscriptionKey: RowNotes] = [:]
            for key in Set(keys) {
                // At its cursor: to copy the row costs more than to read it.
                let cursor = try Row.fetchCursor(statement, arguments: key.arguments)
                guard let row = try cursor.next() else { continue }
                let noted = try Self.notes(row, of: key, db)
                if noted != RowNotes() { notes[key] = noted }
            }
            return notes
        }
    }

    private static let noted = """
        SELECT a.first_day, a.last_day, a.distinct_days, h.revision, h.periods, h.periods_sha256,
            EXISTS (SELECT 1 FROM trueup_findings AS f
                WHERE \(SubscriptionKey.agree("f", "s"))
                    AND f.kind IN ('transaction_missing', 'transaction_unknown')
                    AND f.state IN ('new', 'open', 'recurring', 'acknowledged')),
            EXISTS (SELECT 1 FROM trueup_stand_ins AS i
                WHERE i.bundle_id = s.bundle_id AND i.environment = s.environment
                    AND i.true_original = s.original_transaction_id),
            \(CheckRecord.columns(of: "k")), \(PaidNeighbours.exist(beside: "k")),
            \(NewestStatements.date(of: "s", check: "k"))
        FROM (SELECT ? AS bundle_id, ? AS environment, ? AS original_transaction_id) AS s
        LEFT JOIN trueup_absences AS a ON \(SubscriptionKey.agree("a", "s"))
        LEFT JOIN trueup_history_revisions AS h ON \(SubscriptionKey.agree("h", "s"))
        LEFT JOIN trueup_checks AS k ON \(SubscriptionKey.agree("k", "s"))
        """

    private static func notes(
        _ row: Row, of key: SubscriptionKey, _ db: Database
    ) throws -> RowNotes {
        var notes = RowNotes()
        if let day = row.text(at: 0), let days = row.number(at: 2) {
            notes.absence = AbsenceRecord(
                firstDay: day, lastDay: row.requiredText(at: 1), distinctDays: days)
        }
        if let revision = row.text(at: 3) {
            var mark = HistoryMark(revision: revision, periods: nil)
            if let periods = row.number(at: 4), let digest = row.text(at: 5) {
                mark.periods = PeriodsDigest(periods: periods, sha256: digest)
            }
            notes.history = mark
        }
        notes.hasOpenPeriods = row.number(at: 6) == 1
        if row.number(at: 7) == 1 { notes.aliasRows = try AliasRows(db: db).rows(of: key) }
        notes.check = CheckRecord(row, at: 8)
        notes.newestStatement = row.time(at: 9 + CheckRecord.columns.count)
        if row.number(at: 8 + CheckRecord.columns.count) == 1 {
            let neighbours = PaidNeighbours(db: db)
            notes.neighbours = try neighbours.rows(beside: key)
            if !notes.neighbours.isEmpty {
                notes.isKnownOverlap = try neighbours.isKnownOverlap(key)
            }
        }
        return notes
    }

    /// Which of these rows the job's last run asked about in vain, for want of an answer.
    package func failedLastTime(
        among keys: [SubscriptionKey], before run: RunHeader
    ) async throws(StoreError) -> Set<SubscriptionKey> {
        try await read("reading which rows failed the last time") { db in
            let last = try Int64.fetchOne(
                db,
                sql: """
                    SELECT max(run_seq) FROM trueup_runs
                    WHERE job = ? AND run_id <> ? AND ended IS NOT NULL
                    """,
                arguments: [run.job, run.runID])
            guard let last else { return [] }
            let hasFailed = """
                trueup_run_undecided WHERE run_seq = ? AND \(SubscriptionKey.isKey)
                    AND reason = '\(UndecidedReason.unavailable.rawValue)'
                """
            return try Set(keys.filter { try db.holds(hasFailed, [last] + $0.arguments) })
        }
    }
}

extension PeriodsDigest {
    /// Updates the stored digest of a subscription's periods after a checkpoint wrote some of them.
    ///
    /// Our own inserts and fills are not a reason to read a history again. Any other change is: then
    /// the periods without our writes are not those that were compared, and the
    /// older digest stays.
    static func update(
        of key: SubscriptionKey, afterWritesOfPass passID: Int64, _ db: Database
    ) throws {
        let written = try written(to: key, inPass: passID, db)
        let now = try StoredSubscriptions(db: db).periods(of: key)
        let before = PeriodsDigest(
            now.filter { !written.inserted.contains($0.key.transactionID) }
                .map { $0.emptied(of: written.filled[$0.key.transactionID] ?? []) })
        let after = PeriodsDigest(now)
        try db.executeCached(
            """
            UPDATE trueup_history_revisions SET periods = ?, periods_sha256 = ?
            WHERE bundle_id = ? AND environment = ? AND original_transaction_id = ?
                AND periods = ? AND periods_sha256 = ?
            """,
            [after.periods, after.sha256] + key.arguments
                + [before.periods, before.sha256])
    }

    /// The periods that a checkpoint inserted, and the columns that it filled in, by transaction
    /// id.
    private static func written(
        to key: SubscriptionKey, inPass passID: Int64, _ db: Database
    ) throws -> (inserted: Set<String>, filled: [String: Set<TransactionField>]) {
        let statement = try db.cachedStatement(
            sql: """
                SELECT transaction_id, target, changes FROM trueup_pass_corrections
                WHERE pass_id = ? AND bundle_id = ? AND environment = ?
                    AND original_transaction_id = ? AND target IN ('period', 'update_period')
                    AND fate = 'applied'
                """)
        let rows = try Row.fetchAll(statement, arguments: [passID] + key.arguments)
        var inserted: Set<String> = []
        var filled: [String: Set<TransactionField>] = [:]
        for row in rows {
            let id = row.requiredText(at: 0)
            if row.requiredText(at: 1) == "period" {
                inserted.insert(id)
            } else {
                let changes = try FieldValueText.changes(
                    row.requiredText(at: 2), of: ChangeSet.Table.transactions.rawValue)
                filled[id, default: []].formUnion(changes.ofPeriod.keys)
            }
        }
        return (inserted, filled)
    }

    /// Columns whose values are part of the digest.
    private static let compared: Set<TransactionField> = [.webOrderLineItemID, .price, .currency]

    /// Digests rows sorted by transaction id; only what a comparison uses is included.
    ///
    /// The names of empty columns are added only where there are any, so that digests of versions
    /// that did not fill columns stay valid for complete periods.
    init(_ periods: [LocalTransaction]) {
        var digest = SHA256()
        for period in periods {
            let compared: [CanonicalJSON] = [
                .string(period.key.transactionID), .text(period.webOrderLineItemID),
                period.price.map(CanonicalJSON.integer) ?? .null, .text(period.currency),
            ]
            let empty = TransactionField.statedOfEveryPeriod
                .filter { !Self.compared.contains($0) && period.value(of: $0) == .null }
                .map { CanonicalJSON.string($0.rawValue) }
            let line = CanonicalJSON.array(compared + empty)
            digest.update(data: Array((line.rendered + "\n").utf8))
        }
        self.init(periods: periods.count, sha256: digest.finalize().hexadecimal)
    }
}

/// Our rows that are stored under the id of a later transaction of another subscription.
///
/// Whether an id is a later transaction's never changes, so a result is kept; it applies as
/// long as the row exists.
struct AliasRows {
    let db: Database

    /// Keeps what a check found about a row: `invalid_id` with the true original, which is
    /// returned.
    @discardableResult
    func note(_ finding: Finding) throws -> SubscriptionKey? {
        guard finding.kind == .invalidID, let key = finding.key,
            case .text(let original) = finding.appleValue
        else { return nil }
        try db.executeCached(
            "INSERT OR IGNORE INTO trueup_stand_ins VALUES (?, ?, ?, ?)",
            [
                key.bundleID, key.environment, original, key.originalTransactionID,
            ])
        return SubscriptionKey(
            bundleID: key.bundleID, environment: key.environment, originalTransactionID: original)
    }

    /// Withdraws what a checkpoint planned for a subscription that is already stored under another
    /// id.
    ///
    /// It may have been checked before the row that is stored in its place. Its findings stay, with
    /// the reason why they are not corrected.
    func refusePlanned(for original: SubscriptionKey, by run: RunReference) throws {
        guard try !rows(of: original).isEmpty else { return }
        try db.executeCached(
            """
            UPDATE trueup_pass_corrections SET superseded_by = ?
            WHERE pass_id = ? AND bundle_id = ? AND environment = ?
                AND original_transaction_id = ? AND superseded_by IS NULL
                AND fate = 'planned' AND undo_of IS NULL
            """, [run.sequence, run.passID] + original.arguments)
        guard db.changesCount > 0 else { return }
        try db.executeCached(
            """
            UPDATE trueup_pass_findings
            SET action = 'refused', cause = ?, correction_id = NULL
            WHERE pass_id = ? AND outcome_bundle_id = ? AND outcome_environment = ?
                AND outcome_original_transaction_id = ? AND superseded_by IS NULL
                AND correction_id IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM trueup_pass_corrections AS c
                    WHERE c.correction_id = trueup_pass_findings.correction_id
                        AND c.superseded_by IS NULL)
            """, [Finding.causeAliasRow, run.passID] + original.arguments)
    }

    /// Whether there are any, which in most databases there are not.
    func exist() throws -> Bool {
        try db.holds("trueup_stand_ins")
    }

    func rows(of original: SubscriptionKey) throws -> [SubscriptionKey] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT i.bundle_id, i.environment, i.original_transaction_id
                FROM trueup_stand_ins AS i
                CROSS JOIN subscriptions AS s ON \(SubscriptionKey.agree("s", "i"))
                WHERE i.bundle_id = ? AND i.environment = ? AND i.true_original = ?
                ORDER BY i.original_transaction_id
                """)
        return try Row.fetchAll(statement, arguments: original.arguments)
            .map { SubscriptionKey($0, at: 0) }
    }
}

/// Rows of one customer that are paid for, as far as Apple was asked about them.
///
/// They are found by the digest of the checks, and told from other customers' by the ids that are
/// in the company's rows now.
struct PaidNeighbours {
    let db: Database

    /// Whether there may be any next to the check of a row, by its alias in the query.
    static func exist(beside check: String) -> String {
        """
        EXISTS (SELECT 1 FROM trueup_checks AS o INDEXED BY trueup_checks_by_payer
            WHERE o.customer = \(check).customer
            AND o.paid_group IS NOT NULL AND o.bundle_id = \(check).bundle_id
            AND o.environment = \(check).environment
            AND o.original_transaction_id <> \(check).original_transaction_id)
        """
    }

    /// A condition: a customer id names one customer; a placeholder has far more subscriptions.
    static func isOne(_ customer: String) -> String {
        """
        (SELECT count(*) FROM (SELECT 1
            FROM trueup_checks AS c INDEXED BY trueup_checks_by_payer
            WHERE c.customer = \(customer) AND c.paid_group IS NOT NULL
            LIMIT \(PaidNeighbour.most + 1))) <= \(PaidNeighbour.most)
        """
    }

    /// The company's rows next to two checks, `s` and `t`, which are of one customer.
    static func ofOneCustomer(_ check: String, _ other: String) -> String {
        """
        CROSS JOIN subscriptions AS s ON \(SubscriptionKey.agree("s", check))
        CROSS JOIN subscriptions AS t ON \(SubscriptionKey.agree("t", other))
            AND t.customer_id = s.customer_id AND t.customer_id <> ''
        """
    }

    func rows(beside key: SubscriptionKey) throws -> [PaidNeighbour] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT o.original_transaction_id, o.paid_group, o.clock
                FROM trueup_checks AS k
                CROSS JOIN trueup_checks AS o INDEXED BY trueup_checks_by_payer
                    ON o.customer = k.customer AND o.paid_group IS NOT NULL AND o.bundle_id = k.bundle_id
                    AND o.environment = k.environment
                    AND o.original_transaction_id <> k.original_transaction_id
                \(Self.ofOneCustomer("k", "o"))
                WHERE k.bundle_id = ? AND k.environment = ? AND k.original_transaction_id = ?
                    AND \(Self.isOne("k.customer"))
                ORDER BY o.original_transaction_id
                """)
        return try Row.fetchAll(statement, arguments: key.arguments).map { row in
            PaidNeighbour(
                originalTransactionID: row.requiredText(at: 0), group: row.requiredText(at: 1),
                clock: row.time(at: 2))
        }
    }

    /// Forgets whose rows are; they are noted again when they are checked next.
    func forget(_ keys: [SubscriptionKey]) throws {
        let update = try db.cachedStatement(
            sql: """
                UPDATE trueup_checks SET customer = NULL, paid_group = NULL
                WHERE bundle_id = ? AND environment = ? AND original_transaction_id = ?
                """)
        for key in keys { try update.execute(arguments: key.arguments) }
    }

    /// Whether a finding about a row says that it is paid for next to another one.
    func isKnownOverlap(_ key: SubscriptionKey) throws -> Bool {
        try db.holds(
            "trueup_findings WHERE finding_id = ? AND state IN \(OpenFindings.states)",
            [Self.findingID(of: key)])
    }

    /// The identity of the finding that a row is paid for next to another one.
    static func findingID(of key: SubscriptionKey) -> String {
        var finding = Finding(
            kind: .overlappingSubscriptions, severity: .medium, row: LocalSubscription(key: key))
        finding.field = SubscriptionField.originalTransactionID.rawValue
        return finding.identity
    }
}

/// The newest verified statement about each subscription that any run has seen.
///
/// Every later statement is measured against it: one that Apple signed earlier writes nothing, by
/// whatever command it comes. It only grows. A declared restore of the database forgets by what
/// rows were checked, but not this.
struct NewestStatements {
    let db: Database

    /// Keeps when a statement was signed, unless a newer one is known.
    ///
    /// - Parameters:
    ///   - signed: When Apple signed it.
    ///   - key: The subscription that it is about.
    ///   - now: The run's clock. A date more than a day after it is not kept, and a kept one gives
    ///     way: it comes from a rehearsal, or from a clock that was ahead.
    /// - Throws: What writing the database throws.
    func note(_ signed: Timestamp, about key: SubscriptionKey, now: Timestamp) throws {
        guard !signed.isAhead(of: now) else { return }
        try db.executeCached(
            """
            INSERT INTO trueup_statements VALUES (?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET signed_date = excluded.signed_date
            WHERE signed_date < excluded.signed_date OR signed_date > ?
            """,
            key.arguments + [
                signed.unixMilliseconds,
                now.adding(milliseconds: Milliseconds.perDay).unixMilliseconds,
            ])
    }

    /// When Apple signed the newest one about a subscription; `nil` where none was seen.
    func date(of key: SubscriptionKey) throws -> Timestamp? {
        let statement = try db.cachedStatement(
            sql: """
                SELECT \(Self.date(of: "s", check: "k"))
                FROM (SELECT ? AS bundle_id, ? AS environment, ? AS original_transaction_id) AS s
                LEFT JOIN trueup_checks AS k ON \(SubscriptionKey.agree("k", "s"))
                """)
        return try Row.fetchOne(statement, arguments: key.arguments)?.time(at: 0)
    }

    /// A newer statement than the one that a correction rests on.
    ///
    /// - Parameters:
    ///   - correction: What is planned; a period is measured by the statement about its
    ///     subscription. A revert rests on none.
    ///   - now: The run's clock.
    /// - Returns: `nil` where none is known and the correction may be written.
    /// - Throws: What reading the database throws.
    func outdating(_ correction: PlannedCorrection, now: Timestamp) throws -> OutdatedStatement? {
        outdating(correction, newest: try date(of: correction.subscription), now: now)
    }

    /// Compares with the date of the newest statement about the subscription, which is known.
    func outdating(
        _ correction: PlannedCorrection, newest: Timestamp?, now: Timestamp
    ) -> OutdatedStatement? {
        guard correction.undoOf == nil else { return nil }
        let rests =
            correction.restsOn
            ?? (correction.transactionID == nil ? correction.appleSignedDate : nil)
        guard let rests, let newest, newest > rests, !newest.isAhead(of: now) else { return nil }
        return OutdatedStatement(
            originalTransactionID: correction.subscription.originalTransactionID, signed: rests,
            newest: newest)
    }

    /// The expression of that date for a row of the table `s`, next to its check: databases of
    /// earlier versions have it there alone.
    static func date(of row: String, check: String) -> String {
        """
        nullif(max(ifnull(\(check).signed_date, 0), ifnull((
            SELECT n.signed_date FROM trueup_statements AS n
            WHERE \(SubscriptionKey.agree("n", row))), 0)), 0)
        """
    }
}

/// Notes about rows that the company has deleted since.
///
/// Without their deletion they would always count: as Apple's oldest statement, among the checked
/// rows, in the sweep, and with the customer's other rows. A row that comes back counts as never
/// checked.
struct GoneRows: Sendable {
    /// Notes with one row for each subscription.
    ///
    /// `unless` is the condition that keeps a note `n` although no row has its key.
    typealias Notes = (table: String, unless: String)

    let header: RunHeader

    /// Notes read in one piece; reading blocks no writer.
    static let rowsPerPiece = 10_000

    /// A subscription without a row also counts as not found only after several days.
    static let notes: [Notes] = [
        ("trueup_checks", "0"), ("trueup_history_revisions", "0"),
        ("trueup_statements", isPending), ("trueup_absences", isPending),
    ]

    private static let isPending =
        "EXISTS (SELECT 1 FROM trueup_agenda AS a WHERE \(SubscriptionKey.agree("a", "n")))"

    /// Finds notes about rows of the run's apps that are not in the table, from a key on; returns
    /// also where the next piece begins, `nil` at the end.
    func piece(
        of notes: Notes, from start: StoredKey, _ db: Database
    ) throws -> (gone: [StoredKey], next: StoredKey?) {
        let rows = RowsInKeyOrder(table: notes.table)
        let chunk = rows.chunk(from: start, Self.rowsPerPiece, as: "n")
        let gone = try Row.fetchCursor(
            db,
            sql: """
                SELECT n.original_transaction_id, n.environment, n.bundle_id FROM \(chunk.sql)
                WHERE NOT EXISTS (SELECT 1 FROM subscriptions AS s
                        WHERE \(SubscriptionKey.agree("s", "n")))
                    AND NOT \(notes.unless)
                    AND \(OpenFindings.isOfAnApp(of: "n"))
                """,
            arguments: chunk.arguments + [TextList.encode(header.filters)])
        let keys = try Array(gone.map(StoredKey.init))
        return (keys, try rows.key(after: start, Self.rowsPerPiece, db))
    }

    /// Deletes notes about rows that are still not in the table.
    func forget(_ keys: ArraySlice<StoredKey>, in notes: Notes, _ db: Database) throws {
        for key in keys {
            try db.executeCached(
                """
                DELETE FROM \(notes.table)
                WHERE (bundle_id, environment, original_transaction_id) = \(key.marks)
                    AND NOT EXISTS (SELECT 1 FROM subscriptions AS s
                        WHERE \(SubscriptionKey.agree("s", notes.table)))
                """, key.arguments)
        }
    }
}

extension SQLiteStore {
    /// Forgets what was noted about rows that are gone, in small transactions.
    ///
    /// Only after a run that looked for rows to ask about, and whose guard accepted the table's
    /// size: a table that was emptied by mistake keeps its notes.
    func forgetGoneRows(
        after conclusion: RunConclusion, of run: RunHeader
    ) async throws(StoreError) {
        guard run.worksOffQueue, run.countsTables, conclusion.acceptedTableRows != nil else {
            return
        }
        let doing = "forgetting rows that are gone"
        let rows = GoneRows(header: run)
        for notes in GoneRows.notes {
            var position: StoredKey? = .first
            while let start = position {
                let piece = try await read(doing) { db in
                    try rows.piece(of: notes, from: start, db)
                }
                position = piece.next
                for chunk in piece.gone.chunked(by: StoreLimits.scatteredRowsPerChunk) {
                    try await write(doing) { db in try rows.forget(chunk, in: notes, db) }
                }
            }
        }
    }
}
