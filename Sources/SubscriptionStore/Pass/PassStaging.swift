import GRDB
package import Subscriptions

/// Writes judgements into a checkpoint: each row is settled once, unless an outcome replaces
/// another.
struct PassStaging {
    let db: Database
    let run: RunReference
    /// When the run began.
    let now: Timestamp

    /// Whether the checkpoint has settled the row `s`.
    static let isSettled = """
        EXISTS (SELECT 1 FROM trueup_pass_rows AS p WHERE p.pass_id = ?
            AND \(SubscriptionKey.agree("p", "s"))
            AND p.verdict <> \(VerdictCode.noted.rawValue))
        """

    /// Whether an earlier run of the checkpoint's round has checked the row `s`.
    static let isOfRound = """
        EXISTS (SELECT 1 FROM trueup_passes AS w
            JOIN trueup_rounds AS o ON o.job = \(PassOpening.roundOfCheckpoint)
            JOIN trueup_checks AS k ON \(SubscriptionKey.agree("k", "s"))
                AND k.asked_at >= o.began
            WHERE w.pass_id = ? AND w.covers_every_row = 1 AND w.mode = 'apply')
        """

    func stage(_ batch: StagedBatch) throws {
        if batch.replaces {
            for key in Set(batch.outcomes.map(\.key)) { try supersede(key) }
        }
        var settled: Set<SubscriptionKey> = []
        let mayKnowAbsences = try mayKnowAbsences(after: batch)
        for outcome in batch.outcomes where try stage(outcome, batch.replaces, mayKnowAbsences) {
            if !batch.asksAgain.isEmpty { settled.insert(outcome.key) }
        }
        // Only now: within a batch, the row that represents another may come after it.
        for outcome in batch.outcomes { try refuseSecondRow(outcome) }
        for key in batch.asksAgain where settled.contains(key) { try markToAskAgain(key) }
        for (key, mark) in batch.historyMarks { try note(mark, of: key) }
        if let position = batch.walkedThrough { try moveWalk(to: position) }
    }

    private func refuseSecondRow(_ outcome: RowOutcome) throws {
        let aliasRows = AliasRows(db: db)
        for original in Set(outcome.corrections.map(\.subscription)) {
            try aliasRows.refusePlanned(for: original, by: run)
        }
        for finding in outcome.findings {
            guard let original = try aliasRows.note(finding) else { continue }
            try aliasRows.refusePlanned(for: original, by: run)
        }
    }

    /// Stores one outcome; returns whether it settled its row.
    private func stage(
        _ outcome: RowOutcome, _ replaces: Bool, _ mayKnowAbsences: Bool
    ) throws -> Bool {
        if let purchase = outcome.purchase {
            if let stated = outcome.statedAt {
                guard try replaceOlder(purchase.key, of: outcome.key, stated) else { return false }
            }
            try purchase.note(inPass: run.passID, db)
        }
        guard try settle(outcome, replaces: replaces) else { return false }
        if let stated = outcome.statedAt {
            try NewestStatements(db: db).note(stated, about: outcome.key, now: now)
        }
        if mayKnowAbsences { try observe(outcome.absence, of: outcome.key) }
        let vault = EvidenceVault(db: db)
        let app = (bundleID: outcome.key.bundleID, environment: outcome.key.environment)
        for payload in outcome.evidence { try vault.store(payload, of: app) }
        let staging = OutcomeStaging(db: db, run: run)
        let corrections = try outcome.corrections.map { correction in
            (correction: correction, id: try staging.store(correction))
        }
        for finding in outcome.findings {
            try staging.store(finding, outcome: outcome.key, corrections: corrections)
        }
        return outcome.verdict != nil
    }

    /// Of two statements about one purchase the one signed later counts, in whatever order they come.
    ///
    /// A notification and the customer's history may both tell of it in one run.
    ///
    /// - Returns: Whether no newer statement is known.
    private func replaceOlder(
        _ purchase: TransactionKey, of outcome: SubscriptionKey, _ stated: Timestamp
    ) throws -> Bool {
        let key = SubscriptionKey(
            bundleID: purchase.bundleID, environment: purchase.environment,
            originalTransactionID: purchase.transactionID)
        let statements = NewestStatements(db: db)
        if let newest = try statements.date(of: key) {
            if newest > stated, !newest.isAhead(of: now) { return false }
            try supersede(outcome, transactionID: purchase.transactionID)
        }
        try statements.note(stated, about: key, now: now)
        return true
    }

