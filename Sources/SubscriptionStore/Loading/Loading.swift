import GRDB
package import Subscriptions

/// Loading files of rows: nothing of a file with a line that is refused.
///
/// A good file is merged some hundred lines at a time, so that no service waits for long; a load
/// that is killed has merged a part, and loading the file again merges the rest. So it is where a
/// constraint or a trigger of the company's refuses a row.
extension SQLiteStore {
    /// Loads subscription rows.
    ///
    /// - Parameters:
    ///   - columns: The columns that the file has; the others stay as they are on existing rows.
    ///   - dryRun: Only counts what would change; needs no right to write.
    ///   - produce: Hands over the lines, each with the columns that it gives: the lowest bit for the
    ///     first of `SubscriptionField`; `nil` for those of the file. If it throws, nothing is loaded
    ///     and the error passes.
    ///   - progress: Takes how many lines were compared with the table, and of how many.
    /// - Returns: How many lines changed what.
    /// - Throws: `StoreError`, or what `produce` throws.
    package func loadSubscriptions(
        columns: Set<SubscriptionField>, dryRun: Bool = false,
        partly produce: (_ add: (LocalSubscription, UInt64?) throws -> LineOutcome) throws -> Void,
        progress: (Int, Int) -> Void = { _, _ in }
    ) throws -> LoadCounts {
        let fields = SubscriptionField.allCases
        let (table, wanted) = try subscriptions(giving: columns, dryRun: dryRun)
        return try load(into: table, adding: wanted, dryRun: dryRun, produce, progress) {
            row, given, stage in
            try stage.add(fields, given: given) { row.value(of: $0) }
        }
    }

    /// The table of subscriptions for a file with these columns, and those that are to be added to
    /// it before the first merge.
    ///
    /// Optional columns are added where the table lacks them and the file has them: so a company
    /// gets them that wants them.
    private func subscriptions(
        giving columns: Set<SubscriptionField>, dryRun: Bool
    ) throws -> (StagedTable, adding: Set<SubscriptionField>) {
        let absent = try columnsNotStored()
        let wanted = dryRun ? [] : absent.intersection(columns)
        let lacking = absent.subtracting(wanted)
        return (.subscriptions(giving: columns, lacking: lacking), wanted)
    }

    private func add(_ wanted: Set<SubscriptionField>) throws {
        guard !wanted.isEmpty else { return }
        try StoreError.naming("adding columns to the table `subscriptions`") {
            let connection = try file.connectToWrite(
                cacheKibibytes: StoreLimits.loadingCacheKibibytes)
            defer { try? connection.close() }
            // Books on a server have all columns, so this is never told to one.
            try connection.write { db in try OptionalColumns.add(wanted, to: db) }
        }
    }

    /// Loads rows of periods or purchases, in the same way.
    package func loadTransactions(
        into table: TransactionTable = .periods, columns: Set<TransactionField>,
        dryRun: Bool = false,
        partly produce: (_ add: (LocalTransaction, UInt64?) throws -> LineOutcome) throws -> Void,
        progress: (Int, Int) -> Void = { _, _ in }
    ) throws -> LoadCounts {
        let fields = table.fields
        return try load(
            into: .transactions(table, giving: columns), dryRun: dryRun, produce, progress
        ) { row, given, stage in
            try stage.add(fields, given: given) { row.value(of: $0) }
        }
    }

