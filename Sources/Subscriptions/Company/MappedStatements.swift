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
package struct MappedStatements: Hashable, Sendable {
    package enum Dialect: Hashable, Sendable {
        case sqlite, postgresql
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
        if let cursor, cursor.key.count == key.count {
            let marks = zip(key, cursor.key).map { list.mark(keyLiteral($1, form: $0.form)) }
            terms.append(
                tuple(key.map { column($0.column) }) + " > " + tuple(marks))
        }
        terms += apps.map { isOf($0, &list) } ?? []
        terms += isLatest
        let order = key.map { column($0.column) }.joined(separator: ", ")
        let limit = list.mark(.integer(Int64(limit)))
        return MappedStatement(
            sql: "SELECT \(selection) FROM \(table) AS t WHERE "
                + terms.joined(separator: " AND ") + " ORDER BY \(order) LIMIT \(limit)",
            arguments: list.arguments)
    }

    /// The terms that name rows of some apps; none where no column tells apps apart.
    func isOf(_ apps: [AppIdentity], _ list: inout ArgumentList) -> [String] {
        var alternatives: [String] = []
        for app in apps {
            let parts = [
                (field: SubscriptionField.bundleID, text: app.bundleID),
                (field: .environment, text: app.environment.rawValue),
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
                terms.append("\(column(name)) = \(list.mark(keyLiteral(text, form: form)))")
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
        var parts: [SubscriptionField: String] = [:]
        let read = mapping.read.filter { $0.column.name != nil }
        for (index, item) in read.enumerated() where index < texts.count {
            parts[item.field] = texts[index] ?? ""
        }
        return CompanyCursor(key: mapping.keyColumns.map { parts[$0.field] ?? "" })
    }

    /// The row of a key, or two where the key is not unique.
    ///
    /// `nil` where a constant says that no row has this key.
    package func row(_ key: SubscriptionKey) -> MappedStatement? {
        var list = ArgumentList(dialect: dialect)
        guard let terms = identity(of: key, &list) else { return nil }
        return MappedStatement(
            sql: "SELECT \(selection) FROM \(table) AS t WHERE "
                + (terms + isLatest).joined(separator: " AND ") + " LIMIT 2",
            arguments: list.arguments)
    }

    /// The terms that name a row, or `nil` where a constant part of its key is another.
    func identity(of key: SubscriptionKey, _ list: inout ArgumentList) -> [String]? {
        var terms: [String] = []
        for field in TableMapping.key {
            let text = Self.part(field, of: key)
            switch mapping.columns[field] {
            case .constant(let constant):
                guard constant == text else { return nil }
            case .column(let name, let form):
                guard let stored = mapping.stored(text, of: field) else { return nil }
                terms.append("\(column(name)) = \(list.mark(keyLiteral(stored, form: form)))")
            case .member, nil: return nil
            }
        }
        return terms
    }

    static func part(_ field: SubscriptionField, of key: SubscriptionKey) -> String {
        switch field {
        case .bundleID: key.bundleID
        case .environment: key.environment
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
        let same = mapping.keyColumns.map { "later.\(quoted($0.column)) = \(column($0.column))" }
        let name = quoted(latest)
        return [
            "NOT EXISTS (SELECT 1 FROM \(table) AS later WHERE "
                + (same + [
                    "(later.\(name) > t.\(name) OR (t.\(name) IS NULL AND later.\(name) IS NOT NULL))"
                ]).joined(separator: " AND ") + ")"
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
        case (.member(of: let name, path: let path, _), .sqlite):
            "CASE WHEN json_valid(\(column(name))) THEN CAST(json_extract(\(column(name)), "
                + Self.quotedText("$" + path.map { ".\"\($0)\"" }.joined()) + ") AS TEXT) END"
        // Only `jsonb` is certain to be JSON, and a cast of anything else would fail with the page.
        case (.member(of: let name, path: let path, _), .postgresql):
            "CASE WHEN pg_typeof(\(column(name))) = 'jsonb'::regtype THEN '\(MemberText.member)' || ("
                + column(name) + "::jsonb"
                + path.dropLast().map { "->" + Self.quotedText($0) }.joined()
                + "->>" + Self.quotedText(path.last ?? "") + ") ELSE '\(MemberText.document)' || "
                + column(name) + "::text END"
        }
    }

    /// The table's name in a statement.
    package var table: String {
        (mapping.table.schema.map { quoted($0) + "." } ?? "") + quoted(mapping.table.name)
    }

    /// What a run writes, as statements that change no row: the server checks the rights all the same.
    package var trials: [String] {
        let updated = mapping.updatedColumns.sorted().map { "\(quoted($0)) = \(quoted($0))" }
        let inserted = mapping.insertedColumns.sorted()
        var statements: [String] = []
        if !updated.isEmpty {
            statements.append(
                "UPDATE \(table) SET \(updated.joined(separator: ", ")) WHERE false")
        }
        if !inserted.isEmpty {
            let nothing = inserted.map { _ in "NULL" }.joined(separator: ", ")
            statements.append(
                "INSERT INTO \(table) (\(inserted.map(quoted).joined(separator: ", "))) "
                    + "SELECT \(nothing) WHERE false")
        }
        return statements
    }

    func column(_ name: String) -> String { "t." + quoted(name) }

    /// A name in a statement.
    package func quoted(_ name: String) -> String {
        "\"" + name.map { $0 == "\"" ? "\"\"" : String($0) }.joined() + "\""
    }

    static func quotedText(_ text: String) -> String {
        "'" + text.map { $0 == "'" ? "''" : String($0) }.joined() + "'"
    }

    private func tuple(_ parts: [String]) -> String {
        parts.count == 1 ? parts[0] : "(" + parts.joined(separator: ", ") + ")"
    }
}

/// How PostgreSQL returns a member of JSON: a letter that says what follows it.
package enum MemberText {
    /// What stands in the member.
    package static let member = "m"
    /// The whole column, in which the member is still to be looked for.
    package static let document = "d"
}

/// Values to bind, with the marks that stand for them.
struct ArgumentList {
    let dialect: MappedStatements.Dialect
    private(set) var arguments: [CompanyLiteral] = []

    init(dialect: MappedStatements.Dialect) { self.dialect = dialect }

    mutating func mark(_ value: CompanyLiteral) -> String {
        arguments.append(value)
        return (dialect == .sqlite ? "?" : "$") + String(arguments.count)
    }
}