    /// Writes the verdict; returns whether it was stored.
    private func settle(_ outcome: RowOutcome, replaces: Bool) throws -> Bool {
        guard outcome.verdict != nil else { return try note(outcome, replaces: replaces) }
        let isAbsent = if case .absent = outcome.absence { true } else { false }
        let key = outcome.key
        try db.executeCached(
            replaces ? Self.settlingAnew : Self.settling,
            [
                run.passID, key.bundleID, key.environment, key.originalTransactionID,
                VerdictCode(outcome.verdict).rawValue, VerdictCode.reason(of: outcome.verdict),
                isAbsent, outcome.examined.rawValue, Self.doubt(of: outcome),
            ] + Self.checkArguments(of: outcome) + outcome.figures.arguments)
        return db.changesCount > 0
    }

    private static let settling = settling(where: "verdict = \(VerdictCode.noted.rawValue)")
    private static let settlingAnew = settling(
        where: "verdict <> \(VerdictCode.inserted.rawValue)")

    private static func settling(where isReplaceable: String) -> String {
        """
        INSERT INTO trueup_pass_rows (
            pass_id, bundle_id, environment, original_transaction_id, verdict, reason,
            is_absent, look, is_doubtful, \(checkColumns), \(figureColumns))
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET verdict = excluded.verdict, reason = excluded.reason,
            is_absent = excluded.is_absent, look = excluded.look,
            is_doubtful = excluded.is_doubtful, asks_again = 0,
            \(takesOverCheck), \(takesOverFigures)
        WHERE \(isReplaceable)
        """
    }

    /// Records a key that a finding names but that has no verdict.
    ///
    /// It never overwrites a verdict, and does nothing for a row that this checkpoint inserted.
    private func note(_ outcome: RowOutcome, replaces: Bool) throws -> Bool {
        try db.executeCached(
            """
            INSERT INTO trueup_pass_rows (
                pass_id, bundle_id, environment, original_transaction_id, verdict, look,
                is_doubtful, \(Self.checkColumns))
            VALUES (?, ?, ?, ?, \(VerdictCode.noted.rawValue), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET look = CASE verdict WHEN \(VerdictCode.noted.rawValue)
                    THEN max(look, excluded.look) ELSE look END,
                asks_again = CASE WHEN ? THEN 0 ELSE asks_again END,
                is_doubtful = CASE verdict WHEN \(VerdictCode.noted.rawValue)
                    THEN excluded.is_doubtful ELSE is_doubtful END
            WHERE verdict <> \(VerdictCode.inserted.rawValue)
            """,
            [run.passID] + outcome.key.arguments
                + [outcome.examined.rawValue, Self.doubt(of: outcome)]
                + Self.checkArguments(of: outcome) + [replaces])
        return db.changesCount > 0
    }

    /// The value of `is_doubtful` where the customer's history was not read to its end: the next run
    /// asks again, and a run that continues this one does not.
    static let lacksHistory = 2

    private static func doubt(of outcome: RowOutcome) -> Int {
        outcome.lacksHistory ? lacksHistory : outcome.isDoubtful ? 1 : 0
    }

    private static let checkColumns =
        "asked_because, signed_date, clock, is_lasting, agreed, account, customer, paid_group"

    /// A later look keeps the reason of the question that it repeats.
    private static let takesOverCheck = """
        asked_because = ifnull(excluded.asked_because, asked_because),
        signed_date = excluded.signed_date, clock = excluded.clock,
        is_lasting = excluded.is_lasting, agreed = excluded.agreed, account = excluded.account,
        customer = excluded.customer, paid_group = excluded.paid_group
        """

    private static let figureColumns = "our_status, apple_status, apple_price, apple_currency"

    /// A later look knows better what Apple states, but our row may be fixed by then.
    private static let takesOverFigures = """
        our_status = ifnull(our_status, excluded.our_status),
        apple_status = excluded.apple_status, apple_price = excluded.apple_price,
        apple_currency = excluded.apple_currency
        """

    private static func checkArguments(of outcome: RowOutcome) -> StatementArguments {
        let check = outcome.check
        return [
            outcome.askedBecause?.rank, check?.signedDate?.unixMilliseconds,
            check?.clock?.unixMilliseconds, check?.isLasting,
            check.map { Int64(bitPattern: $0.values.bits) },
            (check?.account).map { Int64(bitPattern: $0.bits) },
            outcome.payer.map { Int64(bitPattern: $0.customer.bits) }, outcome.payer?.paidGroup,
        ]
    }

