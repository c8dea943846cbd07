import ArgumentParser
import FoundationEssentials
import Reconciliation
import ReconciliationRun
import RowFiles
import SubscriptionStore
import Subscriptions

/// `trueup export`: the local rows as they are, in the columns that `import` reads.
struct Export: Verb {
    static let configuration = CommandConfiguration(
        abstract: "Print the stored rows as CSV, or with --json as JSON Lines.",
        discussion: """
            It prints values as they are stored, so that an import reads the same rows back. Do not \
            open such a file in a spreadsheet: that rounds the ids.
            """)

    @Flag(help: "Print the periods (transactions) instead.")
    var transactions = false

    @Flag(help: "Print the one-time purchases instead.")
    var purchases = false

    @Option(
        help: ArgumentHelp(
            "Print only rows that this run or a later one changed.",
            discussion: "A run's id, its beginning, or \"latest\".", valueName: "run"))
    var changedSince: String?

    @Option(
        help: ArgumentHelp(
            "Print only rows that were changed since the last export with this file.",
            discussion: """
                The file keeps how far that export came. Without the file, all rows are printed. It is \
                replaced when everything was printed.
                """, valueName: "file"))
    var cursor: String?

    @Flag(
        help: ArgumentHelp(
            "Print app_user_id and a signed transaction of every customer's subscription.",
            discussion: "These are the columns of RevenueCat's bulk import."))
    var revenuecat = false

    @Flag(
        help: ArgumentHelp(
            "With --revenuecat: get the transactions that are not held from Apple.",
            discussion: "A call for each subscription, within the share of the quota."))
    var ask = false

    @OptionGroup(title: "For every command") var common: CommonOptions

    static let exitStatuses = CommandStatuses(
        [CommandStatuses.database + [.denied]],
        [
            .ok: "printed",
            .incomplete:
                "printed with --revenuecat; rows without a signed transaction are left out",
            .data: "the file of --cursor is not one",
            .output: "the file of --cursor cannot be written",
        ])

    func validate() throws {
        try refuse(
            if: transactions && purchases, "Give --transactions or --purchases, not both.")
        let isOfChanges = changedSince != nil || cursor != nil
        try refuse(
            if: changedSince != nil && cursor != nil,
            "Give --changed-since or --cursor, not both.")
        try refuse(
            if: revenuecat && (transactions || purchases || isOfChanges),
            "Give --revenuecat without --transactions, --purchases, --changed-since and --cursor.")
        try refuse(if: ask && !revenuecat, "Give --ask only with --revenuecat.")
    }

    func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try common.settings(in: invocation)
        let store = try Books(settings).openToRead(at: invocation.now())
        if let missing = try settings.company.copy(in: store)?.notRead() { invocation.say(missing) }
        let output = RowOutput(isJSON: common.json, to: invocation.rawOutput)
        if revenuecat {
            return try await showSignedTransactions(in: store, settings, output, invocation)
        }
        let table: TransactionTable? = transactions ? .periods : purchases ? .purchases : nil
        if changedSince != nil || cursor != nil {
            try showChanges(of: table, in: store, settings, output, invocation)
        } else if let table {
            let columns = table.fields
            try output.begin(columns.map(\.rawValue))
            try store.forEachTransaction(of: table) { row in
                try output.add(columns.map(row.value(of:)))
            }
        } else {
            let columns = try store.columnsInUse()
            try output.begin(columns.map(\.rawValue))
            try store.forEachSubscription { row in try output.add(columns.map(row.value(of:))) }
        }
        try output.end()
        return .ok
    }
}

/// The signed transactions for RevenueCat's bulk import.
///
/// Source: RevenueCat's page "Bulk Imports": a CSV file with `app_user_id` and, in `receipt`, a raw
/// receipt or a StoreKit 2 signed transaction.
extension Export {
    private static let revenueCatColumns = ["app_user_id", "receipt"]
    /// How many rows are read together, and asked about side by side.
    private static let page = 500

