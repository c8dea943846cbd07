/// What a change means for the row as it stands.
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
    /// Every value that is replaced is compared twice: as ours with the change's, and in the
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
        _ standing: FieldValue, _ read: FieldValue, in field: SubscriptionField
    ) -> Bool {
        (standing.isEmpty && read.isEmpty) || mapping.isReading(standing, of: read, in: field)
    }

    private func update(_ change: CompanyChange, standing: [String?]) -> MappedWrite {
        let spelling = spelling(in: standing)
        let fields = SubscriptionField.allCases.filter {
            change.after[$0] != nil && mapping.writable.contains($0)
        }
        guard !fields.isEmpty else { return .nothing }
        if mapping.latestBy != nil, fields.contains(.latestTransactionID) {
            return insertNext(change, standing: standing, spelling: spelling)
        }
        var list = ArgumentList(dialect: dialect)
        var sets: [String] = []
        for field in fields {
            guard case .column(let name, _) = mapping.columns[field],
                let literal = mapping.literal(
                    change.after[field] ?? .null, in: field, spelling: spelling)
            else { return .refused(noForm(of: field, change.after[field] ?? .null)) }
            sets.append("\(quoted(name)) = \(list.mark(literal))")
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

    private func delete(_ change: CompanyChange, standing: [String?]) -> MappedWrite {
        guard mapping.latestBy == nil else {
            return .refused("the table has a row for each transaction; delete it by hand")
        }
        var list = ArgumentList(dialect: dialect)
        let fields = SubscriptionField.allCases.filter(mapping.writable.contains)
        guard let terms = unmoved(change, fields, standing, &list) else { return .stale }
        return .execute(
            MappedStatement(
                sql: "DELETE FROM \(table) AS t WHERE " + terms.joined(separator: " AND "),
                arguments: list.arguments))
    }

    /// The row of this key, as long as the given columns and the version are as they were read.
    private func unmoved(
        _ change: CompanyChange, _ fields: [SubscriptionField], _ standing: [String?],
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
        return terms + isLatest
    }

    private func insert(_ change: CompanyChange) -> MappedWrite {
        guard mapping.inserts != nil else {
            return .refused("`store.subscriptions.insert` does not allow rows to be inserted")
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
        of key: SubscriptionKey, _ values: [SubscriptionField: FieldValue], spelling: TimeSpelling
    ) -> MappedWrite {
        var list = ArgumentList(dialect: dialect)
        var names: [String] = []
        var marks: [String] = []
        for (field, name, form) in mapping.keyColumns {
            guard let text = mapping.stored(Self.part(field, of: key), of: field) else {
                return .refused("`store.subscriptions` has no word for \(key.environment)")
            }
            names.append(quoted(name))
            marks.append(list.mark(keyLiteral(text, form: form)))
        }
        for field in SubscriptionField.allCases where mapping.writable.contains(field) {
            guard let value = values[field], value != .null,
                case .column(let name, _) = mapping.columns[field]
            else { continue }
            guard let literal = mapping.literal(value, in: field, spelling: spelling) else {
                return .refused(noForm(of: field, value))
            }
            names.append(quoted(name))
            marks.append(list.mark(literal))
        }
        for (name, value) in (mapping.inserts ?? [:]).sorted(by: { $0.key < $1.key }) {
            names.append(quoted(name))
            marks.append(list.mark(value.literal))
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

    private func noForm(of field: SubscriptionField, _ value: FieldValue) -> String {
        if case .column(_, .timestamp(let clock)) = mapping.columns[field] {
            return "the column for \(field.rawValue) cannot hold \(value.plainText): the clock of "
                + "\(clock) shows that time twice"
        }
        return field == .status
            ? "`store.subscriptions.status` has no word for \(value.plainText)"
            : "the column for \(field.rawValue) cannot hold the value"
    }
}

extension InsertedConstant {
    var literal: CompanyLiteral {
        switch self {
        case .text(let text): .text(text)
        case .integer(let number): .integer(number)
        case .boolean(let truth): .boolean(truth)
        case .null: .null
        }
    }
}
