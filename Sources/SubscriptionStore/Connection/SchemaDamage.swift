import GRDB
import Subscriptions

/// What a database of ours has lost of its schema, and how it is put back.
struct SchemaDamage {
    let path: String
    let version: Int

    private static let companyTables: [(name: String, textColumns: [String])] = [
        (
            "subscriptions",
            SubscriptionField.stored.filter { $0.form == .text }.map(\.rawValue)
        ),
        (
            "transactions", TransactionField.allCases.filter { $0.form == .text }.map(\.rawValue)
        ),
    ]

    /// - Throws: `.schema`, naming what is missing or different and what restores it.
    func refuse(_ db: Database) throws {
        guard version > 0, try !isWhole(db) else { return }
        let model = try SchemaParts.model(ofVersion: version)
        try refuseTables(db, model)
        try refuseShapes(db, model)
        let missing = try model.read(SchemaParts.init).missing(in: SchemaParts(db))
        guard !missing.isEmpty else { return }
        let names = missing.map { "the " + $0.description }.joined(separator: ", ")
        let concernsLedger = missing.contains { $0.table == "trueup_ledger" }
        throw StoreError.schema(
            "The database \(path) lacks what keeps it safe, or has it changed: \(names). Somebody "
                + "rebuilt a table or removed them. Nothing was written. Run `trueup init` to "
                + "put them back, or paste what follows into `sqlite3 \(path)` while no service "
                + "writes"
                + (concernsLedger
                    ? ", then run `trueup verify --database` to check the ledger." : ".")
                + "\n" + missing.map(\.restoring).joined(separator: "\n"))
    }

    /// - Returns: what was put back, in words.
    func restore(_ db: Database) throws -> [String] {
        guard try !isWhole(db) else { return [] }
        let missing = try SchemaParts.made(byVersion: version).missing(in: SchemaParts(db))
        try SchemaParts.restore(missing, db)
        return missing.map(\.description)
    }

    /// Whether nothing of a schema of this version is missing or different.
    private func isWhole(_ db: Database) throws -> Bool {
        try version == Migration.newest && SchemaDigest(db) == .newest
    }

    private func refuseTables(_ db: Database, _ model: DatabaseQueue) throws {
        let names = "SELECT name FROM sqlite_master WHERE type = 'table'"
        let missing = try model.read { try String.fetchSet($0, sql: names) }
            .subtracting(String.fetchSet(db, sql: names)).sorted()
        guard !missing.isEmpty else { return }
        let list = missing.map { "`\($0)`" }.joined(separator: ", ")
        throw StoreError.schema(
            "The database \(path) has lost \(missing.count == 1 ? "the table" : "the tables") "
                + "\(list). Nothing was written. Restore a backup.")
    }

    private func refuseShapes(_ db: Database, _ model: DatabaseQueue) throws {
        for (table, columns) in Self.companyTables {
            let (expected, named, definition) = try model.read { model in
                (
                    try TableShape(of: table, columns: columns, model),
                    try TableShape.columns(of: table, model),
                    try String.fetchOne(
                        model, sql: "SELECT sql FROM sqlite_master WHERE name = ?",
                        arguments: [table]) ?? ""
                )
            }
            let found = try TableShape(of: table, columns: columns, db)
            guard let difference = found.difference(from: expected) else { continue }
            throw StoreError.schema(
                """
                In the database \(path) \(difference): a row that moved could be overwritten. \
                Nothing was written. While no service writes, paste this into `sqlite3 \(path)`; \
                it changes nothing where two rows would have one key, and keeps the table as it \
                was under another name. Then run `trueup init`.
                \(try TableShape.rebuild(table, as: definition, with: named, db))
                """)
        }
    }
}
