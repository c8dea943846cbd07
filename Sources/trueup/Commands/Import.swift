import ArgumentParser
import ReconciliationRun
import RowFiles
import SubscriptionStore
import Subscriptions

/// `trueup import`: the company's rows from a file into the database.
struct Import: Verb {
    static let configuration = CommandConfiguration(
        abstract: "Load rows, periods, purchases, receipts or received notifications from a file.",
        discussion: """
            It loads nothing of a file with a bad line, but exits with 65 and names each bad line with \
            its reason. It skips a row whose signed_date is older than the stored \
            row's, or missing where the stored row has one. Columns that the file (or a line of JSON \
            Lines) does not have stay as they are. It waits up to 10 seconds for an active run.

            With --receipts each line is a receipt in base64, or has one in its column receipt next to \
            customer_id, app_account_token, bundle_id and environment. trueup does not trust a receipt: \
            it loads the subscriptions without a status, and a run asks Apple about them.

            Columns: \(SubscriptionField.allCases.map(\.rawValue).joined(separator: ", ")); only \
            original_transaction_id is required.
            """)

    @Argument(
        help: "A .csv, .jsonl or .ndjson file; - for standard input.",
        completion: .file(extensions: ["csv", "jsonl", "ndjson"]))
    var file: String

    @Flag(help: "The file holds periods (transactions).")
    var transactions = false

    @Flag(help: "The file holds one-time purchases.")
    var purchases = false

    @Flag(help: "The file holds received notifications, as JSON Lines.")
    var notifications = false

    @Flag(help: "The file holds app receipts, or transaction receipts of iOS 6, in base64.")
    var receipts = false

    @Option(
        help: ArgumentHelp(
            "The file's COLUMN means trueup's column OURS; may be repeated.",
            valueName: "column=ours"))
    var map: [String] = []

    @Option(
        help: ArgumentHelp(
            "Do not read this column of the file; may be repeated.", valueName: "column"))
    var ignore: [String] = []

    @Flag(help: "Check the file and print what would be loaded; write nothing to the database.")
    var dryRun = false

    @Flag(help: "Load the good lines and name each bad one, instead of refusing the file.")
    var skipBadRows = false

    @Option(
        help: ArgumentHelp(
            "Write every bad line with file, line and reason to this file: CSV for .csv, otherwise "
                + "JSON Lines.",
            valueName: "file"), completion: .file())
    var badRows: String?

    @OptionGroup(title: "For every command") var common: CommonOptions

    static let exitStatuses = CommandStatuses(
        [CommandStatuses.database],
        [
            .ok: "loaded; with --skip-bad-rows, without the bad lines",
            .data: "the file has bad lines or cannot be read, and nothing was loaded; or the "
                + "database refused a row",
            .cannotCreate: "the file of --bad-rows cannot be created",
        ])

    func validate() throws {
        try refuse(
            if: [transactions, purchases, notifications, receipts].count(where: { $0 }) > 1,
            "Give one of --transactions, --purchases, --notifications and --receipts, not several.")
        try refuse(
            if: badRows.map(wouldOverwriteFile) ?? false,
            "--bad-rows would overwrite the file that is to be loaded.")
        _ = try columnMapping()
    }

    /// Whether a path leads to the file that is to be loaded, by whatever name and links.
    private func wouldOverwriteFile(_ path: String) -> Bool {
        let source = file == "-" ? "/dev/stdin" : file
        // Only a file is emptied when it is opened; a terminal may be both.
        return path == file
            || !FileSystemFacts.isNoFile(path) && FileSystemFacts.isSameFile(path, source)
    }

    /// Where the rows of a file of transactions belong; `nil` for other files.
    private var transactionTable: TransactionTable? {
        transactions ? .periods : purchases ? .purchases : nil
    }

    /// Returns the meaning of the file's columns.
    func columnMapping() throws -> ColumnMapping {
        let known =
            if let table = transactionTable {
                table.fields.map(\.rawValue)
            } else if notifications {
                NotificationField.allCases.map(\.rawValue)
            } else if receipts {
                ReceiptField.allCases.map(\.rawValue)
            } else {
                SubscriptionField.allCases.map(\.rawValue)
            }
        return try ColumnMapping(map: map, ignore: ignore, known: known)
    }

