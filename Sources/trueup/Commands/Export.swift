package import ArgumentParser
import RowFiles
import SubscriptionStore
package import Subscriptions

/// `trueup export`: the local rows as they are, in the columns that `import` reads.
package struct Export: Verb {
    package static let configuration = CommandConfiguration(
        abstract: "Print the stored rows as CSV, or with --json as JSON Lines.",
        discussion: """
            It prints values as they are stored, so that an import reads the same rows back. Do not \
            open such a file in a spreadsheet: that rounds the ids.
            """)

    /// Bytes buffered before a write: a system call for each row would cost more than the rows.
    private static let batchBytes = 1 << 16

    @Flag(help: "Print the periods (transactions) instead.")
    package var transactions = false

    @Flag(help: "Print the one-time purchases instead.")
    package var purchases = false

    @OptionGroup(title: "For every command") package var common: CommonOptions

    package static let exitStatuses = CommandStatuses(
        [CommandStatuses.database], [.ok: "printed"])

    package init() {}

    package func validate() throws {
        if transactions, purchases {
            throw ValidationError("Give --transactions or --purchases, not both.")
        }
    }

    package func perform(in invocation: Invocation) async throws -> ExitStatus {
        let settings = try Settings.load(
            flag: common.config, environment: invocation.environment)
        let store = try Books(settings).openToRead(at: invocation.now())
        if let missing = try settings.company.copy(in: store)?.notRead() { invocation.say(missing) }
        var batch: [UInt8] = []
        let output = invocation.rawOutput
        let handOn = { (batch: inout [UInt8], limit: Int) throws(CommandFailure) in
            guard batch.count > limit else { return }
            try output.write(batch)
            batch.removeAll(keepingCapacity: true)
        }
        if transactions || purchases {
            let table: TransactionTable = purchases ? .purchases : .periods
            let columns = table.fields
            if !common.json { CSVRowWriter.appendHeader(of: columns, to: &batch) }
            try store.forEachTransaction(of: table) { row in
                if common.json {
                    append(columns, row.value(of:), to: &batch)
                } else {
                    CSVRowWriter.append(row, columns, to: &batch)
                }
                try handOn(&batch, Self.batchBytes)
            }
        } else {
            let columns = try store.columnsInUse()
            if !common.json { CSVRowWriter.appendHeader(of: columns, to: &batch) }
            try store.forEachSubscription { row in
                if common.json {
                    append(columns, row.value(of:), to: &batch)
                } else {
                    CSVRowWriter.append(row, columns, to: &batch)
                }
                try handOn(&batch, Self.batchBytes)
            }
        }
        try handOn(&batch, 0)
        return .ok
    }

    private func append<Field: RawRepresentable<String>>(
        _ fields: [Field], _ value: (Field) -> FieldValue, to batch: inout [UInt8]
    ) {
        let members = fields.map { ($0.rawValue, value($0).json) }
        let object = CanonicalJSON.object(Dictionary(uniqueKeysWithValues: members))
        batch.append(contentsOf: object.rendered.utf8)
        batch.append(UInt8(ascii: "\n"))
    }
}