    private func showSignedTransactions(
        in store: SQLiteStore, _ settings: Settings, _ output: RowOutput, _ invocation: Invocation
    ) async throws -> ExitStatus {
        try output.begin(Self.revenueCatColumns)
        let left: LeftOutRows
        if ask {
            left = try await ReadingInquiry.with(
                settings, store, invocation, isQuiet: common.quiet
            ) { try await show(store, output, asking: $0) }
        } else {
            left = try await show(store, output, asking: nil)
        }
        try output.end()
        for sentence in sentences(about: left) { invocation.say(sentence) }
        return left.unsigned > 0 ? .incomplete : .ok
    }

    /// Prints every row that has a customer and a signed transaction.
    private func show(
        _ store: SQLiteStore, _ output: RowOutput, asking apple: ReadingInquiry?
    ) async throws -> LeftOutRows {
        var left = (nameless: 0, unsigned: 0)
        var done = 0
        var last: SubscriptionKey?
        while true {
            let rows = try store.signedRows(after: last, limit: Self.page)
            guard let end = rows.last else { return left }
            let answers = try await answers(about: rows, from: apple)
            for row in rows {
                guard let customer = row.customerID, !customer.isEmpty else {
                    left.nameless += 1
                    continue
                }
                guard let jws = row.transaction?.jws ?? answers[row.key] else {
                    left.unsigned += 1
                    continue
                }
                try output.add([.text(customer), .text(jws)])
            }
            done += rows.count
            last = end.key
            apple?.terminal.show(RunProgress(stage: .walk, done: done))
        }
    }

    /// Apple's signed transactions of the rows of which none is held.
    private func answers(
        about rows: [SignedRow], from apple: ReadingInquiry?
    ) async throws -> [SubscriptionKey: String] {
        guard let apple, !apple.isOut else { return [:] }
        let questions = rows.filter { $0.transaction == nil && $0.customerID?.isEmpty == false }
            .compactMap { row -> CompareQuestion? in
                guard let environment = AppStoreEnvironment(rawValue: row.key.environment) else {
                    return nil
                }
                return CompareQuestion(
                    originalTransactionID: row.key.originalTransactionID, transactionIDs: nil,
                    storedApps: [
                        AppIdentity(bundleID: row.key.bundleID, environment: environment)
                    ], isSandbox: environment == .sandbox)
            }
        var signed: [SubscriptionKey: String] = [:]
        for (_, answer) in try await apple.inquiry.ask(questions) {
            guard case .answered(let subscriptions) = answer else { continue }
            for subscription in subscriptions {
                signed[subscription.key] = subscription.stated.transaction.evidence.jws
            }
        }
        return signed
    }

    /// The numbers of rows that a file for RevenueCat cannot have.
    private typealias LeftOutRows = (nameless: Int, unsigned: Int)

    private func sentences(about left: LeftOutRows) -> [String] {
        func rows(_ count: Int) -> String { count == 1 ? "1 row is" : "\(count) rows are" }
        var sentences: [String] = []
        if left.nameless > 0 {
            sentences.append(
                "\(rows(left.nameless)) left out, because no customer_id says whose they are.")
        }
        if left.unsigned > 0 {
            sentences.append(
                "\(rows(left.unsigned)) left out, because "
                    + (ask
                        ? "Apple gave no usable answer. \"trueup explain ID\" says more of a row."
                        : "no transaction that Apple signed is held: they never needed a "
                            + "correction. Add --ask to get these from Apple."))
        }
        return sentences
    }
}

/// The rows that were changed, for a system that follows them.
extension Export {
    /// The columns before those of the row; they and the row's are always the same.
    private static let changeColumns = ["change", "ledger_entry", "run_id", "changed_at"]

