/// A statement for the company's database, with the values to bind.
package struct MappedStatement: Hashable, Sendable {
    package var sql: String
    package var arguments: [CompanyLiteral]

    package init(sql: String, arguments: [CompanyLiteral]) {
        self.sql = sql
        self.arguments = arguments
    }
}

/// The SQL of a mapping: names are quoted, values are bound, and every column is read as text.
///
/// PostgreSQL's session has `TimeZone` UTC and `DateStyle` ISO, so that its texts are the ones that
/// `ColumnForm` reads. Its parameters have no type, so that it takes the type of the column.
///
/// MySQL's session has `time_zone` UTC. Every text is read as bytes, because its collations take
/// different texts for one; an index of the company's still serves a key, which is compared twice.
package struct MappedStatements: Hashable, Sendable {
    package enum Dialect: Hashable, Sendable {
        case sqlite, postgresql, mysql
    }

    package let mapping: TableMapping
    package let dialect: Dialect

    package init(_ mapping: TableMapping, for dialect: Dialect) {
        self.mapping = mapping
        self.dialect = dialect
    }

    /// The next rows in the order of the key.
    ///
    /// - Parameters:
    ///   - cursor: The last row's; `nil` from the beginning.
    ///   - limit: How many rows at most.
    ///   - apps: Whose rows; `nil` for all. Where no column tells apps apart every row is theirs.
    /// - Returns: A query of `TableMapping.readColumns`.
    package func page(
        after cursor: CompanyCursor?, limit: Int, of apps: [AppIdentity]? = nil
    ) -> MappedStatement {
        var list = ArgumentList(dialect: dialect)
        let key = mapping.keyColumns
        var terms = key.map { "\(column($0.column)) IS NOT NULL" }
        if let cursor, cursor.count == key.count {
            terms.append(
                list.isBehind(key.map { column($0.column) }) { index, list in
                    keyMark(cursor[index], form: key[index].form, &list)
                })
        }
        terms += apps.map { isOf($0, &list) } ?? []
        terms += isLatest
        let order = key.map { column($0.column) }.joined(separator: ", ")
        let limit = list.mark(.integer(Int64(limit)))
        return query(selection, where: terms, " ORDER BY \(order) LIMIT \(limit)", list)
    }

    /// A query of the table, which the terms name `t`.
    func query(
        _ selected: String, where terms: [String], _ rest: String, _ list: ArgumentList
    ) -> MappedStatement {
        MappedStatement(
            sql: "SELECT \(selected) FROM \(table) AS t WHERE "
                + terms.joined(separator: " AND ") + rest,
            arguments: list.arguments)
    }

    package typealias KeyColumn = (field: MappedField, column: String, form: ColumnForm)

    /// The mark of a part of a key.
    private func keyMark(
        _ text: String, form: ColumnForm, _ list: inout ArgumentList
    ) -> String {
        let literal = keyLiteral(text, form: form)
        guard dialect == .mysql, form == .integer, case .text = literal else {
            return list.mark(literal)
        }
        // Compared as a text, a number would become a floating-point one.
        return "CAST(\(list.mark(literal)) AS UNSIGNED)"
    }

    /// The term that a part of a key is this one, by its bytes.
    func isEqual(
        _ name: String, _ text: String, form: ColumnForm, _ list: inout ArgumentList
    ) -> String {
        let term = "\(column(name)) = " + keyMark(text, form: form, &list)
        guard dialect == .mysql, form != .integer else { return term }
        return term + " AND \(self.text(.column(name, form))) = \(list.mark(.text(text)))"
    }

    /// The terms that name rows of some apps; none where no column tells apps apart.
    func isOf(_ apps: [AppIdentity], _ list: inout ArgumentList) -> [String] {
        var alternatives: [String] = []
        for app in apps {
            let parts = [
                (field: mapping.kind.bundleID, text: app.bundleID),
                (field: mapping.kind.environment, text: app.environment.rawValue),
            ]
            // An app that the constants or words of the mapping do not have.
            let isElsewhere = parts.contains { part in
                guard case .constant(let constant) = mapping.columns[part.field] else {
                    return mapping.stored(part.text, of: part.field) == nil
                }
                return constant != part.text
            }
            guard !isElsewhere else { continue }
            var terms: [String] = []
            for part in parts {
                guard case .column(let name, let form) = mapping.columns[part.field],
                    let text = mapping.stored(part.text, of: part.field)
                else { continue }
                terms.append(isEqual(name, text, form: form, &list))
            }
            guard !terms.isEmpty else { return [] }
            alternatives.append("(" + terms.joined(separator: " AND ") + ")")
        }
        let any = alternatives.isEmpty ? "1 = 0" : alternatives.joined(separator: " OR ")
        return ["(" + any + ")"]
    }

    /// Different texts in a column, among so many rows that it takes no time; they are few.
    package static func words(
        of column: String, in table: CompanyTableName, for dialect: Dialect
    ) -> String {
        let names = MappedStatements(TableMapping(table: table, columns: [:]), for: dialect)
        let text = names.text(.column(column, .text))
        return
            "SELECT DISTINCT w FROM (SELECT \(text) AS w FROM \(names.table) AS t LIMIT 10000) AS s "
            + "WHERE w IS NOT NULL ORDER BY w LIMIT 20"
    }

    /// The key of a row for the cursor, from the texts of `TableMapping.readColumns`.
    package func cursor(of texts: [String?]) -> CompanyCursor {
        var parts: [MappedField: String] = [:]
        let read = mapping.read.filter { $0.column.name != nil }
        for (index, item) in read.enumerated() where index < texts.count {
            parts[item.field] = texts[index] ?? ""
        }
        return mapping.keyColumns.map { parts[$0.field] ?? "" }
    }

    /// The row of a key, or two where the key is not unique.
    ///
    /// `nil` where a constant says that no row has this key.
    ///
    /// - Parameters:
    ///   - key: In trueup's form.
    ///   - isLocked: Whether no other transaction may change the row until this one ends; only
    ///     MySQL needs that for a compare-and-set.
    /// - Returns: A query of `TableMapping.readColumns`.
    package func row(_ key: SubscriptionKey, isLocked: Bool = false) -> MappedStatement? {
        var list = ArgumentList(dialect: dialect)
        guard let terms = identity(of: key, &list) else { return nil }
        return query(
            selection, where: terms + isLatest, " LIMIT 2" + (isLocked ? " FOR UPDATE" : ""), list)
    }

    /// The terms that name a row, or `nil` where a constant part of its key is another.
    func identity(of key: SubscriptionKey, _ list: inout ArgumentList) -> [String]? {
        var terms: [String] = []
        for field in mapping.key {
            let text = part(field, of: key)
            switch mapping.columns[field] {
            case .constant(let constant):
                guard constant == text else { return nil }
            case .column(let name, let form):
                guard let stored = mapping.stored(text, of: field) else { return nil }
                terms.append(isEqual(name, stored, form: form, &list))
            case .member, nil: return nil
            }
        }
        return terms
    }

    /// The text of one column of a key.
    package func part(_ field: MappedField, of key: SubscriptionKey) -> String {
        switch field {
        case mapping.kind.bundleID: key.bundleID
        case mapping.kind.environment: key.environment
        default: key.originalTransactionID
        }
    }

    /// A key is compared as the column is stored.
    func keyLiteral(_ text: String, form: ColumnForm) -> CompanyLiteral {
        form == .integer ? Int64(text).map(CompanyLiteral.integer) ?? .text(text) : .text(text)
    }

    /// The company's own rows of a subscription that are older than its latest do not count.
    var isLatest: [String] {
        guard let latest = mapping.latestBy else { return [] }
        let same = mapping.keyColumns.map { part in
            let term = "later.\(quoted(part.column)) = \(column(part.column))"
            guard dialect == .mysql, part.form != .integer else { return term }
            return term + " AND \(Self.bytes("later." + quoted(part.column))) = "
                + Self.bytes(column(part.column))
        }
        let name = quoted(latest)
        return [
            "NOT EXISTS (SELECT 1 FROM \(table) AS later WHERE "
                + (same + [
                    "(later.\(name) > t.\(name) OR (t.\(name) IS NULL AND later.\(name) IS NOT NULL))"
                ]).joined(separator: " AND ") + ")"
        ]
    }

    /// The latest row, as a term of a statement that writes: there MySQL reads the same table only in
    /// a table of its own.
    private func isLatest(
        of key: SubscriptionKey, _ list: inout ArgumentList
    ) -> [String] {
        guard dialect == .mysql, let latest = mapping.latestBy else { return isLatest }
        guard let same = identity(of: key, &list) else { return ["1 = 0"] }
        let name = quoted(latest)
        return [
            "t.\(name) <=> (SELECT newest.m FROM (SELECT MAX(t.\(name)) AS m FROM \(table) AS t WHERE "
                + same.joined(separator: " AND ") + ") AS newest)"
        ]
    }

    var selection: String {
        mapping.readColumns.map(text).joined(separator: ", ")
    }

    /// A column's value as text.
    func text(_ mapped: MappedColumn) -> String {
        switch (mapped, dialect) {
        case (.constant, _): "NULL"
        case (.column(let name, _), .sqlite): "CAST(\(column(name)) AS TEXT)"
        case (.column(let name, _), .postgresql): "\(column(name))::text"
        case (.column(let name, .uuidBinary), .mysql): Self.bytes("LOWER(HEX(\(column(name))))")
        case (.column(let name, _), .mysql): Self.bytes(column(name))
        case (.member(of: let name, path: let path, _), .sqlite):
            "CASE WHEN json_valid(\(column(name))) THEN CAST(json_extract(\(column(name)), "
                + Self.quotedText("$" + path.map { ".\"\($0)\"" }.joined()) + ") AS TEXT) END"
        // Only `jsonb` is certain to be JSON, and a cast of anything else would fail with the page.
        case (.member(of: let name, path: let path, _), .postgresql):
            "CASE WHEN pg_typeof(\(column(name))) = 'jsonb'::regtype THEN '\(Self.memberMark)' || ("
                + column(name) + "::jsonb"
                + path.dropLast().map { "->" + Self.quotedText($0) }.joined()
                + "->>" + Self.quotedText(path.last ?? "") + ") ELSE '\(Self.documentMark)' || "
                + column(name) + "::text END"
        case (.member(of: let name, path: let path, _), .mysql):
            Self.member(path, of: column(name))
        }
    }

    // How PostgreSQL returns a member of JSON: a letter says what follows it.
    /// The value of the member follows.
    package static let memberMark = "m"
    /// The whole column, in which the member is still to be looked for.
    package static let documentMark = "d"

    /// A value of MySQL's as the bytes of its text.
    static func bytes(_ value: String) -> String {
        "CAST(CONVERT(\(value) USING utf8mb4) AS BINARY)"
    }

    /// A member of JSON in MySQL; null is not a value.
    private static func member(_ path: [String], of column: String) -> String {
        let steps = path.map { ".\"\($0)\"" }.joined()
        let text = quotedText("$" + steps).replacing("\\", with: "\\\\")
        let found = "JSON_EXTRACT(\(column), \(text))"
        return
            "CASE WHEN JSON_VALID(\(column)) THEN CASE JSON_TYPE(\(found)) WHEN 'NULL' THEN NULL "
            + "ELSE \(bytes("JSON_UNQUOTE(\(found))")) END END"
    }

    /// The table's name in a statement.
    package var table: String {
        (mapping.table.schema.map { quoted($0) + "." } ?? "") + quoted(mapping.table.name)
    }

    /// The writes of a run, as statements that change no row: the server checks the rights all the
    /// same.
    package var trials: [String] {
        let updated = mapping.updatedColumns.sorted().map { "\(quoted($0)) = \(quoted($0))" }
        let inserted = mapping.insertedColumns.sorted()
        var statements: [String] = []
        if !updated.isEmpty {
            statements.append(
                "UPDATE \(table) SET \(updated.joined(separator: ", ")) WHERE \(never)")
        }
        if !inserted.isEmpty {
            let nothing = inserted.map { _ in "NULL" }.joined(separator: ", ")
            statements.append(
                "INSERT INTO \(table) (\(inserted.map(quoted).joined(separator: ", "))) "
                    + "SELECT \(nothing) \(nowhere)")
        }
        return statements
    }

    private var never: String { dialect == .mysql ? "1 = 0" : "false" }

    /// The end of a query that finds nothing.
    var nowhere: String { (dialect == .mysql ? "FROM DUAL WHERE " : "WHERE ") + never }

    func column(_ name: String) -> String { "t." + quoted(name) }

    /// A name in a statement.
    package func quoted(_ name: String) -> String {
        guard dialect != .mysql else {
            return "`" + name.map { $0 == "`" ? "``" : String($0) }.joined() + "`"
        }
        return "\"" + name.map { $0 == "\"" ? "\"\"" : String($0) }.joined() + "\""
    }

    static func quotedText(_ text: String) -> String {
        "'" + text.map { $0 == "'" ? "''" : String($0) }.joined() + "'"
    }

    /// Whether the database may take two keys for one where it sorts: then only a page that holds
    /// both is followed by what is behind them.
    ///
    /// Collations of MySQL ignore letter case, accents and blanks at the end. Digits differ in all
    /// of them; of a letter beyond ASCII it is not known which others are the same.
    package func mayBeOne(_ left: CompanyCursor, _ right: CompanyCursor) -> Bool {
        guard dialect == .mysql, left.count == right.count else { return left == right }
        return zip(left, right).allSatisfy { left, right in
            guard left != right else { return true }
            guard left.utf8.allSatisfy({ $0 < 0x80 }), right.utf8.allSatisfy({ $0 < 0x80 }) else {
                return true
            }
            return Self.folded(left) == Self.folded(right)
        }
    }

    private static func folded(_ text: String) -> String {
        // Some languages take these letters for one another.
        text.lowercased().filter { $0.isLetter || $0.isNumber }
            .replacing("w", with: "v").replacing("y", with: "i")
    }
}

