/// A table of the job's own books, as far as another database must know it to keep its rows.
package struct BooksTable: Hashable, Sendable {
    /// As SQLite has it, such as `trueup_runs`.
    package var name: String
    package var columns: [BooksColumn]
    /// The columns of the primary key, in its order.
    package var key: [String]

    package init(name: String, columns: [BooksColumn], key: [String]) {
        self.name = name
        self.columns = columns
        self.key = key
    }

    /// The key of one of its rows.
    package func key(of row: [BooksValue]) -> [BooksValue] {
        key.compactMap { name in
            columns.firstIndex { $0.name == name }
                .flatMap { row.indices.contains($0) ? row[$0] : nil }
        }
    }
}

/// A column of the books.
package struct BooksColumn: Hashable, Sendable {
    /// The type that SQLite declares.
    package enum Form: String, Hashable, Sendable {
        case integer = "INTEGER"
        case real = "REAL"
        case text = "TEXT"
        case blob = "BLOB"
    }

    package var name: String
    package var form: Form

    package init(name: String, form: Form) {
        self.name = name
        self.form = form
    }
}

/// A value of the books, by SQLite's storage classes (sqlite.org/datatype3.html).
package enum BooksValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])

    /// Whether it is what a column of this form is declared to hold.
    package func fits(_ form: BooksColumn.Form) -> Bool {
        switch (self, form) {
        case (.null, _), (.integer, .integer), (.real, .real), (.text, .text), (.blob, .blob):
            true
        default: false
        }
    }
}

/// The change of one table by one transaction of trueup's database.
package struct BooksChange: Hashable, Sendable {
    package var table: BooksTable
    /// Rows as they are now, new or not; values in the order of the columns.
    package var rows: [[BooksValue]]
    /// The keys of rows that are gone; values in the order of the key.
    package var deleted: [[BooksValue]]

    package init(table: BooksTable, rows: [[BooksValue]] = [], deleted: [[BooksValue]] = []) {
        self.table = table
        self.rows = rows
        self.deleted = deleted
    }
}

/// Which state of the books a database holds.
package struct BooksState: Hashable, Sendable {
    /// The database's own number of the set of books.
    package var number: Int
    /// The identity of the books, which their ledger and reports carry.
    package var identity: String
    /// Rises by one with every transaction.
    package var generation: Int64
    /// A name that the last transaction alone has: where an earlier state is put back and continues
    /// another way, numbers come again, names do not.
    package var transaction: String
    /// The version of the books' schema whose rows these are.
    package var schema: Int

    package init(
        number: Int, identity: String, generation: Int64, transaction: String, schema: Int
    ) {
        self.number = number
        self.identity = identity
        self.generation = generation
        self.transaction = transaction
        self.schema = schema
    }
}