    func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try common.settings(in: invocation)
        let isMapped = settings.company.mapping?.purchases != nil
        if let table = settings.company.table, !notifications, !purchases || isMapped {
            var key = isMapped && purchases ? "store.purchases" : "store.subscriptions"
            if case .program = table.source { key = "store.url" }
            let place = "your own table (\(key) in \(settings.file))"
            throw CommandFailure(
                .usage,
                (transactions
                    ? "The subscriptions are in \(place), and trueup keeps no periods next to it. "
                    : "The rows are in \(place), and a run reads them there. ")
                    + "Nothing was imported. Only --notifications "
                    + "\(isMapped ? "" : "and --purchases ")can be imported.")
        }
        let terminal = invocation.progressLine(isQuiet: common.quiet)
        defer { terminal.clear() }
        guard !dryRun else {
            // Nothing is written, so the command need not wait for a run.
            let store = try Books(settings).openToRead(at: invocation.now())
            let loaded = try load(into: store, settings, invocation, telling: terminal)
            terminal.clear()
            try show(loaded, in: invocation)
            return .ok
        }
        let holder = RunningUser.lockHolder(doing: "importing \(file)")
        let lock = try invocation.lock(settings, for: holder)
        let books = try Books(settings, holder: holder)
        defer { books.release() }
        try books.bringUpToDate(under: lock)
        let store = try books.openToWrite()
        let loaded = try load(into: store, settings, invocation, telling: terminal)
        // After the rows: a first import leaves all customers to one pass through the table.
        try await store.bringEntitlementsUpToDate { done, total in
            terminal.show(RunProgress(stage: .entitlements, done: done, total: total))
        }
        _ = consume lock
        terminal.clear()
        if let refusal = loaded.refusal { throw refusal }
        try show(loaded, in: invocation)
        return .ok
    }

    private func load(
        into store: SQLiteStore, _ settings: Settings, _ invocation: Invocation,
        telling terminal: ProgressLine
    ) throws -> ImportIntake {
        let mapping = try columnMapping()
        let apps = settings.identities
        let progress = { (done: Int, total: Int) in
            terminal.show(RunProgress(stage: .load, done: done, total: total))
        }
        var intake = ImportIntake(
            log: BadLineLog(
                file: file, namesAll: skipBadRows || common.json,
                asJSON: common.json || common.logFormat == .json,
                copy: try badRows.map { path throws(CommandFailure) in
                    try BadRowsFile(path: path)
                }),
            command: self, invocation: invocation, terminal: terminal)
        if let table = transactionTable {
            var reader = try TransactionFileReader(
                transactionsAt: file, of: table, apps: apps, mapping: mapping)
            intake.counts = try store.loadTransactions(
                into: table, columns: reader.columns, dryRun: dryRun,
                partly: { try intake.takeAll(of: &reader, $0) }, progress: progress)
        } else if notifications {
            var reader = try NotificationFileReader(notificationsAt: file, mapping: mapping)
            // A bare id does not name its app; with one configured app it is that one's.
            let only = apps.count == 1 ? apps.first : nil
            intake.counts = try store.loadNotifications(of: only, dryRun: dryRun) { add in
                try intake.takeAll(of: &reader) { row, _ in try add(row) }
            }
        } else if receipts {
            var reader = try ReceiptFileReader(receiptsAt: file, apps: apps, mapping: mapping)
            let columns = Set(reader.columns.compactMap(\.ofRow))
            intake.counts = try store.loadReceipts(
                columns: columns, dryRun: dryRun,
                { add in
                    while let line = try reader.next() {
                        let given = reader.givenOfRows
                        try intake.takeReceipt(line) { try add($0, given) }
                    }
                    try intake.refuse()
                }, progress: progress)
        } else {
            var reader = try SubscriptionFileReader(
                subscriptionsAt: file, apps: apps, mapping: mapping)
            intake.counts = try store.loadSubscriptions(
                columns: reader.columns, dryRun: dryRun,
                partly: { try intake.takeAll(of: &reader, $0) }, progress: progress)
        }
        try intake.log.finish()
        return intake
    }

    private func show(_ intake: ImportIntake, in invocation: Invocation) throws {
        try common.show(intake.json, [intake.text], in: invocation)
        guard !common.json else { return }
        if let leftOut = intake.leftOut { invocation.say(leftOut) }
        for line in intake.remarks where !common.quiet { invocation.say(line) }
    }
}