/// Values to bind, with the marks that stand for them.
struct ArgumentList {
    let dialect: MappedStatements.Dialect
    private(set) var arguments: [CompanyLiteral] = []

    init(dialect: MappedStatements.Dialect) { self.dialect = dialect }

    /// In MySQL the marks have no numbers: they must be made in the order of the statement.
    mutating func mark(_ value: CompanyLiteral) -> String {
        arguments.append(value)
        guard dialect != .mysql else { return "?" }
        return (dialect == .sqlite ? "?" : "$") + String(arguments.count)
    }

    /// The term that names the rows behind a key, in the order of the database.
    ///
    /// MySQL does not use an index to compare tuples.
    ///
    /// - Parameters:
    ///   - columns: The columns of the key, as terms.
    ///   - mark: Marks the value of one of them, by its place.
    /// - Returns: A condition.
    mutating func isBehind(
        _ columns: [String], mark: (Int, inout ArgumentList) -> String
    ) -> String {
        guard dialect == .mysql else {
            let marks = columns.indices.map { mark($0, &self) }
            return Self.tuple(columns) + " > " + Self.tuple(marks)
        }
        let alternatives = columns.indices.map { last in
            let terms = columns[...last].enumerated().map { index, column in
                "\(column) \(index == last ? ">" : "=") " + mark(index, &self)
            }
            return "(" + terms.joined(separator: " AND ") + ")"
        }
        return "(" + alternatives.joined(separator: " OR ") + ")"
    }