    /// Marks everything staged for a row, or for one transaction, as superseded, except corrections that
    /// were written.
    private func supersede(_ key: SubscriptionKey, transactionID: String? = nil) throws {
        let ofTransaction = transactionID == nil ? "" : "AND transaction_id = ?"
        let arguments: StatementArguments =
            [run.sequence, run.passID] + key.arguments
            + StatementArguments([transactionID].compactMap(\.self))
        try db.executeCached(
            """
            UPDATE trueup_pass_findings SET superseded_by = ?
            WHERE pass_id = ? AND outcome_bundle_id = ? AND outcome_environment = ?
                AND outcome_original_transaction_id = ? \(ofTransaction)
                AND superseded_by IS NULL AND is_carried = 0
                AND NOT EXISTS (SELECT 1 FROM trueup_pass_corrections AS c
                    WHERE c.correction_id = trueup_pass_findings.correction_id
                        AND c.fate = 'applied')
            """, arguments)
        try db.executeCached(
            """
            UPDATE trueup_pass_corrections SET superseded_by = ?
            WHERE pass_id = ? AND \(SubscriptionKey.isKey) \(ofTransaction)
                AND superseded_by IS NULL AND fate <> 'applied'
            """, arguments)
    }

    /// Whether any row may have an absence on record, which nearly none has.
    private func mayKnowAbsences(after batch: StagedBatch) throws -> Bool {
        let learns = batch.outcomes.contains {
            if case .absent = $0.absence { true } else { false }
        }
        return try learns || db.holds("trueup_absences")
    }

    private func observe(_ absence: AbsenceObservation, of key: SubscriptionKey) throws {
        let isKey = SubscriptionKey.isKey
        switch absence {
        case .nothing: return
        case .present:
            try db.executeCached("DELETE FROM trueup_absences WHERE \(isKey)", key.arguments)
        case .absent(let day):
            let earlier = try db.row(
                cached: """
                    SELECT first_day, last_day, distinct_days FROM trueup_absences WHERE \(isKey)
                    """, key.arguments
            ).map { row in
                AbsenceRecord(
                    firstDay: row.requiredText(at: 0), lastDay: row.requiredText(at: 1),
                    distinctDays: row.number(at: 2) ?? 1)
            }
            let record = AbsenceRecord.after(earlier, day: day)
            try db.executeCached(
                "INSERT OR REPLACE INTO trueup_absences VALUES (?, ?, ?, ?, ?, ?)",
                key.arguments + [record.firstDay, record.lastDay, record.distinctDays])
        }
    }

    private func markToAskAgain(_ key: SubscriptionKey) throws {
        try db.executeCached(
            """
            UPDATE trueup_pass_rows SET asks_again = 1
            WHERE pass_id = ? AND \(SubscriptionKey.isKey)
            """, [run.passID] + key.arguments)
    }

    private func note(_ mark: HistoryMark, of key: SubscriptionKey) throws {
        try db.executeCached(
            "INSERT OR REPLACE INTO trueup_pass_revisions VALUES (?, ?, ?, ?, ?, ?, ?)",
            [run.passID] + key.arguments + [
                mark.revision, mark.periods?.periods, mark.periods?.sha256,
            ])
    }

    private func moveWalk(to key: SubscriptionKey) throws {
        try db.executeCached(
            """
            UPDATE trueup_passes SET walked_bundle_id = ?, walked_environment = ?,
                walked_original_transaction_id = ?
            WHERE pass_id = ?
            """, key.arguments + [run.passID])
    }
}

extension RowFigures? {
    /// Both sides of a checked row, for the control totals.
    fileprivate var arguments: StatementArguments {
        [
            map { ControlSums.group(ofStatus: $0.ourStatus) },
            (self?.statedStatus).map { ControlSums.group(ofStatus: Int64($0)) },
            self?.price, self?.currency,
        ]
    }
}

/// The results of a checkpoint so far; they outlive a killed process.
///
/// Within a checkpoint each row is settled once: what is staged for a settled row is ignored,
/// unless it `replaces`. Every method is one short transaction.
extension SQLiteStore {
    /// Stores what was checked, in one transaction with the walk's position.
    package func stage(
        _ batch: StagedBatch, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) {
        try await write("storing what was checked") { db in
            let reference = try RunReference(run, in: pass, db)
            // A plan that is added to is another plan.
            try PlanReader(db: db).breakSeal(ofRun: reference.sequence)
            try PassStaging(db: db, run: reference, now: run.started).stage(batch)
        }
    }

    /// Which of these rows the checkpoint has settled.
    package func settled(
        among keys: [SubscriptionKey], in pass: OpenPass
    ) async throws(StoreError) -> Set<SubscriptionKey> {
        try await read("reading which rows are settled") { db in
            try Set(
                keys.filter { key in
                    try db.holds(
                        """
                        trueup_pass_rows WHERE pass_id = ? AND \(SubscriptionKey.isKey)
                            AND verdict <> \(VerdictCode.noted.rawValue)
                        """, [pass.passID] + key.arguments)
                })
        }
    }