    /// Stages all lines, then merges them; `keep` puts a line into the temporary table.
    func load<Line>(
        into table: StagedTable, adding wanted: Set<SubscriptionField> = [], dryRun: Bool,
        _ produce: (_ add: (Line, UInt64?) throws -> LineOutcome) throws -> Void,
        _ progress: (Int, Int) -> Void,
        _ keep: @escaping (Line, UInt64?, inout LineStage) throws -> LineOutcome
    ) throws -> LoadCounts {
        let doing = "loading rows into the table `\(table.name)`"
        return try StoreError.naming(doing) {
            let loading = try connectToLoad(dryRun: dryRun, doing)
            defer { try? loading.close() }
            let lines = try stage(in: table, on: loading, produce, keep)
            // Only now: a file that is refused changes nothing.
            try add(wanted)
            var counts = LoadCounts()
            // Before the first merge, while it shows which lines meet a row.
            counts.outdated = try loading.read { db in try outdated(table, db) }
            var last: StatementArguments?
            var compared = 0
            var rows = StoreLimits.scatteredRowsPerChunk
            while true {
                progress(compared, lines)
                let before = last
                var taken = 0
                do {
                    if !dryRun, rows == StoreLimits.scatteredRowsPerChunk,
                        let next = try nextUnheld(of: table, after: last, on: loading),
                        let inserted = try blockingWrite(
                            doing, on: loading, { db in try insert(next, of: table, db) })
                    {
                        counts.inserted += inserted
                        compared += inserted
                        last = next.last
                        continue
                    }
                    taken = try takeNext(rows, of: table, after: &last, on: loading)
                    guard taken > 0 else { break }
                    guard !dryRun else {
                        compared += taken
                        counts = try loading.read { [counts] db in
                            try compare(table, counted: counts, db)
                        }
                        continue
                    }
                    // A merge that is tried again counts once.
                    counts = try blockingWrite(doing, on: loading) { [counts] db in
                        try merge(table, counted: counts, db)
                    }
                    compared += taken
                    rows = min(StoreLimits.scatteredRowsPerChunk, rows * 2)
                } catch let error as DatabaseError
                    where !dryRun && error.resultCode == .SQLITE_CONSTRAINT
                {
                    guard taken != 1 else {
                        counts.refusal = try refusal(of: table, error, on: loading)
                        return counts
                    }
                    // By halves down to the one line that is refused, with those before it merged.
                    rows = max(1, (taken > 0 ? taken : rows) / 2)
                    last = before
                }
            }
            counts.unchanged = lines - counts.skippedAsOlder - counts.updated - counts.inserted
            return counts
        }
    }

    /// Says which line of a merge a constraint or a trigger of the company's refused, and why.
    private func refusal(
        of table: StagedTable, _ error: DatabaseError, on loading: DatabaseQueue
    ) throws -> String {
        let id = try loading.writeWithoutTransaction { db in
            try String.fetchOne(db, sql: table.firstID)
        }
        return "the database refused the row \(id ?? "") in the table `\(table.name)`: "
            + "\(error.message ?? "no message") (SQLite \(error.extendedResultCode.rawValue))"
    }

    private func outdated(_ table: StagedTable, _ db: Database) throws -> OutdatedLines {
        var lines = OutdatedLines()
        guard let query = table.outdated else { return lines }
        try db.forEachRow(query) { row in
            guard let signed = row.time(at: 1), let newest = row.time(at: 2) else { return }
            let line = OutdatedStatement(
                originalTransactionID: row.requiredText(at: 0), signed: signed, newest: newest)
            if row.integer(at: 3) == 1 {
                lines.skipped += 1
                lines.firstSkipped = lines.firstSkipped ?? line
            } else {
                lines.inserted += 1
                lines.firstInserted = lines.firstInserted ?? line
            }
        }
        return lines
    }

    /// A connection of its own; a dry run's leaves the file as it is, byte for byte.
    func connectToLoad(dryRun: Bool, _ doing: String) throws -> DatabaseQueue {
        guard dryRun else {
            try requireWriting(doing)
            let connection = try file.connectToWrite(
                cacheKibibytes: StoreLimits.loadingCacheKibibytes)
            try mirror?.watch(connection)
            return connection
        }
        let reading = try file.connectToRead()
        // SQLite knows no other way to write the temporary tables, and nothing else is written.
        try reading.inDatabase { try $0.execute(sql: "PRAGMA query_only = 0") }
        return reading
    }

    /// Fills the temporary table and returns how many lines it holds.
    private func stage<Line>(
        in table: StagedTable, on loading: DatabaseQueue,
        _ produce: (_ add: (Line, UInt64?) throws -> LineOutcome) throws -> Void,
        _ keep: @escaping (Line, UInt64?, inout LineStage) throws -> LineOutcome
    ) throws -> Int {
        try loading.writeWithoutTransaction { db in
            try db.execute(
                sql: "PRAGMA temp.cache_size = -\(StoreLimits.loadingCacheKibibytes)")
            db.add(function: StagedTable.shownText)
            try db.execute(sql: table.create(StagedTable.lines))
            try db.execute(sql: table.create(StagedTable.staging))
            var stage = try LineStage(of: table, db)
            // Deferred: it writes only the temporary database, so it locks no service out.
            try db.inTransaction(.deferred) {
                try produce { line, given in try keep(line, given, &stage) }
                return .commit
            }
            return stage.lines
        }
    }