    private static func tuple(_ parts: [String]) -> String {
        parts.count == 1 ? parts[0] : "(" + parts.joined(separator: ", ") + ")"
    }
}

/// The meaning of a change for the stored row.
package enum MappedWrite: Hashable, Sendable {
    /// Exactly one row must be changed by it; none means that the row moved meanwhile.
    case execute(MappedStatement)
    /// No column of the company's changes.
    case nothing
    case stale
    case refused(String)
}

extension MappedStatements {
    /// The write of a change, given the row as it was read a moment ago.
    ///
    /// Every value that is replaced is compared twice: as trueup's with the change's, and in the
    /// statement as the text that was just read, so that nothing can come between.
    ///
    /// - Parameters:
    ///   - change: In our columns and forms.
    ///   - standing: The texts of `TableMapping.readColumns`; `nil` where no row has the key.
    /// - Returns: The statement to execute, or why there is none.
    package func write(_ change: CompanyChange, standing: [String?]?) -> MappedWrite {
        switch change.action {
        case .insert: return standing == nil ? insert(change) : .stale
        case .update, .delete:
            guard let standing else { return .stale }
            let row = mapping.row(of: standing)
            guard change.version == row.version || change.version == nil else { return .stale }
            for (field, value) in change.before where mapping.writable.contains(field) {
                guard row.unreadable[field] == nil,
                    isSame(row.values[field] ?? .null, value, in: field)
                else { return .stale }
            }
            return change.action == .update
                ? update(change, standing: standing) : delete(change, standing: standing)
        }
    }

