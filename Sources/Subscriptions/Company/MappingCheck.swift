/// Whether a mapping holds against a table as its server describes it; SQLite's types are looser.
package struct MappingCheck {
    private let mapping: TableMapping
    private let table: CompanyTableDescription
    private let dialect: MappedStatements.Dialect

    package init(
        _ mapping: TableMapping, against table: CompanyTableDescription,
        for dialect: MappedStatements.Dialect
    ) {
        self.mapping = mapping
        self.table = table
        self.dialect = dialect
    }

    /// The first thing that does not hold, for the author of the mapping; `nil` where all does.
    package func problem(mayWrite: Bool) -> String? {
        guard table.rights.maySelect else { return "the user may not read it (GRANT SELECT)" }
        for (field, mapped) in mapping.read {
            if let problem = problem(of: mapped, for: field.name) { return problem }
        }
        if let version = mapping.versionColumn,
            let problem = problem(of: .column(version, .integer), for: "version")
        {
            return problem
        }
        let names = [mapping.latestBy].compactMap(\.self) + (mapping.inserts ?? [:]).keys.sorted()
        if let missing = names.first(where: { table.column($0) == nil }) {
            return Self.missing(missing)
        }
        return mayWrite ? problemOfWriting : nil
    }

    private func problem(of mapped: MappedColumn, for name: String) -> String? {
        guard let column = mapped.name else { return nil }
        guard let found = table.column(column) else {
            return Self.missing(column) + ", which is mapped to \(name)"
        }
        let type = Self.withoutPrecision(found.type)
        let holds: Bool
        let wanted: String
        switch mapped {
        case .column(_, let form):
            holds =
                form.isHeld(by: type, in: dialect)
                || (name == SubscriptionField.status.rawValue && wordsAreNumbers
                    && ColumnForm.integer.isHeld(by: type, in: dialect))
            wanted = form.typesInWords(in: dialect)
        case .member:
            holds =
                dialect == .mysql
                ? type == "json" || ColumnForm.mysqlTexts.contains(type)
                : ["json", "jsonb", "text", "character varying"].contains(type)
            wanted = dialect == .mysql ? "json or text" : "json, jsonb or text"
        case .constant: return nil
        }
        guard holds else {
            return "the column \"\(column)\" is of type \(found.type), and the mapping of \(name) "
                + "needs \(wanted)"
        }
        return nil
    }

    /// Whether the words for the status are numbers of the company's own.
    private var wordsAreNumbers: Bool {
        mapping.statusWords?.numbers.keys.allSatisfy { Int64($0) != nil } ?? false
    }

    private var problemOfWriting: String? {
        if let obstacle = mapping.obstacleToWriting(to: table) { return obstacle }
        if let denied = denied(mapping.updatedColumns, table.rights.updatable) {
            return "the user may not update \(denied) (GRANT UPDATE (\(denied)) ON \(table.name))"
        }
        if let denied = denied(mapping.insertedColumns, table.rights.insertable) {
            return "the user may not insert rows with \(denied), which the mapping allows "
                + "(GRANT INSERT (\(denied)) ON \(table.name))"
        }
        return nil
    }

    private func denied(_ columns: Set<String>, _ allowed: Set<String>) -> String? {
        let denied = columns.subtracting(allowed).sorted()
        let names = MappedStatements(mapping, for: dialect)
        return denied.isEmpty ? nil : denied.map(names.quoted).joined(separator: ", ")
    }

    private static func missing(_ column: String) -> String { "it has no column \"\(column)\"" }

    /// How much of a second columns of times keep, where it is less than milliseconds.
    package var precision: TimePrecision {
        var precision = TimePrecision()
        for (field, mapped) in mapping.read {
            guard case .column(let name, _) = mapped, let type = table.column(name)?.type,
                let digits = digits(of: type), digits < 3
            else { continue }
            precision.digits[field] = digits
        }
        return precision
    }

    /// The digits of a second's fraction that a type of times keeps; `nil` for any number, and for
    /// another type.
    private func digits(of type: String) -> Int? {
        let names = dialect == .mysql ? ["datetime", "timestamp"] : ["timestamp"]
        guard let name = names.first(where: type.hasPrefix) else { return nil }
        let rest = type.dropFirst(name.count)
        // MySQL keeps whole seconds where the type says nothing.
        guard rest.hasPrefix("(") else { return dialect == .mysql ? 0 : nil }
        return rest.dropFirst().first?.wholeNumberValue
    }

    /// `timestamp(3) with time zone` is `timestamp with time zone`.
    private static func withoutPrecision(_ type: String) -> String {
        guard let open = type.firstIndex(of: "("), let close = type.lastIndex(of: ")"),
            open < close
        else { return type }
        return String(type[..<open]) + type[type.index(after: close)...]
    }
}

