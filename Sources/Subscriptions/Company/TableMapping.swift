/// How the company's own table is read and written as trueup's: its names, forms and words.
///
/// It says nothing of SQL: `MappedStatements` makes that for each kind of database.
package struct TableMapping: Hashable, Sendable {
    /// Which of trueup's tables it is.
    package let kind: MappedTable
    package var table: CompanyTableName
    /// The company's column for each of trueup's; a column that is not named is not kept.
    ///
    /// The three columns of the key are always there, as columns or as constants.
    package var columns: [MappedField: MappedColumn]
    /// The company's words for a status; `nil` where the column holds Apple's numbers.
    package var statusWords: StatusWords?
    /// Apple's environment for each of the company's words, one word for each; `nil` where the
    /// column holds Apple's own.
    package var environmentWords: [String: String]?
    /// A whole number that every write of the company's raises; `nil` for none.
    package var versionColumn: String?
    /// Whether rows may be inserted, and with which values besides the mapped ones; `nil` for
    /// never.
    package var inserts: [String: CompanyLiteral]?
    /// The column whose greatest value marks the row of a subscription, where the table has one row
    /// for each transaction; `nil` where it has one row for each subscription.
    package var latestBy: String?
    /// The company's table in which the entitlements of its customers are kept; `nil` for none.
    package var entitlements: CompanyTableName?
    /// How the company's table of one-time purchases is read, next to one of subscriptions; `nil` for
    /// none.
    package var purchases: TableMapping? {
        get { besides.first }
        set { besides = [newValue].compactMap(\.self) }
    }
    /// At most one: a structure cannot hold its own kind in any other way.
    private var besides: [TableMapping] = []

    package init(
        _ kind: MappedTable = .subscriptions, table: CompanyTableName,
        columns: [MappedField: MappedColumn],
        statusWords: StatusWords? = nil, versionColumn: String? = nil,
        inserts: [String: CompanyLiteral]? = nil, latestBy: String? = nil
    ) {
        self.kind = kind
        self.table = table
        self.columns = columns
        self.statusWords = statusWords
        self.versionColumn = versionColumn
        self.inserts = inserts
        self.latestBy = latestBy
    }
}

extension TableMapping {
    /// Our columns that make up the key, in its order.
    package var key: [MappedField] { kind.key }

    /// This mapping and the one of purchases, where there is one.
    package var all: [TableMapping] { [self] + besides }

    /// The mapping of one of trueup's tables; `nil` where it is not in a table of the company's.
    package func mapping(of table: MappedTable) -> TableMapping? {
        all.first { $0.kind == table }
    }

    /// The columns of the company's that are read, in our order.
    package var read: [(field: MappedField, column: MappedColumn)] {
        kind.fields.compactMap { field in
            columns[field].map { (field, $0) }
        }
    }

    /// The part of the key that the company keeps in columns, in the order of the walk.
    package var keyColumns: [(field: MappedField, column: String, form: ColumnForm)] {
        key.compactMap { field in
            guard case .column(let name, let form) = columns[field] else { return nil }
            return (field, name, form)
        }
    }

    /// Our columns whose values a correction can write.
    package var writable: Set<MappedField> {
        Set(columns.filter { $0.value.isWritable }.keys).subtracting(key)
    }

    /// The company's columns that a correction of a row that is there can change.
    ///
    /// Only the company says whose customer a row is.
    package var updatedColumns: Set<String> {
        let corrected = writable.filter { !$0.isCustomer }.compactMap { columns[$0]?.name }
        return Set(corrected + [versionColumn].compactMap(\.self))
    }

    /// The company's columns that an inserted row is given; none where none may be inserted.
    package var insertedColumns: Set<String> {
        guard let inserts else { return [] }
        return Set(
            (keyColumns.map(\.column) + writable.compactMap { columns[$0]?.name }) + inserts.keys)
    }

    /// Columns that runs compare with Apple's and the company does not keep.
    package var notKept: [MappedField] {
        kind.fields.filter { $0.isCompared && columns[$0] == nil }
    }

    /// Columns that Apple states, and that are checked but never written.
    package var readOnly: [MappedField] {
        kind.fields.filter { $0.isStated && columns[$0]?.isWritable == false }
    }
}

/// The name of a table or view, as the company's database has it.
package struct CompanyTableName: Hashable, Sendable, CustomStringConvertible {
    /// The schema; `nil` for the one where the database looks first.
    package var schema: String?
    package var name: String

    package init(schema: String? = nil, name: String) {
        self.schema = schema
        self.name = name
    }

    package var description: String { schema.map { "\($0).\(name)" } ?? name }
}

/// Where the company keeps one of our columns.
package enum MappedColumn: Hashable, Sendable {
    case column(String, ColumnForm)
    /// A member of a JSON column, by the names on the way to it; it is read and never written.
    case member(of: String, path: [String], ColumnForm)
    /// One value in every row; the company has no column for it.
    case constant(String)

    package var isWritable: Bool {
        if case .column = self { true } else { false }
    }

    /// The company's column that is read; `nil` for a constant.
    package var name: String? {
        switch self {
        case .column(let name, _), .member(of: let name, path: _, _): name
        case .constant: nil
        }
    }
}