    func isSame(
        _ standing: FieldValue, _ read: FieldValue, in field: MappedField
    ) -> Bool {
        (standing.isEmpty && read.isEmpty) || mapping.isReading(standing, of: read, in: field)
    }

    private func update(_ change: CompanyChange, standing: [String?]) -> MappedWrite {
        let spelling = spelling(in: standing)
        let fields = mapping.kind.fields.filter {
            change.after[$0] != nil && mapping.writable.contains($0)
        }
        guard !fields.isEmpty else { return .nothing }
        if mapping.latestBy != nil, fields.contains(.latestTransactionID) {
            return insertNext(change, standing: standing, spelling: spelling)
        }
        var list = ArgumentList(dialect: dialect)
        var sets: [String] = []
        for field in fields {
            guard case .column(let name, let form) = mapping.columns[field],
                let literal = mapping.literal(
                    change.after[field] ?? .null, in: field, spelling: spelling)
            else { return .refused(noForm(of: field, change.after[field] ?? .null)) }
            sets.append("\(quoted(name)) = \(mark(literal, form: form, &list))")
        }
        if let version = mapping.versionColumn {
            sets.append("\(quoted(version)) = \(quoted(version)) + 1")
        }
        guard let terms = unmoved(change, fields, standing, &list) else { return .stale }
        return .execute(
            MappedStatement(
                sql: "UPDATE \(table) AS t SET " + sets.joined(separator: ", ") + " WHERE "
                    + terms.joined(separator: " AND "),
                arguments: list.arguments))
    }

