package import ArgumentParser
import RowFiles
import SubscriptionStore
package import Subscriptions

/// `trueup import`: the company's rows from a file into the database.
package struct Import: Verb {
    package static let configuration = CommandConfiguration(
        abstract: "Load local rows from a CSV or JSON Lines file.",
        discussion: """
            All of the file is loaded, or nothing: with a bad line in it the status is 65, and what \
            is bad is named with line and reason. Rows whose signed_date is older than the stored row's, or \
            absent where that has one, are skipped. Columns that the file, or a line of JSON Lines, \
            does not have stay as they are. Waits up to 10 seconds for a run \
            that is going on.

            Columns: \(SubscriptionField.allCases.map(\.rawValue).joined(separator: ", ")); only \
            original_transaction_id is required.
            """)

    @Argument(
        help: "A .csv, .jsonl or .ndjson file; - reads standard input.",
        completion: .file(extensions: ["csv", "jsonl", "ndjson"]))
    package var file: String

    @Flag(help: "The file holds periods (transactions).")
    package var transactions = false

    @Flag(help: "The file holds received notifications, as JSON Lines.")
    package var notifications = false

    @Flag(help: "Load the good lines and name each bad one, instead of refusing the file.")
    package var skipBadRows = false

    @Option(
        help: ArgumentHelp(
            "Write every bad line with file, line and reason to this file: CSV for .csv, else JSON "
                + "Lines.",
            valueName: "file"), completion: .file())
    package var badRows: String?

    @OptionGroup(title: "For every command") package var common: CommonOptions

    package init() {}

    package func validate() throws {
        if transactions && notifications {
            throw ValidationError("Give --transactions or --notifications, not both.")
        }
        if let badRows, badRows == file {
            throw ValidationError("--bad-rows would overwrite the file that is to be loaded.")
        }
    }

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try Settings.load(
            flag: common.config, environment: invocation.environment)
        let lock = try RunLock.acquire(
            forDatabaseAt: settings.databasePath,
            holder: RunningUser.lockHolder(doing: "importing \(file)"), now: invocation.now(),
            waitMilliseconds: invocation.lockPatienceMilliseconds)
        try SQLiteStore.bringUpToDate(at: settings.databasePath, under: lock)
        let store = try SQLiteStore.open(at: settings.databasePath, access: .readWrite)
        let (counts, lines, bad) = try load(into: store, settings, invocation)
        _ = consume lock
        try show(counts, lines: lines, bad: bad, in: invocation)
        return .ok
    }

    private func load(
        into store: SQLiteStore, _ settings: Settings, _ invocation: Invocation
    ) throws -> (counts: LoadCounts, lines: Int, bad: Int) {
        var log = BadLineLog(
            file: file, namesAll: skipBadRows || common.json,
            asJSON: common.json || common.logFormat == .json,
            copy: try badRows.map { path throws(CommandFailure) in try BadRowsFile(path: path) })
        var lines = 0
        let counts: LoadCounts
        if transactions {
            var reader = try TransactionFileReader(
                transactionsAt: file, apps: settings.identities)
            counts = try store.loadTransactions(columns: reader.columns) {
                (add: (LocalTransaction, UInt64?) throws -> LineOutcome) in
                while let line = try reader.next() {
                    let given = reader.given?.bits
                    lines += try take(line, { try add($0, given) }, &log, invocation)
                }
                try refuse(log)
            }
        } else if notifications {
            var reader = try NotificationFileReader(notificationsAt: file)
            // A bare id does not name its app; with one configured app it is that one's.
            let only = settings.identities.count == 1 ? settings.identities.first : nil
            counts = try store.loadNotifications(of: only) { add in
                while let line = try reader.next() {
                    lines += try take(line, add, &log, invocation)
                }
                try refuse(log)
            }
        } else {
            var reader = try SubscriptionFileReader(
                subscriptionsAt: file, apps: settings.identities)
            counts = try store.loadSubscriptions(columns: reader.columns) {
                (add: (LocalSubscription, UInt64?) throws -> LineOutcome) in
                while let line = try reader.next() {
                    let given = reader.given?.bits
                    lines += try take(line, { try add($0, given) }, &log, invocation)
                }
                try refuse(log)
            }
        }
        try log.finish()
        return (counts, lines, log.count)
    }

    /// Loads a line, or notes what is wrong with it; 1 when it was loaded.
    private func take<Row: Sendable>(
        _ line: RowLine<Row>, _ add: (Row) throws -> LineOutcome, _ log: inout BadLineLog,
        _ invocation: Invocation
    ) throws -> Int {
        switch line {
        case .bad(let bad):
            try log.note(bad, in: invocation)
            return 0
        case .row(let row, let number):
            switch try add(row) {
            case .accepted: return 1
            case .duplicateKey:
                try log.note(
                    BadLine(line: number, reason: "has the same key as an earlier line"),
                    in: invocation)
                return 0
            }
        }
    }

    private func refuse(_ log: BadLineLog) throws(CommandFailure) {
        guard log.count > 0, !skipBadRows else { return }
        try log.finish()
        throw log.refusal
    }

    private func show(
        _ counts: LoadCounts, lines: Int, bad: Int, in invocation: Invocation
    ) throws {
        if common.json {
            let members: [String: Int] = [
                "accepted": lines, "inserted": counts.inserted, "updated": counts.updated,
                "unchanged": counts.unchanged, "skipped_as_older": counts.skippedAsOlder,
                "bad": bad,
            ]
            try invocation.output.line(
                CanonicalJSON.object(members.mapValues { .integer(Int64($0)) }).rendered)
            return
        }
        try invocation.output.line(
            "\(lines) \(lines == 1 ? "line" : "lines") loaded: \(counts.inserted) inserted, \(counts.updated) updated, "
                + "\(counts.unchanged) unchanged, \(counts.skippedAsOlder) skipped as older")
        if bad > 0 { invocation.say("\(bad) bad \(bad == 1 ? "line" : "lines") left out") }
    }
}
