import GRDB
package import Subscriptions

/// Decides for each ledger entry of a run whether it can be reverted, and by which correction.
///
/// The row must be as the last ledger entry about it left it: the same version, so no one wrote to
/// it since, and the same values. Where the run corrected a row twice, the later correction is
/// reverted first, and the earlier one is checked as if that were done.
struct UndoJudgement {
    let db: Database
    /// The run to revert.
    let runID: String

    /// A chunk of the entries that a run wrote or its report showed, before the given one, newest
    /// first.
    func items(before position: Int64) throws -> [UndoItem] {
        let rows = try db.rows(
            """
            SELECT \(LedgerEntry.columns) FROM trueup_ledger AS l
            WHERE l.entry < ?2 AND \(Self.isOfRun)
            ORDER BY l.entry DESC LIMIT \(StoreLimits.correctionsPerChunk)
            """, [runID, position])
        return try rows.map { try item(for: LedgerEntry($0)) }
    }

    /// A killed run left its corrections to the next one's report: either name finds them.
    private static let isOfRun = """
        (l.run_id = ?1 OR l.entry IN (
            SELECT e.entry FROM \(ReportedEntries.source) AS e WHERE e.run_id = ?1))
        """

    private func item(for entry: LedgerEntry) throws -> UndoItem {
        let undos = try undos(of: entry.number)
        if let last = undos.last {
            return UndoItem(
                entry: entry,
                standing: isInForce(after: undos)
                    ? .conflict(.broughtBack(runID: last.runID))
                    : .done(entry: last.number, runID: last.runID))
        }
        do {
            let situation = try situation(of: entry)
            return UndoItem(entry: entry, standing: .ready(try inverse(of: entry, in: situation)))
        } catch let conflict as UndoConflict {
            return UndoItem(entry: entry, standing: .conflict(conflict))
        }
    }

    /// The row as it will be after all later corrections of this run are reverted.
    private typealias Situation = (row: CurrentRow?, version: Int64?)

    private func situation(of entry: LedgerEntry) throws -> Situation {
        let later = try entries(after: entry)
        var now = try current(of: entry)
        let newest = later.first ?? entry
        if now.row != nil, let last = newest.rowVersion, let version = now.version, version != last
        {
            let changed = changedColumns(of: newest, in: now.row)
            throw changed.isEmpty
                ? UndoConflict.written(version: version, was: last) : .changed(changed)
        }
        // A later entry and its own undo, both after this one, come to nothing together.
        let numbers = Set(later.map(\.number))
        for other in later {
            if let undone = other.undoOf, numbers.contains(undone) { continue }
            let undos = try undos(of: other.number)
            guard isInForce(after: undos) else { continue }
            if let redo = undos.last {
                throw UndoConflict.corrected(entry: redo.number, runID: redo.runID)
            }
            guard try isOfRun(other.number), case .ready(let step) = try item(for: other).standing
            else { throw UndoConflict.corrected(entry: other.number, runID: other.runID) }
            now = after(step, now)
        }
        return now
    }

    private func after(_ step: PlannedCorrection, _ now: Situation) -> Situation {
        switch step.action {
        case .delete: (row: nil, version: now.version)
        case .update: (now.row?.changed(step.changes), now.version.map { $0 &+ 1 })
        case .insert:
            (
                CurrentRow(
                    inserted: step.changes.after, of: step.subscription,
                    transactionID: step.transactionID), now.version.map { $0 &+ 1 }
            )
        }
    }

    private func inverse(
        of entry: LedgerEntry, in situation: Situation
    ) throws -> PlannedCorrection {
        if entry.undoOf != nil, entry.transactionID == nil,
            let newest = try NewestStatements(db: db).date(of: entry.subscription),
            newest > entry.appleSignedDate
        {
            throw UndoConflict.outdated(newest: newest)
        }
        switch entry.rowAction {
        case .delete:
            guard situation.row == nil else { throw UndoConflict.there }
        case .insert, .update:
            guard situation.row != nil else { throw UndoConflict.gone }
            let changed = changedColumns(of: entry, in: situation.row)
            guard changed.isEmpty else { throw UndoConflict.changed(changed) }
        }
        return entry.inverse(ofRun: runID, rowVersion: situation.version)
    }

