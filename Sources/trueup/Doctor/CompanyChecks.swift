import SubscriptionStore
import Subscriptions

/// Looks at the company's own table as a run would find it; reads only.
struct CompanyChecks {
    let company: CompanySettings
    /// Whether some job writes: then rights to write are needed, too.
    let writes: Bool

    static let rowsShown = 3

    /// Table and types, keys and indexes, rights, rows as they are understood, and the two ledgers.
    ///
    /// - Parameter books: `nil` where they cannot be opened.
    /// - Returns: One line for each; none without a table.
    func all(beside books: SQLiteStore?) async -> [Diagnosis] {
        guard let table = company.table else { return [] }
        do {
            let lines = try await offTheCooperativeThreads { try self.lines(of: table) }
            guard let books, let path = company.booksPath,
                let link = try CompanyConnection.link(company, booksAt: path)
            else { return lines }
            return lines + [try await ledgers(of: link, books)]
        } catch {
            return [.failed("table", nil, error)]
        }
    }

    /// Whether the two ledgers agree, or what a run would do about it.
    private func ledgers(
        of link: CompanyLink, _ books: SQLiteStore
    ) async throws(StoreError) -> Diagnosis {
        if let gap = try await books.gap(inLedgerOf: link) {
            return .failed("table", nil, gap, fix: nil, .config)
        }
        guard let entry = try await books.entryToTakeOver(from: link) else {
            return .ok("table", nil, "the ledger there has the newest entry of the books")
        }
        return .warning(
            "table", nil,
            "the books lack the ledger there from entry \(entry) on: a run was killed, or the books "
                + "were put back to an earlier state",
            fix: "nothing: the next run that writes takes over what they lack, and says so")
    }

    private func lines(
        of table: (source: CompanySource, mapping: TableMapping)
    ) throws -> [Diagnosis] {
        let mapping = table.mapping
        // Whose the ledger is can be told as soon as there are books.
        let books = company.booksPath.flatMap { path in
            (try? CompanyConnection.identity(ofBooksAt: path)).map { _ in path }
        }
        let database = try CompanyConnection.database(table.source, mapping, booksAt: books)
        try database.check(mayWrite: false)
        let found = try database.tables().first {
            $0.name.name == mapping.table.name
                && (mapping.table.schema == nil || $0.name.schema == mapping.table.schema)
        }
        var lines = [
            Diagnosis.ok(
                "table", nil,
                "\(mapping.table) has the \(mapping.namedColumns.count) columns of "
                    + "store.subscriptions, in the forms stated there")
        ]
        if let found { lines += [index(of: found, mapping)] + rights(on: found, mapping) }
        lines += cut(by: database.precision)
        if writes, let obstacle = try database.obstacleToLedger() {
            lines.append(
                .failed(
                    "table", nil, "no ledger can be kept beside \(mapping.table): \(obstacle)",
                    fix: "do that, or set mode: check", .config))
        }
        return lines + (try rows(of: database, mapping))
    }

    private func cut(by precision: TimePrecision) -> [Diagnosis] {
        SubscriptionField.allCases.compactMap { field in
            guard let digits = precision.digits[field] else { return nil }
            let kept = digits == 0 ? "whole seconds" : "\(digits) of a second's 3 digits"
            return .ok(
                "table", nil,
                "the column for \(field.rawValue) keeps \(kept): Apple's times are cut to that, never "
                    + "rounded, to compare and to write")
        }
    }

    private func index(of table: CompanyTableDescription, _ mapping: TableMapping) -> Diagnosis {
        let key = mapping.keyColumns.map(\.column)
        let words = key.joined(separator: ", ")
        guard !table.isView else {
            return .warning(
                "table", nil,
                "\(mapping.table) is a view; whether an index serves \(words) is not "
                    + "known", fix: "make sure that the table behind it has one")
        }
        guard table.isWalkable(by: key) else {
            return .warning(
                "table", nil,
                "\(mapping.table) has no index that begins with \(words): each page of the walk in "
                    + "key order reads the whole table",
                fix: "create an index on \(mapping.table) (\(words))")
        }
        return .ok("table", nil, "an index serves the walk in the order of \(words)")
    }