    /// Rows of this checkpoint staged with `asksAgain`, in key order.
    package func rowsToAskAgain(
        after key: SubscriptionKey?, limit: Int, in pass: OpenPass
    ) async throws(StoreError) -> [SubscriptionKey] {
        try await read("reading rows to ask again") { db in
            // Everything sorts at or after the empty key, which is a key like any other.
            let start = key.map(StoredKey.init) ?? .first
            return try db.rows(
                cached: """
                    SELECT bundle_id, environment, original_transaction_id
                    FROM trueup_pass_rows INDEXED BY trueup_pass_rows_to_ask_again
                    WHERE pass_id = ? AND asks_again = 1
                        AND (bundle_id, environment, original_transaction_id)
                            \(key == nil ? ">=" : ">") \(start.marks)
                    ORDER BY bundle_id, environment, original_transaction_id LIMIT ?
                    """, [pass.passID] + start.arguments + [limit]
            ).map { SubscriptionKey($0, at: 0) }
        }
    }

    /// An id of the app that the checkpoint has checked; `nil` where there is none.
    package func judgedID(
        of app: AppIdentity, in pass: OpenPass
    ) async throws(StoreError) -> String? {
        try await read("reading an id that was checked") { db in
            try db.text(
                """
                SELECT original_transaction_id FROM trueup_pass_rows
                WHERE pass_id = ? AND bundle_id = ? AND environment = ?
                    AND verdict IN (\(VerdictCode.match.rawValue),
                        \(VerdictCode.discrepancy.rawValue))
                LIMIT 1
                """, [pass.passID, app.bundleID, app.environment.rawValue])
        }
    }

    /// Which of these subscriptions without a row an answer of the checkpoint named, where the
    /// customer's history could not be read: this checkpoint would learn no more of them.
    package func lackingHistory(
        among keys: [SubscriptionKey], in pass: OpenPass
    ) async throws(StoreError) -> Set<SubscriptionKey> {
        guard !keys.isEmpty else { return [] }
        return try await read("reading whose histories were not read") { db in
            try Set(
                keys.filter { key in
                    try db.holds(
                        """
                        trueup_pass_rows WHERE pass_id = ? AND \(SubscriptionKey.isKey)
                            AND verdict = \(VerdictCode.noted.rawValue)
                            AND is_doubtful = \(PassStaging.lacksHistory)
                        """, [pass.passID] + key.arguments)
                })
        }
    }

    /// Which of these subscriptions a finding of the checkpoint names as the true original or the
    /// successor of a row that we hold under another id: they are held, though not by their own
    /// name.
    package func heldUnderOtherIDs(
        among keys: [SubscriptionKey], in pass: OpenPass
    ) async throws(StoreError) -> Set<SubscriptionKey> {
        try await read("reading which subscriptions are held under other ids") { db in
            try Set(
                keys.filter { key in
                    let value = FieldValueText.encode(.text(key.originalTransactionID))
                    return try db.holds(
                        """
                        trueup_pass_findings AS f INDEXED BY trueup_pass_findings_of_other_ids
                        WHERE f.pass_id = ? AND f.superseded_by IS NULL
                            AND f.kind IN ('invalid_id', 'migrated')
                            AND f.bundle_id = ? AND f.environment = ? AND f.apple_value = ?
                        """, [pass.passID, key.bundleID, key.environment, value])
                })
        }
    }
}

/// A verdict as it is in `trueup_pass_rows` and `trueup_run_totals`.
enum VerdictCode: Int64 {
    /// Something was said about it, but it is not a row in scope.
    case noted = 0
    case match = 1
    case discrepancy = 2
    case undecided = 3
    case excluded = 4
    /// This pass inserted it: it was no row when the checkpoint began.
    case inserted = 5

    init(_ verdict: Verdict?) {
        self =
            switch verdict {
            case nil: .noted
            case .match: .match
            case .discrepancy: .discrepancy
            case .undecided: .undecided
            case .excluded: .excluded
            }
    }

    static func reason(of verdict: Verdict?) -> String? {
        switch verdict {
        case .undecided(let reason): reason.rawValue
        case .excluded(let reason): reason.rawValue
        case .match, .discrepancy, nil: nil
        }
    }
}

extension RunTotals {
    /// Adds rows of one verdict.
    mutating func add(_ rows: Int, code: Int64, reason: String) throws {
        switch VerdictCode(rawValue: code) {
        case .match: matched += rows
        case .discrepancy: discrepant += rows
        case .undecided:
            guard let reason = UndecidedReason(rawValue: reason) else { throw unknown(reason) }
            undecided[reason, default: 0] += rows
        case .excluded:
            guard let reason = ExclusionReason(rawValue: reason) else { throw unknown(reason) }
            excluded[reason, default: 0] += rows
        case .noted, .inserted, nil: break
        }
    }

    private func unknown(_ reason: String) -> StoreError {
        .inconsistent("The bookkeeping holds a verdict of unknown reason `\(reason)`.")
    }
}
