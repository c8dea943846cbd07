/// How the company's own table is read and written as ours: its names, forms and words.
///
/// It says nothing of SQL: `MappedStatements` makes that for each kind of database.
package struct TableMapping: Hashable, Sendable {
    package var table: CompanyTableName
    /// Where each of our columns stands; what is not named is not kept.
    ///
    /// The three columns of the key are always there, as columns or as constants.
    package var columns: [SubscriptionField: MappedColumn]
    /// The company's words for a status; `nil` where the column holds Apple's numbers.
    package var statusWords: StatusWords?
    /// Apple's environment for each of the company's words, one word for each; `nil` where the column
    /// holds Apple's own.
    package var environmentWords: [String: String]?
    /// A whole number that every write of the company's raises; `nil` for none.
    package var versionColumn: String?
    /// Whether rows may be inserted, and with which values besides the mapped ones; `nil` for never.
    package var inserts: [String: InsertedConstant]?
    /// The column whose greatest value marks the row of a subscription, where the table has one row
    /// for each transaction; `nil` where it has one row for each subscription.
    package var latestBy: String?

    package init(
        table: CompanyTableName, columns: [SubscriptionField: MappedColumn],
        statusWords: StatusWords? = nil, versionColumn: String? = nil,
        inserts: [String: InsertedConstant]? = nil, latestBy: String? = nil
    ) {
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
    package static let key: [SubscriptionField] = [.bundleID, .environment, .originalTransactionID]

    /// The columns of the company's that are read, in our order.
    package var read: [(field: SubscriptionField, column: MappedColumn)] {
        SubscriptionField.allCases.compactMap { field in
            columns[field].map { (field, $0) }
        }
    }

    /// The part of the key that the company keeps in columns, in the order of the walk.
    package var keyColumns: [(field: SubscriptionField, column: String, form: ColumnForm)] {
        Self.key.compactMap { field in
            guard case .column(let name, let form) = columns[field] else { return nil }
            return (field, name, form)
        }
    }

    /// Our columns whose values a correction can write.
    package var writable: Set<SubscriptionField> {
        Set(columns.filter { $0.value.isWritable }.keys).subtracting(Self.key)
    }

    /// The company's columns that a correction of a row that is there can change.
    ///
    /// Whose customer a row is, nobody but the company says.
    package var updatedColumns: Set<String> {
        let corrected = writable.subtracting([.customerID]).compactMap { columns[$0]?.name }
        return Set(corrected + [versionColumn].compactMap(\.self))
    }

    /// The company's columns that an inserted row is given; none where none may be inserted.
    package var insertedColumns: Set<String> {
        guard let inserts else { return [] }
        return Set(
            (keyColumns.map(\.column) + writable.compactMap { columns[$0]?.name }) + inserts.keys)
    }

    /// Columns that Apple states and the company does not keep: nothing is judged by them.
    ///
    /// `signed_date` is our own bookkeeping, and stands beside the rows wherever they are.
    package var notKept: Set<SubscriptionField> {
        Set(SubscriptionField.allCases.filter { $0.isStated && columns[$0] == nil })
            .subtracting([.signedDate])
    }

    /// Columns that Apple states, and that are judged but never written.
    package var readOnly: Set<SubscriptionField> {
        Set(columns.filter { $0.key.isStated && !$0.value.isWritable }.keys)
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
    /// The same value in every row; the company has no column for it.
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
    /// A whole number; ids are kept so, too.
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

/// A value that an inserted row gets in a column of the company's that is not mapped.
package enum InsertedConstant: Hashable, Sendable {
    case text(String)
    case integer(Int64)
    case boolean(Bool)
    case null
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
    /// What of a table itself keeps corrections from being written, whatever the rights are.
    ///
    /// - Parameter table: As its database describes it.
    /// - Returns: The obstacle and what mends it, to go on after the table's name; `nil` for none.
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
            + "name the column that it is made of, leave it out of `store.subscriptions`, or set "
            + "mode: check"
    }
}