/// The form in which the company keeps a value.
package enum ColumnForm: Hashable, Sendable {
    case text
    /// A whole number; ids are kept so as well.
    case integer
    /// UNIX milliseconds as a whole number.
    case milliseconds
    /// UNIX seconds as a whole number.
    case seconds
    /// A point in time: PostgreSQL's `timestamptz`, or text with an offset.
    case timestamptz
    /// A date and time without an offset, by a clock that the settings name.
    case timestamp(LocalClock)
    case boolean
    case uuid
    /// The 16 bytes of a UUID, in a binary column of MySQL.
    case uuidBinary
}

/// The company's words for a status.
package struct StatusWords: Hashable, Sendable {
    /// Apple's number for each word.
    package var numbers: [String: Int64]
    /// The word that is written for a number where several mean it.
    package var written: [Int64: String]

    package init(numbers: [String: Int64], written: [Int64: String]) {
        self.numbers = numbers
        self.written = written
    }
}

extension TableMapping {
    /// Every column of the company's that the mapping names, each once, in no order that matters.
    package var namedColumns: [String] {
        let named =
            read.compactMap { $0.column.name } + [versionColumn, latestBy].compactMap(\.self)
            + (inserts ?? [:]).keys.sorted()
        var seen: Set<String> = []
        return named.filter { seen.insert($0).inserted }
    }
}

extension TableMapping {
    /// Returns the properties of a table that keep corrections from being written, whatever the
    /// rights are.
    ///
    /// - Parameter table: As its database describes it.
    /// - Returns: The obstacle and what fixes it, to follow the table's name; `nil` for none.
    package func obstacleToWriting(to table: CompanyTableDescription) -> String? {
        guard !table.isView else {
            return
                "it is a view, and corrections are written to tables alone; name the table, or set "
                + "mode: check"
        }
        let generated = updatedColumns.union(insertedColumns)
            .filter { table.column($0)?.isGenerated == true }.sorted()
        guard let first = generated.first else { return nil }
        return "the column \"\(first)\" is generated by the table, and no correction can write it; "
            + "name the column that it is made of, leave it out of `\(kind.setting)`, or set "
            + "mode: check"
    }
}

/// Rows of the company's as trueup's, and trueup's as the company's.
extension TableMapping {
    /// The names of the company's columns that a page reads, in the order of the texts that `row`
    /// takes: the mapped columns in our order, then the version.
    package var readColumns: [MappedColumn] {
        read.map(\.column).filter { $0.name != nil }
            + (versionColumn.map { [.column($0, .integer)] } ?? [])
    }

    /// A row as it was read.
    ///
    /// - Parameter texts: The values of `readColumns`; `nil` for NULL.
    /// - Returns: The row, and separately the values that could not be read.
    package func row(of texts: [String?]) -> CompanyRow {
        var rest = texts[...]
        var keyParts: [MappedField: String] = [:]
        var values: [MappedField: FieldValue] = [:]
        var unreadable: [MappedField: String] = [:]
        for (field, column) in read {
            let reading: FieldValue?
            var shown: String?
            switch column {
            case .constant(let text): reading = constant(text, of: field)
            case .column(_, let form), .member(of: _, path: _, let form):
                shown = rest.popFirst().flatMap(\.self)
                reading = value(of: shown, in: field, form)
            }
            if field == kind.environment, let environmentWords, let word = shown {
                // A key that no app has, so that the row is excluded and counted.
                keyParts[field] = environmentWords[word] ?? "unknown word: \(word)"
                if environmentWords[word] == nil { unreadable[field] = word }
            } else if key.contains(field) {
                keyParts[field] = reading?.plainText ?? shown ?? ""
            } else if let reading {
                values[field] = reading
            } else {
                unreadable[field] = shown ?? ""
            }
        }
        let version = rest.popFirst().flatMap(\.self).flatMap { Int64($0) }
        return CompanyRow(
            key: SubscriptionKey(
                bundleID: keyParts[kind.bundleID] ?? "",
                environment: keyParts[kind.environment] ?? "",
                originalTransactionID: keyParts[kind.identifier] ?? ""),
            values: values, version: version, unreadable: unreadable)
    }

    /// A part of a key as the company writes it; `nil` where it has no word for it.
    func stored(_ text: String, of field: MappedField) -> String? {
        guard field == kind.environment, let environmentWords else { return text }
        return environmentWords.first { $0.value == text }?.key
    }

    private func value(
        of text: String?, in field: MappedField, _ form: ColumnForm
    ) -> FieldValue? {
        guard field == .status, let statusWords else {
            return form.value(of: text, as: field.form)
        }
        guard let text, !text.isEmpty else { return .null }
        return statusWords.numbers[text].map(FieldValue.integer)
    }

    /// A constant of the settings; text that is not a value of the column is refused there.
    private func constant(_ text: String, of field: MappedField) -> FieldValue? {
        switch field.form {
        case .text: .text(text)
        case .integer: Int64(text).map(FieldValue.integer)
        case .time: Timestamp(rfc3339: text).map(FieldValue.time)
        }
    }