/// The lines of a file that is being imported: what is taken, and what is wrong with the others.
private struct ImportIntake {
    var log: BadLineLog
    /// The options that say what is taken and shown.
    let command: Import
    let invocation: Invocation
    let terminal: ProgressLine
    /// Lines that were taken; of receipts, one may hold several subscriptions.
    var lines = 0
    /// Receipts that name no subscription.
    var emptyReceipts = 0
    /// Purchases in receipts that are not subscriptions.
    var otherPurchases = 0
    /// The fate of the rows.
    var counts = LoadCounts()

    /// How many lines are read between two looks at whether to show it.
    private static let linesAtOnce = 1000

    /// Loads a line, or notes what is wrong with it.
    mutating func take<Row: Sendable>(
        _ line: RowLine<Row>,
        otherwise reason: String = "has the same key as an earlier line",
        _ add: (Row) throws -> LineOutcome
    ) throws {
        switch line {
        case .bad(let bad): try note(bad)
        case .row(let row, let number):
            // Rows that say when Apple signed what they rest on.
            let signed =
                (row as? LocalSubscription)?.signedDate ?? (row as? LocalTransaction)?.signedDate
            if let signed, signed.isAhead(of: invocation.now()) {
                let reason =
                    "signed_date \(signed.rfc3339) is in the future; Apple cannot have signed it yet"
                return try note(BadLine(line: number, reason: reason))
            }
            switch try add(row) {
            case .accepted, .repeated:
                lines += 1
                if lines % Self.linesAtOnce == 0 {
                    terminal.show(RunProgress(stage: .file, done: lines))
                }
            case .duplicateKey: try note(BadLine(line: number, reason: reason))
            }
        }
    }

    /// Loads the rows of a file, each with the columns that its line gives.
    mutating func takeAll<Field, Row>(
        of reader: inout RowFileReader<Field, Row>, _ add: (Row, UInt64?) throws -> LineOutcome
    ) throws {
        while let line = try reader.next() {
            let given = reader.given?.bits
            try take(line) { try add($0, given) }
        }
        try refuse()
    }

    private mutating func note(_ bad: BadLine) throws {
        terminal.clear()
        try log.note(bad, in: invocation)
    }

    /// Loads the subscriptions of a receipt; one that names none is said and counted.
    mutating func takeReceipt(
        _ line: RowLine<ReceiptRows>, _ add: ([LocalSubscription]) throws -> LineOutcome
    ) throws {
        if case .row(let receipt, let number) = line {
            otherPurchases += receipt.otherPurchases
            if receipt.rows.isEmpty {
                emptyReceipts += 1
                if !command.common.quiet, emptyReceipts <= BadLineLog.namedWhenRefusing {
                    let others = receipt.otherPurchases
                    terminal.clear()
                    log.remark(
                        "names no subscription"
                            + (others > 0 ? ", only \(others.counted("other purchase"))" : ""),
                        line: number, in: invocation)
                }
            }
        }
        try take(
            line,
            otherwise: "names a subscription for another customer_id or app_account_token than an "
                + "earlier line"
        ) { receipt in try add(receipt.rows) }
    }

    /// Refuses the file where it has bad lines, unless these are to be skipped.
    func refuse() throws(CommandFailure) {
        guard log.count > 0, !command.skipBadRows else { return }
        try log.finish()
        throw log.refusal
    }
}

/// The message of an import at its end.
extension ImportIntake {
    /// The error of a load that the database ended at a row; `nil` where it took all.
    var refusal: CommandFailure? {
        guard let refusal = counts.refusal else { return nil }
        return CommandFailure(
            .data,
            "\(PlainText.of("\(log.file): \(refusal)")). Before it, \(counts.inserted) rows were "
                + "inserted and \(counts.updated) updated, and these stay. Fix this row, or the "
                + "constraint or trigger, and import the same file again: it loads the rest")
    }

    /// The result in one line.
    var text: String {
        let lines = lines.counted(command.receipts ? "receipt" : "line")
        let changes =
            "\(counts.inserted) inserted, \(counts.updated) updated, "
            + "\(counts.unchanged) unchanged, \(counts.skippedAsOlder) skipped as older"
        guard command.dryRun else { return "\(lines) loaded: \(changes)" }
        return "\(lines) would be loaded: \(changes). Nothing was written"
    }