    private func rights(
        on table: CompanyTableDescription, _ mapping: TableMapping
    ) -> [Diagnosis] {
        guard table.rights.maySelect else {
            return [
                .failed(
                    "table", nil, "\(mapping.table) may not be read", fix: "grant SELECT", .config)
            ]
        }
        guard writes else { return [.ok("table", nil, "may be read; no job writes")] }
        if let obstacle = mapping.obstacleToWriting(to: table) {
            return [.failed("table", nil, "\(mapping.table): \(obstacle)", fix: nil, .config)]
        }
        let refused = mapping.updatedColumns.subtracting(table.rights.updatable).sorted()
        guard refused.isEmpty else {
            return [
                .failed(
                    "table", nil,
                    "\(refused.joined(separator: ", ")) of \(mapping.table) may not be changed",
                    fix: "grant UPDATE of exactly these columns, or set mode: check",
                    statusOfRights)
            ]
        }
        let lacking = mapping.insertedColumns.subtracting(table.rights.insertable).sorted()
        guard lacking.isEmpty else {
            return [
                .failed(
                    "table", nil,
                    "no row with \(lacking.joined(separator: ", ")) may be inserted into "
                        + "\(mapping.table)", fix: "grant INSERT, or write insert: no",
                    statusOfRights)
            ]
        }
        let unset = unsetColumns(of: table, mapping)
        guard unset.isEmpty else {
            return [
                .failed(
                    "table", nil,
                    "an inserted row would lack \(unset.joined(separator: ", ")), which may not be "
                        + "NULL and has no default",
                    fix: "give them values under store.subscriptions.insert, or write insert: no",
                    .config)
            ]
        }
        return [
            .ok(
                "table", nil,
                "may be read; \(mapping.updatedColumns.count) columns may be changed"
                    + (mapping.inserts == nil ? "; no row is inserted" : "; rows may be inserted"))
        ]
    }

    /// What a run ends with for a missing right: that of a file, or one of a server.
    private var statusOfRights: ExitStatus {
        if case .sqlite = company.table?.source { .output } else { .config }
    }

    /// Columns that an inserted row must have and would not get.
    private func unsetColumns(
        of table: CompanyTableDescription, _ mapping: TableMapping
    ) -> [String] {
        guard mapping.inserts != nil else { return [] }
        let set = Set(mapping.namedColumns)
        // SQLite numbers the rows of a whole-number key by itself.
        let numbered = table.primaryKey.count == 1 ? Set(table.primaryKey) : []
        return table.columns
            .filter {
                !$0.isNullable && !$0.hasDefault && !$0.isGenerated && !set.contains($0.name)
            }
            .map(\.name).filter { !numbered.contains($0) }
    }

    private func rows(
        of database: any CompanyDatabase, _ mapping: TableMapping
    ) throws -> [Diagnosis] {
        let page = try database.rows(after: nil, limit: Self.rowsShown, of: nil)
        guard !page.rows.isEmpty else {
            return [.ok("table", nil, "\(mapping.table) holds no row with a key yet")]
        }
        return page.rows.map { row in
            let values = SubscriptionField.allCases.compactMap { field -> String? in
                guard let value = row.values[field], value != .null else { return nil }
                return "\(field.rawValue) \(value.plainText)"
            }
            let detail =
                "understood: \(row.key.bundleID) \(row.key.environment) "
                + "\(row.key.originalTransactionID): " + values.joined(separator: ", ")
            guard let (field, shown) = row.unreadable.min(by: { $0.key.rawValue < $1.key.rawValue })
            else { return .ok("table", nil, detail) }
            return .warning(
                "table", nil, detail + "; \(field.rawValue) \"\(shown)\" is not understood",
                fix: "add the word, or state the column's form, in store.subscriptions")
        }
    }
}