    /// The mark of a value that is written.
    func mark(
        _ literal: CompanyLiteral, form: ColumnForm, _ list: inout ArgumentList
    ) -> String {
        let mark = list.mark(literal)
        return form == .uuidBinary && dialect == .mysql ? "UNHEX(REPLACE(\(mark), '-', ''))" : mark
    }

    private func delete(_ change: CompanyChange, standing: [String?]) -> MappedWrite {
        guard mapping.latestBy == nil else {
            return .refused("the table has a row for each transaction; delete it by hand")
        }
        var list = ArgumentList(dialect: dialect)
        let fields = mapping.kind.fields.filter(mapping.writable.contains)
        guard let terms = unmoved(change, fields, standing, &list) else { return .stale }
        return .execute(
            MappedStatement(
                sql: (dialect == .mysql ? "DELETE t FROM" : "DELETE FROM") + " \(table) AS t WHERE "
                    + terms.joined(separator: " AND "),
                arguments: list.arguments))
    }

    /// The row of this key, as long as the given columns and the version are as they were read.
    private func unmoved(
        _ change: CompanyChange, _ fields: [MappedField], _ standing: [String?],
        _ list: inout ArgumentList
    ) -> [String]? {
        guard var terms = identity(of: change.key, &list) else { return nil }
        let texts = Dictionary(
            zip(mapping.readColumns, standing), uniquingKeysWith: { first, _ in first })
        var compared = fields.compactMap { mapping.columns[$0] }
        if let version = mapping.versionColumn { compared.append(.column(version, .integer)) }
        for column in compared {
            guard let text = texts[column].flatMap(\.self) else {
                terms.append("\(self.text(column)) IS NULL")
                continue
            }
            terms.append("\(self.text(column)) = \(list.mark(.text(text)))")
        }
        return terms + isLatest(of: change.key, &list)
    }

