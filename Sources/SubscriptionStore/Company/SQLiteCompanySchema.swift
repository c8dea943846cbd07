import Foundation
import GRDB
package import Subscriptions

/// The schema of a company's SQLite file, before there is a mapping.
package struct SQLiteCompanySchema: CompanySchema {
    private let path: String
    private let connection: DatabaseQueue

    package init(path: String) throws(StoreError) {
        self.path = path
        connection = try SQLiteCompanyDatabase.connect(path)
    }

    package func tables() throws(StoreError) -> [CompanyTableDescription] {
        let isWritable = DatabaseFile(path: path).isWritable
        return try StoreError.translating("reading the schema of \(path)") {
            try connection.read { db in try db.companyTables(isWritable: isWritable) }
        }
    }

    package func words(
        of column: String, in table: CompanyTableName
    ) throws(StoreError) -> [String] {
        try StoreError.translating("reading words of \(path)") {
            try connection.read { db in
                try db.texts(MappedStatements.words(of: column, in: table, for: .sqlite))
            }
        }
    }
}

extension Database {
    /// The tables and views of a company's file: all of its own, or the one with a name.
    ///
    /// A view over a table that is gone, or a table of a module that this program lacks, has no
    /// columns to tell of: it is left out of the list, and a failure where it is the one asked for.
    func companyTables(
        named name: String? = nil, isWritable: Bool
    ) throws -> [CompanyTableDescription] {
        try Row.fetchAll(
            self,
            sql: """
                SELECT name, type FROM sqlite_master
                WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
                    AND CASE WHEN ?1 IS NULL THEN name NOT LIKE 'trueup\\_%' ESCAPE '\\'
                        ELSE name = ?1 END
                ORDER BY name
                """,
            arguments: [name]
        ).compactMap { row in
            do {
                return try companyTable(
                    row.requiredText(at: 0), isView: row.text(at: 1) == "view",
                    isWritable: isWritable)
            } catch let error as DatabaseError
                where error.resultCode == .SQLITE_ERROR && name == nil
            {
                return nil
            }
        }
    }

    private func companyTable(
        _ name: String, isView: Bool, isWritable: Bool
    ) throws -> CompanyTableDescription {
        let found = try Row.fetchAll(
            self,
            sql: """
                SELECT name, type, "notnull", dflt_value, pk, hidden FROM pragma_table_xinfo(?)
                WHERE hidden <> 1 ORDER BY cid
                """,
            arguments: [name])
        let columns = found.map { row in
            CompanyColumn(
                name: row.requiredText(at: 0), type: row.requiredText(at: 1).lowercased(),
                isNullable: row.integer(at: 2) == 0, hasDefault: row.text(at: 3) != nil,
                // Computed when it is read, or when it is stored.
                isGenerated: [2, 3].contains(row.integer(at: 5)))
        }
        let primaryKey = found.filter { ($0.integer(at: 4) ?? 0) > 0 }
            .sorted { ($0.integer(at: 4) ?? 0) < ($1.integer(at: 4) ?? 0) }
            .map { $0.requiredText(at: 0) }
        let indexes = try Row.fetchAll(
            self, sql: #"SELECT name, "unique", partial FROM pragma_index_list(?)"#,
            arguments: [name]
        ).map { row in
            CompanyIndex(
                columns: try String?.fetchAll(
                    self, sql: "SELECT name FROM pragma_index_info(?) ORDER BY seqno",
                    arguments: [row.requiredText(at: 0)]
                ).map { $0 ?? "" },
                isUnique: row.integer(at: 1) == 1, isWhole: row.integer(at: 2) == 0)
        }
        let writable: Set = isWritable ? Set(columns.map(\.name)) : []
        return CompanyTableDescription(
            name: CompanyTableName(name: name), isView: isView, columns: columns,
            primaryKey: primaryKey, indexes: indexes,
            rights: CompanyRights(maySelect: true, updatable: writable, insertable: writable))
    }
}

/// How SQLite prefers to store the values of a column, by its declared type.
enum SQLiteAffinity {
    case any, text, integer, real, numeric
    /// Declared as a number, where others of its affinity are dates.
    case decimal

    init(of type: String) {
        let type = type.uppercased()
        self =
            if type.contains("INT") {
                .integer
            } else if ["CHAR", "CLOB", "TEXT"].contains(where: type.contains) {
                .text
            } else if type.isEmpty || type.contains("BLOB") {
                .any
            } else if ["REAL", "FLOA", "DOUB"].contains(where: type.contains) {
                .real
            } else if ["NUMERIC", "DECIMAL", "NUMBER"].contains(where: type.contains) {
                .decimal
            } else {
                .numeric
            }
    }

    func holds(_ form: ColumnForm) -> Bool {
        switch form {
        case .text, .uuid, .timestamptz, .timestamp: ![.integer, .real, .decimal].contains(self)
        case .integer, .milliseconds, .seconds: self != .text
        case .boolean: self != .real
        // trueup reads every column as text.
        case .uuidBinary: false
        }
    }
}