    /// Columns that differ from what an entry wrote: the written ones, of an inserted row all.
    private func changedColumns(of entry: LedgerEntry, in row: CurrentRow?) -> [String] {
        guard let row else { return [] }
        let written = entry.changes.after
        switch entry.rowAction {
        case .delete: return []
        case .update: return written.filter { row[$0.key] != $0.value }.keys.sorted()
        case .insert:
            let inserted = CurrentRow(
                inserted: written, of: entry.subscription, transactionID: entry.transactionID)
            return Set(inserted.values.keys).union(row.values.keys)
                .filter { row[$0] != inserted[$0] }.sorted()
        }
    }

    private func current(of entry: LedgerEntry) throws -> Situation {
        let key = entry.subscription
        if let id = entry.transactionID {
            let table = entry.changes.transactionTable
            return (try CurrentRow.transaction(key.transaction(id), in: table, db), nil)
        }
        let row = try CurrentRow.subscription(key, db)
        // A row that is inserted again continues from the version that it was deleted with.
        return (
            row,
            try db.integer(
                cached: """
                    SELECT row_version FROM \(row == nil ? "trueup_row_versions" : "subscriptions")
                    WHERE \(SubscriptionKey.isKey)
                    """, key.arguments)
        )
    }

    /// Later entries about the same row, newest first.
    private func entries(after entry: LedgerEntry) throws -> [LedgerEntry] {
        try db.rows(
            cached: """
                SELECT \(LedgerEntry.columns) FROM trueup_ledger AS l
                WHERE l.bundle_id = ? AND l.environment = ? AND l.original_transaction_id = ?
                    AND l.entry > ? AND l.target_table = ? AND ifnull(l.transaction_id, '') = ?
                ORDER BY l.entry DESC
                """,
            entry.subscription.arguments + [
                entry.number, entry.table, entry.transactionID ?? "",
            ]
        ).map { try LedgerEntry($0) }
    }

    /// The entry that reverted one, the entry that reverted that one, and so on.
    private func undos(of number: Int64) throws -> [(number: Int64, runID: String)] {
        var undos: [(number: Int64, runID: String)] = []
        var last = number
        while let next = try undoing(last), next.number > last {
            undos.append(next)
            last = next.number
        }
        return undos
    }

    /// An undo that was undone itself leaves a correction in force.
    private func isInForce(after undos: [(number: Int64, runID: String)]) -> Bool {
        undos.count.isMultiple(of: 2)
    }

    /// The entry that reverted one.
    private func undoing(_ number: Int64) throws -> (number: Int64, runID: String)? {
        try db.row(cached: "SELECT entry, run_id FROM trueup_ledger WHERE undo_of = ?", [number])
            .map { row in
                (row.integer(at: 0) ?? 0, row.requiredText(at: 1))
            }
    }

    private func isOfRun(_ number: Int64) throws -> Bool {
        try db.holds(
            "trueup_ledger AS l WHERE l.entry = ?2 AND \(Self.isOfRun)", [runID, number])
    }
}

extension LedgerEntry {
    /// The correction that reverts the entry of a row with that version, with the same evidence.
    func inverse(ofRun runID: String, rowVersion: Int64?) -> PlannedCorrection {
        let key = subscription
        let version = rowVersion ?? 0
        let target: PlannedCorrection.Target =
            switch (rowAction, transactionID.map(key.transaction)) {
            case (.update, let period?): .updatePeriod(period, of: key)
            case (.insert, let period?): .deletePeriod(period, of: key)
            case (.delete, let period?): .insertPeriod(period, of: key)
            case (.update, nil): .update(key, expectedRowVersion: version)
            case (.insert, nil): .delete(key, expectedRowVersion: version)
            case (.delete, nil): .insert(key)
            }
        return PlannedCorrection(
            target: target, changes: changes.inverse, kinds: kinds,
            evidence: evidence, evidenceRenewal: evidenceRenewal, appleSignedDate: appleSignedDate,
            reason: "undo of run \(runID), ledger entry \(number)", undoOf: number)
    }
}

extension UndoConflict: Error {}

extension UndoJudgement {
    /// Puts the inverse of the next corrections into a checkpoint.
    func stage(before position: Int64, in run: RunReference) throws -> [UndoItem] {
        try db.execute(
            sql: "INSERT OR IGNORE INTO trueup_applications (pass_id, undo_of) VALUES (?, ?)",
            arguments: [run.passID, runID])
        let items = try items(before: position)
        let staging = OutcomeStaging(db: db, run: run)
        for item in items {
            switch item.standing {
            case .done: continue
            case .ready(var correction):
                if correction.endsAccess {
                    correction.continuedBy = try ended(inFavourOf: correction.subscription)
                }
                _ = try staging.store(correction)
                try staging.noteRow(of: correction)
            case .conflict:
                // As it would have reverted the entry, had the row stayed as it was.
                let correction = item.entry.inverse(
                    ofRun: runID, rowVersion: item.entry.rowVersion)
                try staging.note(.stale, ofCorrection: try staging.store(correction))
                try noteMoved(correction.subscription, in: run)
            }
        }
        return items
    }