    /// A value of trueup's as it is written; `nil` where the company's column cannot hold it.
    package func literal(
        _ value: FieldValue, in field: MappedField, spelling: TimeSpelling = TimeSpelling()
    ) -> CompanyLiteral? {
        guard case .column(_, let form) = columns[field] else { return nil }
        guard field == .status, let statusWords, case .integer(let number) = value else {
            return form.literal(value, spelling: spelling)
        }
        return statusWords.written[number].map(CompanyLiteral.text)
    }

    /// The value that will be read again where this one is written: seconds lose the milliseconds,
    /// and one word may mean several of Apple's numbers.
    package func kept(_ value: FieldValue, in field: MappedField) -> FieldValue {
        guard case .column(_, let form) = columns[field] else { return value }
        switch literal(value, in: field) {
        case .text(let text):
            return self.value(of: text, in: field, form) ?? value
        case .integer(let number):
            return self.value(of: String(number), in: field, form) ?? value
        case .boolean, .null, nil: return value
        }
    }

    /// Whether a column that was given a value can show this one.
    ///
    /// A column may keep a time less precisely than Apple states it, and have one word for several
    /// of its statuses. What was written there stays known as Apple stated it, so a time is
    /// recognised by its leading digits, and a status by the word that the settings have for it
    /// now.
    ///
    /// - Parameters:
    ///   - read: What is in the company's column.
    ///   - written: What was written there.
    ///   - field: In trueup's form.
    /// - Returns: Whether nothing else has been written since, as far as the value tells.
    package func isReading(
        _ read: FieldValue, of written: FieldValue, in field: MappedField
    ) -> Bool {
        if read == written { return true }
        guard case .column(_, let form) = columns[field] else { return false }
        switch (form, read, written) {
        case (.timestamptz, .time(let short), .time(let whole)),
            (.timestamp, .time(let short), .time(let whole)):
            return short.isCut(from: whole)
        default: return kept(written, in: field) == read
        }
    }

    /// Apple's numbers of a status that read back as another one.
    package var statusesKeptAs: [Int64: Int64] {
        guard let statusWords else { return [:] }
        return statusWords.written.reduce(into: [:]) { kept, pair in
            guard let number = statusWords.numbers[pair.value], number != pair.key else { return }
            kept[pair.key] = number
        }
    }

    /// The changes of a correction as the company keeps them: without columns that it does not
    /// keep.
    ///
    /// Values stay as Apple stated them, also where the column keeps less of them or has one word
    /// for several, because the ledger is held against what Apple signed.
    ///
    /// - Returns: `nil` where the company keeps nothing of it.
    package func kept(_ changes: ChangeSet) -> ChangeSet? {
        let writable = writable
        func isKept(_ field: MappedField) -> Bool {
            writable.contains(field) || key.contains(field) || field.isSignedDate
                || field == .purchase(.originalTransactionID)
        }
        let kept = changes.filtered(isKept)
        return kept.mapped.keys.contains(where: writable.contains) ? kept : nil
    }
}

extension Timestamp {
    /// Whether this is another time without its last digits: to the second, the tenth of it or the
    /// hundredth.
    fileprivate func isCut(from whole: Timestamp) -> Bool {
        [Milliseconds.perSecond, 100, 10].contains { step in
            let (_, rest) = whole.unixMilliseconds.floorDivided(by: step)
            return unixMilliseconds == whole.unixMilliseconds &- rest
        }
    }
}

extension TableMapping {
    /// Returns why a correction of a row cannot be reverted in this table, as far as the mapping
    /// shows.
    ///
    /// The write itself looks again; this says it before, to a person who looks what an undo would
    /// do.
    ///
    /// - Parameters:
    ///   - action: What would revert it.
    ///   - fields: The columns that this changes.
    /// - Returns: `nil` where nothing of the mapping is against it.
    package func obstacle(
        toUndoBy action: RowAction, of fields: some Collection<MappedField>
    ) -> String? {
        switch action {
        case .delete:
            return latestBy == nil
                ? nil : "the table has a row for each transaction; delete that row by hand"
        case .insert:
            return inserts == nil
                ? "`\(kind.setting).insert` does not allow rows to be inserted" : nil
        case .update:
            return latestBy != nil && fields.contains(.latestTransactionID)
                && writable.contains(.latestTransactionID)
                ? "the row of the later transaction was inserted; delete it by hand" : nil
        }
    }
}

extension UndoItem {
    /// Returns the item as far as the company's own table allows it.
    ///
    /// - Parameter mapping: How that is written; `nil` where there is none.
    /// - Returns: A conflict in place of what the table does not allow.
    package func allowed(by mapping: TableMapping?) -> UndoItem {
        guard case .ready(let inverse) = standing,
            let table = inverse.changes.mappedTable,
            let why = mapping?.mapping(of: table)?.obstacle(
                toUndoBy: inverse.action, of: inverse.changes.mapped.keys)
        else { return self }
        return UndoItem(entry: entry, standing: .conflict(.table(why)))
    }
}