extension ColumnForm {
    private static let texts = ["text", "character varying", "character", "citext"]
    fileprivate static let mysqlTexts = [
        "char", "varchar", "tinytext", "text", "mediumtext", "longtext",
    ]
    private static let numbers = ["bigint", "integer", "smallint", "numeric"]

    /// Whether a column of a type can be read and written in this form.
    fileprivate func isHeld(by type: String, in dialect: MappedStatements.Dialect) -> Bool {
        guard dialect != .mysql else { return isHeldInMySQL(by: type) }
        return switch self {
        // Types of the company's own, such as an enumeration, are text to us; a number never is: an
        // id or a word that became one is a change of the schema.
        case .text:
            !["boolean", "bytea", "json", "jsonb", "real", "double precision", "money", "date"]
                .contains(type) && !type.hasPrefix("timestamp") && !Self.numbers.contains(type)
        case .integer, .milliseconds, .seconds: Self.numbers.contains(type)
        case .timestamptz: type == "timestamp with time zone" || Self.texts.contains(type)
        case .timestamp: type == "timestamp without time zone" || Self.texts.contains(type)
        case .boolean: type == "boolean"
        case .uuid: type == "uuid" || Self.texts.contains(type)
        case .uuidBinary: false
        }
    }

    /// No form is one of a floating-point number: an id would lose its last digits.
    private func isHeldInMySQL(by type: String) -> Bool {
        let number = type.split(separator: " ").first.map(String.init) ?? ""
        let integers = ["tinyint", "smallint", "mediumint", "int", "bigint"]
        return switch self {
        case .text: Self.mysqlTexts.contains(type) || ["enum", "uuid"].contains(type)
        case .integer, .milliseconds, .seconds: (integers + ["decimal"]).contains(number)
        case .timestamptz: type == "timestamp" || Self.mysqlTexts.contains(type)
        // Every session of trueup's has the time zone UTC.
        case .timestamp(let clock):
            type == "datetime" || Self.mysqlTexts.contains(type)
                || (type == "timestamp" && clock == LocalClock(minutesEast: 0))
        case .boolean: integers.contains(number)
        case .uuid: type == "uuid" || Self.mysqlTexts.contains(type)
        case .uuidBinary: ["binary", "varbinary"].contains(type)
        }
    }

    fileprivate func typesInWords(in dialect: MappedStatements.Dialect) -> String {
        let isMySQL = dialect == .mysql
        return switch self {
        case .text:
            isMySQL
                ? "char, varchar, text or enum (for a number state form: integer)"
                : "text (for a number state form: integer)"
        case .integer, .milliseconds, .seconds: "a whole number (bigint, integer)"
        case .timestamptz: isMySQL ? "timestamp, or text" : "timestamp with time zone, or text"
        case .timestamp:
            isMySQL
                ? "datetime, or text (for timestamp state form: timestamptz)"
                : "timestamp without time zone, or text"
        case .boolean: isMySQL ? "tinyint(1)" : "boolean"
        case .uuid:
            isMySQL ? "uuid, or text (for binary(16) state form: uuid-binary)" : "uuid, or text"
        case .uuidBinary:
            isMySQL ? "binary(16)" : "a database of MySQL (elsewhere state form: uuid)"
        }
    }
}