    /// Subscriptions whose access was ended because this one gives it: one of them must give it
    /// again before this one stops.
    private func ended(inFavourOf key: SubscriptionKey) throws -> [String] {
        var names = try ended(inFavourOf: key.arguments)
        // Those of other apps are read app by app, because the index begins with the app.
        let nextApp = """
            SELECT min(bundle_id) FROM trueup_ledger INDEXED BY trueup_ledger_by_continuation
            WHERE bundle_id > ? AND access_continues_by IS NOT NULL
            """
        var app = ""
        while let next = try db.text(cached: nextApp, [app]) {
            let ids = try ended(inFavourOf: [next, key.environment, key.nameElsewhere])
            names += ids.map { id in
                key.name(
                    of: SubscriptionKey(
                        bundleID: next, environment: key.environment, originalTransactionID: id))
            }
            app = next
        }
        return names
    }

    /// The ids of those of one app whose correction is in force.
    ///
    /// The arguments are app and environment, then the subscription that gives access, as the ledger
    /// names it there.
    private func ended(inFavourOf arguments: StatementArguments) throws -> [String] {
        let entries = try db.rows(
            cached: """
                SELECT l.original_transaction_id, l.entry FROM trueup_ledger AS l
                    INDEXED BY trueup_ledger_by_continuation
                WHERE l.bundle_id = ? AND l.environment = ? AND l.access_continues_by = ?
                ORDER BY l.original_transaction_id, l.entry
                """, arguments)
        var ids: [String] = []
        for entry in entries {
            let id = entry.requiredText(at: 0)
            guard ids.last != id, isInForce(after: try undos(of: entry.integer(at: 1) ?? 0))
            else { continue }
            ids.append(id)
        }
        return ids
    }

    private func noteMoved(_ key: SubscriptionKey, in run: RunReference) throws {
        try db.executeCached(
            """
            INSERT OR REPLACE INTO trueup_pass_rows (
                pass_id, bundle_id, environment, original_transaction_id, verdict, reason)
            VALUES (?, ?, ?, ?, \(VerdictCode.undecided.rawValue),
                '\(UndecidedReason.changedDuringRun.rawValue)')
            """, [run.passID] + key.arguments)
    }
}

/// The corrections of earlier runs, for a run that reverts them.
extension SQLiteStore {
    /// Plans the inverse of an earlier run's corrections; what is reverted already is left out,
    /// what cannot be is staged as stale.
    package func stageUndo(
        ofRun runID: String, in pass: OpenPass, run: RunHeader
    ) async throws(StoreError) -> UndoCounts {
        let doing = "planning to revert the run \(runID)"
        var counts = UndoCounts()
        var position: Int64? = .max
        while let start = position {
            let items = try await write(doing) { db in
                try Self.require(runID, db)
                return try UndoJudgement(db: db, runID: runID)
                    .stage(before: start, in: RunReference(run, in: pass, db))
            }
            for item in items { counts.add(item) }
            position = items.last?.entry.number
        }
        return counts
    }

    /// Each correction of a run with whether it can be reverted, newest first, streamed.
    ///
    /// `body`'s errors pass through unchanged.
    ///
    /// - Throws: `.unavailable` when there is no such run.
    package func forEachUndo(ofRun runID: String, _ body: (UndoItem) throws -> Void) throws {
        try stream("reading the corrections of \(runID)") { db in
            try Self.require(runID, db)
            var position = Int64.max
            while true {
                let items = try UndoJudgement(db: db, runID: runID).items(before: position)
                for item in items { try body(item) }
                guard let last = items.last else { return }
                position = last.entry.number
            }
        }
    }

    private static func require(_ runID: String, _ db: Database) throws {
        if let text = try declaration(reportedAs: runID, db) { throw StoreError.unavailable(text) }
        // Books that were put back know a run since then only by its corrections.
        guard
            try db.holds("trueup_runs WHERE run_id = ?", [runID])
                || db.holds("trueup_reported_ranges WHERE run_id = ?", [runID])
        else {
            throw StoreError.unavailable(
                "There is no run \(runID) in this database. `trueup status` lists them.")
        }
    }
}