    private func showChanges(
        of table: TransactionTable?, in store: SQLiteStore, _ settings: Settings,
        _ output: RowOutput, _ invocation: Invocation
    ) throws {
        let name = table?.rawValue ?? "subscriptions"
        var start = ExportStart.allRows
        if let changedSince {
            start = .run(try RunName(changedSince).number(settings, in: store, invocation))
        } else if let cursor, let known = try ExportCursorFile.read(cursor, of: name) {
            start = .cursor(known)
        }
        let end: ExportEnd
        if let table {
            let columns = table.fields
            try output.begin(Self.changeColumns + columns.map(\.rawValue))
            end = try store.forEachChangedTransaction(of: table, from: start) { row, change in
                try output.add(Self.values(of: change) + columns.map(row.value(of:)))
            }
        } else {
            let columns = SubscriptionField.allCases
            try output.begin(Self.changeColumns + columns.map(\.rawValue))
            end = try store.forEachChangedSubscription(from: start) { row, change in
                try output.add(Self.values(of: change) + columns.map(row.value(of:)))
            }
        }
        try output.end()
        if end.beganAgain {
            invocation.say(
                "The ledger does not have the entry at which the last export with \(cursor ?? "") ended: "
                    + "trueup's database was restored, or is another one. All rows were printed.")
        }
        guard let cursor else { return }
        try ExportCursorFile(
            table: name, database: end.cursor.database, entry: end.cursor.entry,
            hash: end.cursor.hash
        ).write(to: cursor)
    }

    private static func values(of change: LastChange?) -> [FieldValue] {
        guard let change else { return changeColumns.map { _ in .null } }
        return [
            .text(change.action.rawValue), .integer(change.entry), .text(change.runID),
            .time(change.writtenAt),
        ]
    }
}

/// The file of a reader that keeps how far its exports of changes came.
private struct ExportCursorFile: Codable {
    var table: String
    var database: String
    var entry: Int64
    var hash: String

    /// - Parameters:
    ///   - path: Where the file is.
    ///   - table: The name of the table that is exported.
    /// - Returns: `nil` where there is no file yet.
    /// - Throws: 65 where it is not one that an export of the table wrote.
    static func read(_ path: String, of table: String) throws -> ExportCursor? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        guard let data = FileManager.default.contents(atPath: path),
            let content = try? JSONDecoder().decode(Self.self, from: data)
        else {
            throw CommandFailure(
                .data,
                "\(PlainText.of(path)) is not a file that \"trueup export --cursor\" wrote, or it cannot be "
                    + "read. Nothing was printed. Name another file, or delete it to export all rows."
            )
        }
        guard content.table == table else {
            throw CommandFailure(
                .data,
                "\(PlainText.of(path)) is of an export of \(PlainText.of(content.table)), and this one is of "
                    + "\(table). Nothing was printed. Name a file of its own for each.")
        }
        return ExportCursor(
            database: content.database, entry: content.entry, hash: content.hash)
    }

    /// - Throws: 74 where it cannot be written: the next export prints the same rows again.
    func write(to path: String) throws {
        do {
            try JSONEncoder().encode(self).write(to: URL(filePath: path), options: .atomic)
        } catch {
            throw CommandFailure(
                .output,
                "\(PlainText.of(path)) cannot be written: \(error). The rows were printed. The next export "
                    + "prints them again. Check the folder, its rights and its free space.")
        }
    }
}

/// Rows on their way to standard output, as CSV or JSON Lines.
private final class RowOutput {
    /// Bytes buffered before a write: a system call for each row would cost more than the rows.
    private static let batchBytes = 1 << 16

    private let isJSON: Bool
    private let output: any ByteSink
    private var columns: [String] = []
    private var batch: [UInt8] = []

    init(isJSON: Bool, to output: any ByteSink) {
        self.isJSON = isJSON
        self.output = output
    }

    func begin(_ columns: [String]) throws(CommandFailure) {
        self.columns = columns
        if !isJSON { columns.map(FieldValue.text).appendCSV(to: &batch) }
    }

    func add(_ values: [FieldValue]) throws(CommandFailure) {
        if isJSON {
            let object = CanonicalJSON.object(ofMembers: zip(columns, values.map(\.json)))
            batch.append(contentsOf: object.rendered.utf8)
            batch.append(UInt8(ascii: "\n"))
        } else {
            values.appendCSV(to: &batch)
        }
        guard batch.count > Self.batchBytes else { return }
        try end()
    }

    /// Hands on what is left.
    func end() throws(CommandFailure) {
        guard !batch.isEmpty else { return }
        try output.write(batch)
        batch.removeAll(keepingCapacity: true)
    }
}
