import Subscriptions

/// Whether a mapping holds against a table as the server describes it.
struct MappingCheck {
    let mapping: TableMapping
    let table: CompanyTableDescription

    init(_ mapping: TableMapping, against table: CompanyTableDescription) {
        self.mapping = mapping
        self.table = table
    }

    /// The first thing that does not hold, for the author of the mapping; `nil` where all does.
    func problem(mayWrite: Bool) -> String? {
        guard table.rights.maySelect else { return "the user may not read it (GRANT SELECT)" }
        for (field, mapped) in mapping.read {
            if let problem = problem(of: mapped, for: field.rawValue) { return problem }
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
                form.isHeld(by: type)
                || (name == SubscriptionField.status.rawValue && wordsAreNumbers
                    && ColumnForm.integer.isHeld(by: type))
            wanted = form.typesInWords
        case .member:
            holds = ["json", "jsonb", "text", "character varying"].contains(type)
            wanted = "json, jsonb or text"
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
        if let denied = Self.denied(mapping.updatedColumns, table.rights.updatable) {
            return "the user may not update \(denied) (GRANT UPDATE (\(denied)) ON \(table.name))"
        }
        if let denied = Self.denied(mapping.insertedColumns, table.rights.insertable) {
            return "the user may not insert rows with \(denied), which the mapping allows "
                + "(GRANT INSERT (\(denied)) ON \(table.name))"
        }
        return nil
    }

    private static func denied(_ columns: Set<String>, _ allowed: Set<String>) -> String? {
        let denied = columns.subtracting(allowed).sorted()
        return denied.isEmpty ? nil : denied.map { "\"\($0)\"" }.joined(separator: ", ")
    }

    private static func missing(_ column: String) -> String { "it has no column \"\(column)\"" }

    /// How much of a second columns of times keep, where it is less than milliseconds.
    var precision: TimePrecision {
        var precision = TimePrecision()
        for (field, mapped) in mapping.read {
            guard case .column(let name, _) = mapped, let type = table.column(name)?.type,
                type.hasPrefix("timestamp("),
                let digits = type.dropFirst("timestamp(".count).first?.wholeNumberValue, digits < 3
            else { continue }
            precision.digits[field] = digits
        }
        return precision
    }

    /// `timestamp(3) with time zone` is `timestamp with time zone`.
    private static func withoutPrecision(_ type: String) -> String {
        guard let open = type.firstIndex(of: "("), let close = type.firstIndex(of: ")"),
            open < close
        else { return type }
        return String(type[..<open]) + type[type.index(after: close)...]
    }
}

extension ColumnForm {
    private static let texts = ["text", "character varying", "character", "citext"]
    private static let numbers = ["bigint", "integer", "smallint", "numeric"]

    /// Whether a column of a type of PostgreSQL can be read and written in this form.
    fileprivate func isHeld(by type: String) -> Bool {
        switch self {
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
        }
    }

    fileprivate var typesInWords: String {
        switch self {
        case .text: "text (for a number state form: integer)"
        case .integer, .milliseconds, .seconds: "a whole number (bigint, integer)"
        case .timestamptz: "timestamp with time zone, or text"
        case .timestamp: "timestamp without time zone, or text"
        case .boolean: "boolean"
        case .uuid: "uuid, or text"
        }
    }
}