    /// The next lines, where the table holds no row between them; `nil` for other lines, or none.
    ///
    /// Not through `read`: what that sets and resets has SQLite compile every statement again.
    private func nextUnheld(
        of table: StagedTable, after last: StatementArguments?, on loading: DatabaseQueue
    ) throws -> StagedTable.Part? {
        guard table.writesBeside == nil else { return nil }
        return try loading.writeWithoutTransaction { db in
            let followsAKey = last != nil
            let full = try db.cachedStatement(sql: table.lastOfNext(afterAKey: followsAKey))
            let end =
                try Row.fetchOne(full, arguments: last ?? [])
                ?? Row.fetchOne(
                    db.cachedStatement(sql: table.lastOfAll(afterAKey: followsAKey)),
                    arguments: last ?? [])
            guard let end else { return nil }
            let key = StatementArguments(end.databaseValues)
            let part: StagedTable.Part = (followsAKey, last: key, bounds: (last ?? []) + key)
            return try isHeld(part, of: table, db) ? nil : part
        }
    }

    private func isHeld(
        _ part: StagedTable.Part, of table: StagedTable, _ db: Database
    ) throws -> Bool {
        let statement = try db.cachedStatement(sql: table.isHeld(afterAKey: part.followsAKey))
        return try Bool.fetchOne(statement, arguments: part.bounds) ?? true
    }

    /// Inserts lines that meet no row, without looking for one of each.
    ///
    /// - Returns: How many; `nil` where another process stored a row between them meanwhile.
    private func insert(
        _ part: StagedTable.Part, of table: StagedTable, _ db: Database
    ) throws -> Int? {
        guard try !isHeld(part, of: table, db) else { return nil }
        try db.executeCached(table.insertPart(afterAKey: part.followsAKey), part.bounds)
        return db.changesCount
    }

    /// Puts the next lines up for a merge, in the temporary database alone.
    ///
    /// - Returns: How many, which are at most `rows`.
    private func takeNext(
        _ rows: Int, of table: StagedTable, after last: inout StatementArguments?,
        on loading: DatabaseQueue
    ) throws -> Int {
        let (taken, key) = try loading.writeWithoutTransaction { [last] db in
            try db.executeCached("DELETE FROM \(StagedTable.staging)")
            try db.executeCached(
                table.takeNext(afterAKey: last != nil), (last ?? []) + [rows])
            let taken = db.changesCount
            guard taken > 0 else { return (0, last) }
            let row = try Row.fetchOne(db.cachedStatement(sql: table.lastKey))
            return (taken, row.map { StatementArguments($0.databaseValues) })
        }
        last = key
        return taken
    }

    /// The statements are long, and a million rows need each of them two thousand times.
    private func merge(
        _ table: StagedTable, counted before: LoadCounts, _ db: Database
    ) throws -> LoadCounts {
        var counts = before
        counts.skippedAsOlder +=
            try Int.fetchOne(db.cachedStatement(sql: table.countOlder)) ?? 0
        if let writes = table.writesBeside {
            // Counted before: what a line changes here and there is one row.
            if let updates = table.countUpdates {
                counts.updated += try Int.fetchOne(db.cachedStatement(sql: updates)) ?? 0
            }
            // Before the rows themselves, while it shows which of the lines are older.
            for write in writes { try db.executeCached(write) }
            for note in table.notesOfOwners { try db.executeCached(note) }
            if let update = table.update { try db.executeCached(update) }
        } else if let update = table.update {
            try db.executeCached(update)
            counts.updated += db.changesCount
        }
        try db.executeCached(table.insert)
        counts.inserted += db.changesCount
        return counts
    }