    private func insert(_ change: CompanyChange) -> MappedWrite {
        guard mapping.inserts != nil else {
            return .refused("`\(mapping.kind.setting).insert` does not allow rows to be inserted")
        }
        return insertion(of: change.key, change.after, spelling: TimeSpelling())
    }

    /// In a table with a row for each transaction, another transaction is another row.
    private func insertNext(
        _ change: CompanyChange, standing: [String?], spelling: TimeSpelling
    ) -> MappedWrite {
        guard mapping.inserts != nil else {
            return .refused(
                "the table has a row for each transaction, and `store.subscriptions.insert` does "
                    + "not allow the next one")
        }
        guard !change.isUndo else {
            return .refused("the row of the later transaction was inserted; delete it by hand")
        }
        let row = mapping.row(of: standing)
        guard row.unreadable.isEmpty else { return .stale }
        return insertion(
            of: change.key, row.values.merging(change.after) { $1 }, spelling: spelling)
    }

    private func insertion(
        of key: SubscriptionKey, _ values: [MappedField: FieldValue], spelling: TimeSpelling
    ) -> MappedWrite {
        var list = ArgumentList(dialect: dialect)
        var names: [String] = []
        var marks: [String] = []
        for (field, name, form) in mapping.keyColumns {
            guard let text = mapping.stored(part(field, of: key), of: field) else {
                return .refused("`\(mapping.kind.setting)` has no word for \(key.environment)")
            }
            names.append(quoted(name))
            marks.append(list.mark(keyLiteral(text, form: form)))
        }
        for field in mapping.kind.fields where mapping.writable.contains(field) {
            guard let value = values[field], value != .null,
                case .column(let name, let form) = mapping.columns[field]
            else { continue }
            guard let literal = mapping.literal(value, in: field, spelling: spelling) else {
                return .refused(noForm(of: field, value))
            }
            names.append(quoted(name))
            marks.append(mark(literal, form: form, &list))
        }
        for (name, value) in (mapping.inserts ?? [:]).sorted(by: { $0.key < $1.key }) {
            names.append(quoted(name))
            marks.append(list.mark(value))
        }
        return .execute(
            MappedStatement(
                sql: "INSERT INTO \(table) (\(names.joined(separator: ", "))) VALUES ("
                    + marks.joined(separator: ", ") + ")",
                arguments: list.arguments))
    }

    /// How the row spells its times.
    private func spelling(in standing: [String?]) -> TimeSpelling {
        for (column, text) in zip(mapping.readColumns, standing) {
            guard case .column(_, let form) = column, let text, !text.isEmpty else { continue }
            switch form {
            case .timestamptz, .timestamp: return TimeSpelling(of: text)
            default: continue
            }
        }
        return TimeSpelling()
    }

    private func noForm(of field: MappedField, _ value: FieldValue) -> String {
        if case .column(_, .timestamp(let clock)) = mapping.columns[field] {
            return "the column for \(field.name) cannot hold \(value.plainText): the clock of "
                + "\(clock) shows that time twice"
        }
        return field == .status
            ? "`store.subscriptions.status` has no word for \(value.plainText)"
            : "the column for \(field.name) cannot hold the value"
    }
}
