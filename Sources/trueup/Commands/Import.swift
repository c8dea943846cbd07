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

            With --receipts each line is a receipt in base64, or has one in its column receipt beside \
            customer_id, app_account_token, bundle_id and environment. The subscriptions that it \
            names are loaded without a status: nothing of a receipt is believed, and a run asks Apple.

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

    @Flag(help: "The file holds app receipts, or transaction receipts of iOS 6, in base64.")
    package var receipts = false

    @Option(
        help: ArgumentHelp(
            "The file's COLUMN means our column OURS; repeat it for others.",
            valueName: "column=ours"))
    package var map: [String] = []

    @Option(
        help: ArgumentHelp(
            "Leave a column of the file out; repeat it for others.", valueName: "column"))
    package var ignore: [String] = []

    @Flag(help: "Check the file and say what would be loaded; write nothing to the database.")
    package var dryRun = false

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
        if [transactions, notifications, receipts].count(where: { $0 }) > 1 {
            throw ValidationError(
                "Give one of --transactions, --notifications and --receipts, not several.")
        }
        if let badRows, badRows == file {
            throw ValidationError("--bad-rows would overwrite the file that is to be loaded.")
        }
        _ = try columnMapping()
    }

    /// What the file's columns mean.
    func columnMapping() throws -> ColumnMapping {
        let known =
            if transactions {
                TransactionField.allCases.map(\.rawValue)
            } else if notifications {
                NotificationField.allCases.map(\.rawValue)
            } else if receipts {
                ReceiptField.allCases.map(\.rawValue)
            } else {
                SubscriptionField.allCases.map(\.rawValue)
            }
        do throws(ColumnMapArguments.Mistake) {
            return try ColumnMapArguments(map: map, ignore: ignore, known: known).mapping
        } catch {
            throw ValidationError(error.description)
        }
    }

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try Settings.load(
            flag: common.config, environment: invocation.environment)
        if settings.company.table != nil, !notifications {
            throw CommandFailure(
                .usage,
                "The rows stand in your own table (store.subscriptions in \(settings.file)), and a "
                    + "run reads them there. Nothing was imported. Only --notifications can be.")
        }
        guard !dryRun else {
            // Nothing is written, so nobody has to be waited for.
            let store = try Books(settings).openToRead(at: invocation.now())
            try show(try load(into: store, settings, invocation), in: invocation)
            return .ok
        }
        let holder = RunningUser.lockHolder(doing: "importing \(file)")
        let lock = try RunLock.acquire(
            forDatabaseAt: settings.databasePath, holder: holder, now: invocation.now(),
            waitMilliseconds: invocation.lockPatienceMilliseconds)
        let books = try Books(settings, holder: holder)
        defer { books.release() }
        try books.bringUpToDate(under: lock)
        let store = try books.openToWrite()
        let loaded = try load(into: store, settings, invocation)
        _ = consume lock
        try show(loaded, in: invocation)
        return .ok
    }

    private func load(
        into store: SQLiteStore, _ settings: Settings, _ invocation: Invocation
    ) throws -> ImportIntake {
        let mapping = try columnMapping()
        let apps = settings.identities
        var intake = ImportIntake(
            log: BadLineLog(
                file: file, namesAll: skipBadRows || common.json,
                asJSON: common.json || common.logFormat == .json,
                copy: try badRows.map { path throws(CommandFailure) in
                    try BadRowsFile(path: path)
                }),
            skipsBadRows: skipBadRows, namesEmptyReceipts: !common.quiet)
        if transactions {
            var reader = try TransactionFileReader(
                transactionsAt: file, apps: apps, mapping: mapping)
            intake.counts = try store.loadTransactions(columns: reader.columns, dryRun: dryRun) {
                (add: (LocalTransaction, UInt64?) throws -> LineOutcome) in
                while let line = try reader.next() {
                    let given = reader.given?.bits
                    try intake.take(line, in: invocation) { try add($0, given) }
                }
                try intake.refuse()
            }
        } else if notifications {
            var reader = try NotificationFileReader(notificationsAt: file, mapping: mapping)
            // A bare id does not name its app; with one configured app it is that one's.
            let only = apps.count == 1 ? apps.first : nil
            intake.counts = try store.loadNotifications(of: only, dryRun: dryRun) { add in
                while let line = try reader.next() {
                    try intake.take(line, in: invocation, add)
                }
                try intake.refuse()
            }
        } else if receipts {
            var reader = try ReceiptFileReader(receiptsAt: file, apps: apps, mapping: mapping)
            let columns = Set(reader.columns.compactMap(\.ofRow))
            intake.counts = try store.loadReceipts(columns: columns, dryRun: dryRun) { add in
                while let line = try reader.next() {
                    let given = reader.givenOfRows
                    try intake.takeReceipt(line, in: invocation) { try add($0, given) }
                }
                try intake.refuse()
            }
        } else {
            var reader = try SubscriptionFileReader(
                subscriptionsAt: file, apps: apps, mapping: mapping)
            intake.counts = try store.loadSubscriptions(columns: reader.columns, dryRun: dryRun) {
                (add: (LocalSubscription, UInt64?) throws -> LineOutcome) in
                while let line = try reader.next() {
                    let given = reader.given?.bits
                    try intake.take(line, in: invocation) { try add($0, given) }
                }
                try intake.refuse()
            }
        }
        try intake.log.finish()
        return intake
    }

    private func show(_ intake: ImportIntake, in invocation: Invocation) throws {
        let outcome = ImportOutcome(intake, ofReceipts: receipts, isDryRun: dryRun)
        guard !common.json else {
            return try invocation.show(json: outcome.json)
        }
        try invocation.show(outcome.text)
        if let leftOut = outcome.leftOut { invocation.say(leftOut) }
        for line in outcome.remarks where !common.quiet { invocation.say(line) }
    }
}