    /// How many bad lines were left out; `nil` for none.
    var leftOut: String? {
        guard log.count > 0 else { return nil }
        return log.count.counted("bad line") + " \(command.dryRun ? "would be " : "")left out"
    }

    /// Further remarks for a person.
    var remarks: [String] {
        var remarks = aboutOutdatedLines
        guard command.receipts else { return remarks }
        if emptyReceipts > 0 {
            remarks.append(
                "\(emptyReceipts) \(emptyReceipts == 1 ? "receipt names" : "receipts name") "
                    + "no subscription")
        }
        if otherPurchases > 0 {
            remarks.append(
                "\(otherPurchases.counted("other purchase")) left out, as no subscriptions")
        }
        if !command.dryRun, counts.inserted > 0 {
            remarks.append(
                "The ids are unverified and have no status until a run has asked Apple (trueup "
                    + "estimate backfill, trueup run backfill)")
        }
        return remarks
    }

    private var aboutOutdatedLines: [String] {
        let outdated = counts.outdated
        let newer = "older than a statement of Apple's that a run has seen since"
        var remarks: [String] = []
        if let first = outdated.firstSkipped {
            remarks.append(
                "\(outdated.skipped.counted("line")) \(command.dryRun ? "would be " : "")skipped as older: not older than the row, but "
                    + "\(newer) (the first: \(first.sentence)). The row stays as it is")
        }
        if let first = outdated.firstInserted {
            remarks.append(
                "\(outdated.inserted.counted("line")) \(command.dryRun ? "would be " : "")inserted "
                    + "although \(newer) (the first: \(first.sentence)), because the table has no "
                    + "such row")
        }
        return remarks
    }

    var json: CanonicalJSON {
        var members: [String: Int] = [
            "accepted": lines, "inserted": counts.inserted, "updated": counts.updated,
            "unchanged": counts.unchanged, "skipped_as_older": counts.skippedAsOlder,
            "bad": log.count, "outdated_inserted": counts.outdated.inserted,
            "outdated_skipped": counts.outdated.skipped,
        ]
        if command.receipts {
            members["receipts_without_subscription"] = emptyReceipts
            members["other_purchases"] = otherPurchases
        }
        var object = members.mapValues { CanonicalJSON.count($0) }
        object["dry_run"] = .boolean(command.dryRun)
        return .object(object)
    }
}

extension ColumnMapping {
    /// `--map COLUMN=OURS` and `--ignore COLUMN` as they were typed, checked against our columns.
    ///
    /// - Parameters:
    ///   - map: `COLUMN=OURS`; `COLUMN=` ignores the column.
    ///   - ignore: names of columns.
    ///   - known: our columns.
    /// - Throws: For a fault in an argument, which ends with 64.
    fileprivate init(map: [String], ignore: [String], known: [String]) throws(ValidationError) {
        var ours: [String: String?] = [:]
        var sources: [String: String] = [:]
        for argument in map {
            // Our names hold no equals sign; those of a file may.
            guard let sign = argument.lastIndex(of: "="), sign > argument.startIndex else {
                throw ValidationError(
                    "--map \(argument) is not COLUMN=OURS (the file's column, then trueup's).")
            }
            let column = String(argument[..<sign])
            let target = String(argument[argument.index(after: sign)...])
            guard ours[column] == nil else {
                throw ValidationError("--map names the column \(column) twice.")
            }
            guard !target.isEmpty else {
                ours[column] = .some(.none)
                continue
            }
            guard known.contains(target) else {
                let nearest = target.nearest(among: known)
                throw ValidationError(
                    "--map \(argument): trueup has no column \(target); "
                        + (nearest.map { "did you mean \($0)?" }
                            ?? "known are \(known.joined(separator: ", "))."))
            }
            if let other = sources[target] {
                throw ValidationError(
                    "--map gives \(target) two columns of the file, \(other) and "
                        + "\(column); ignore one of them.")
            }
            sources[target] = column
            ours[column] = target
        }
        for column in ignore {
            guard ours[column] == nil else {
                throw ValidationError(
                    "The column \(column) is named twice by --map and --ignore.")
            }
            ours[column] = .some(.none)
        }
        self.init(ours)
    }
}
