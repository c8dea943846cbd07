import Subscriptions

/// Reading the fields of a record by the columns of a table, in whose order they stand.
extension RecordBuffer {
    /// Reads every column but the key's into a row.
    ///
    /// - Parameters:
    ///   - columns: All of them, in their order; made once for all rows.
    ///   - row: Gets the values.
    /// - Throws: What is wrong with a field.
    func read<Row, Statement>(
        _ columns: [ColumnDefinition<Row, Statement>], into row: inout Row
    ) throws(BadField) {
        for index in columns.indices {
            if case .key = columns[index].place { continue }
            columns[index].place.set(try value(index, columns[index].content), in: &row)
        }
    }

    func requiredID<Field: NamedColumn>(_ field: Field) throws(BadField) -> String {
        try requiredID(Self.place(of: field))
    }

    func text<Field: NamedColumn>(_ field: Field) throws(BadField) -> String? {
        try text(Self.place(of: field))
    }

    func name<Field: NamedColumn>(_ field: Field) throws(BadField) -> String? {
        try name(Self.place(of: field))
    }

    func time<Field: NamedColumn>(_ field: Field) throws(BadField) -> Timestamp? {
        try time(Self.place(of: field))
    }

    private static func place<Field: NamedColumn>(of field: Field) -> Int {
        for (index, column) in Field.allCases.enumerated() where column == field { return index }
        return 0
    }

    private func value(
        _ index: Int, _ content: ColumnContent
    ) throws(BadField) -> FieldValue {
        switch content {
        case .text: FieldValue(try text(index))
        case .id: FieldValue(try id(index))
        case .name: FieldValue(try name(index))
        case .integer(let range, let problem):
            FieldValue(try integer(index, in: range, problem))
        case .flag: FieldValue(try boolean(index))
        case .time: FieldValue(try time(index))
        }
    }
}

/// What to say about a column that there is not.
enum ColumnSuggestion {
    private static let options = "(--map COLUMN=OURS says what one means, --ignore leaves it out)"

    /// What to say about unknown names, all of them, so that a person need not try one after the other.
    static func unknown(
        _ unknown: [String], among names: [String], called what: String = "column"
    ) -> String {
        let suggestions = unknown.map { NearestName.suggestion(for: $0, among: names) }
        let named = zip(unknown, suggestions).map { name, nearest in
            BadField.quoted(name.utf8) + (nearest.map { "; did you mean \"\($0)\"?" } ?? "")
        }
        let lacksOne = suggestions.contains { $0 == nil }
        let known = lacksOne ? "; known are \(names.joined(separator: ", "))" : ""
        guard unknown.count > 1 else {
            return "unknown \(what) " + (named.first ?? "") + "\(known) \(options)"
        }
        return "\(unknown.count) unknown \(what)s: " + named.joined(separator: ", ")
            + "\(known) \(options)"
    }
}