    /// The counts that a merge would have.
    private func compare(
        _ table: StagedTable, counted before: LoadCounts, _ db: Database
    ) throws -> LoadCounts {
        var counts = before
        counts.skippedAsOlder += try db.count(table.countOlder)
        if let updates = table.countUpdates {
            counts.updated += try db.count(updates)
        }
        counts.inserted += try db.count(table.countInserts)
        return counts
    }
}

/// The outcome of one line of a file that is being loaded.
package enum LineOutcome: Hashable, Sendable {
    case accepted
    /// The file holds this key already; the first line counts.
    case duplicateKey
    /// An earlier receipt named all of this one's subscriptions, and for the same customer; or an
    /// earlier line names this notification, which Apple sends again until it is answered.
    case repeated
}

extension SQLiteStore {
    /// Loads what the company's own endpoint received into the inbox.
    ///
    /// A notification that was received at an unknown time counts as received now: an absent time
    /// would say that it was not.
    /// One that several lines name is taken once, as received at the earliest of their times.
    ///
    /// - Parameters:
    ///   - app: Whose notifications they are; `nil` when the file does not say.
    ///   - dryRun: Only counts what would change; needs no right to write.
    ///   - produce: Hands over the notifications; if it throws, nothing is loaded.
    /// - Returns: How many were new, completed a recovered one, or were known.
    /// - Throws: `StoreError`, or what `produce` throws.
    package func loadNotifications(
        of app: AppIdentity?, dryRun: Bool = false,
        _ produce: (_ add: (ReceivedNotification) throws -> LineOutcome) throws -> Void
    ) throws -> LoadCounts {
        let doing = "loading notifications into the inbox"
        return try StoreError.naming(doing) {
            let loading = try connectToLoad(dryRun: dryRun, doing)
            defer { try? loading.close() }
            let lines = try stageNotifications(on: loading, produce)
            var counts = dryRun ? try loading.read(compareNotifications) : LoadCounts()
            var last = ""
            while !dryRun, let next = try lastOfNextNotifications(after: last, on: loading) {
                counts = try blockingWrite(doing, on: loading) { [counts, last] db in
                    try mergeNotifications(of: app, after: last, through: next, counts, db)
                }
                last = next
            }
            counts.unchanged = lines - counts.updated - counts.inserted
            return counts
        }
    }

    private func stageNotifications(
        on loading: DatabaseQueue,
        _ produce: (_ add: (ReceivedNotification) throws -> LineOutcome) throws -> Void
    ) throws -> Int {
        try loading.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    CREATE TABLE temp.trueup_staged (
                        notification_uuid TEXT PRIMARY KEY, received_at INTEGER) WITHOUT ROWID
                    """)
            let statement = try db.cachedStatement(
                sql: "INSERT OR IGNORE INTO temp.trueup_staged VALUES (?, ?)")
            let earlier = try db.cachedStatement(
                sql: """
                    UPDATE temp.trueup_staged SET received_at = ?2
                    WHERE notification_uuid = ?1 AND (received_at IS NULL OR received_at > ?2)
                    """)
            var lines = 0
            try db.inTransaction(.deferred) {
                try produce { line in
                    let receivedAt = line.receivedAt?.unixMilliseconds
                    try statement.execute(arguments: [line.notificationUUID, receivedAt])
                    lines += 1
                    guard db.changesCount == 0 else { return .accepted }
                    if let receivedAt {
                        try earlier.execute(arguments: [line.notificationUUID, receivedAt])
                    }
                    return .repeated
                }
                return .commit
            }
            return lines
        }
    }

    /// The last of as many lines as one transaction merges; `nil` where none follows.
    private func lastOfNextNotifications(
        after last: String, on loading: DatabaseQueue
    ) throws -> String? {
        try loading.writeWithoutTransaction { db in
            try String.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT max(notification_uuid) FROM (
                            SELECT notification_uuid FROM temp.trueup_staged
                            WHERE notification_uuid > ? ORDER BY notification_uuid
                            LIMIT \(StoreLimits.rowsPerChunk))
                        """), arguments: [last])
        }
    }

    private func mergeNotifications(
        of app: AppIdentity?, after last: String, through next: String, _ before: LoadCounts,
        _ db: Database
    ) throws -> LoadCounts {
        let now = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
        let isPart = "s.notification_uuid > ? AND s.notification_uuid <= ?"
        var counts = before
        try db.executeCached(
            """
            UPDATE main.trueup_notifications AS t
            SET received_at = ifnull(s.received_at, \(now))
            FROM temp.trueup_staged AS s
            WHERE \(isPart) AND \(Self.learnsTime)
            """, [last, next])
        counts.updated += db.changesCount
        try db.executeCached(
            """
            INSERT INTO main.trueup_notifications (
                notification_uuid, bundle_id, environment, received_at)
            SELECT notification_uuid, ?, ?, ifnull(received_at, \(now))
            FROM temp.trueup_staged AS s WHERE \(isPart) AND \(Self.isNew)
            ORDER BY notification_uuid
            """, [app?.bundleID, app?.environment.rawValue, last, next])
        counts.inserted += db.changesCount
        return counts
    }

    /// The counts that a merge would have.
    private func compareNotifications(_ db: Database) throws -> LoadCounts {
        var counts = LoadCounts()
        counts.updated =
            try db.count(
                """
                SELECT count(*) FROM temp.trueup_staged AS s
                CROSS JOIN main.trueup_notifications AS t WHERE \(Self.learnsTime)
                """)
        counts.inserted =
            try db.count("SELECT count(*) FROM temp.trueup_staged AS s WHERE \(Self.isNew)")
        return counts
    }

    /// A stored notification of which the line knows when it was received.
    private static let learnsTime = """
        t.notification_uuid = s.notification_uuid AND (t.received_at IS NULL
            OR (s.received_at IS NOT NULL AND s.received_at <> t.received_at))
        """

    private static let isNew = """
        NOT EXISTS (SELECT 1 FROM main.trueup_notifications AS t
            WHERE t.notification_uuid = s.notification_uuid)
        """
}

extension SQLiteStore {
    /// Loads the rows that receipts name, all of a receipt's or none.
    ///
    /// A customer's receipts name the same subscriptions again and again: what agrees is loaded
    /// once, and of a customer or token that only one of them gives, that. A receipt that names
    /// another customer or token for a subscription than an earlier one is a `.duplicateKey`.
    ///
    /// - Parameters:
    ///   - columns: The columns that the file has, besides the receipt.
    ///   - dryRun: Only counts what would change; needs no right to write.
    ///   - produce: Hands over the rows of each receipt and which columns its line gives, as with
    ///     `loadSubscriptions`; if it throws, nothing is loaded and the error passes.
    ///   - progress: Takes how many rows were compared with the table, and of how many.
    /// - Returns: How many subscriptions changed what.
    /// - Throws: `StoreError`, or what `produce` throws.
    package func loadReceipts(
        columns: Set<SubscriptionField>, dryRun: Bool = false,
        _ produce: (_ add: ([LocalSubscription], UInt64?) throws -> LineOutcome) throws -> Void,
        progress: (Int, Int) -> Void = { _, _ in }
    ) throws -> LoadCounts {
        let (table, wanted) = try subscriptions(giving: columns, dryRun: dryRun)
        let fields = SubscriptionField.allCases
        let completion = table.complete(["customer_id", "app_account_token"])
        return try load(into: table, adding: wanted, dryRun: dryRun, produce, progress) {
            rows, given, stage in
            try stage.addTogether { stage in
                var outcome = rows.isEmpty ? LineOutcome.accepted : .repeated
                for row in rows {
                    let outcomeOfRow = try stage.add(fields, given: given) { row.value(of: $0) }
                    if outcomeOfRow == .accepted {
                        outcome = .accepted
                    } else {
                        try stage.db.executeCached(completion, Self.completion(row, given))
                        guard stage.db.changesCount > 0 else { return .duplicateKey }
                    }
                }
                return outcome
            }
        }
    }

    private static func completion(
        _ row: LocalSubscription, _ given: UInt64?
    ) -> StatementArguments {
        [
            row.customerID, row.appAccountToken, given.map { Int64(bitPattern: $0) },
            row.key.bundleID, row.key.environment, row.key.originalTransactionID,
            row.customerID, row.appAccountToken,
        ]
    }
}
