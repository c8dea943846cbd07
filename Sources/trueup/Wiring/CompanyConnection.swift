import PostgresDatabase
import Reconciliation
import SubscriptionStore
import Subscriptions

/// Opens the company's own table, where the settings name one.
enum CompanyConnection {
    /// - Parameters:
    ///   - company: What the settings say of it.
    ///   - path: The books, which must be there: entries in another database carry their identity.
    /// - Returns: `nil` where the rows stand in our own table.
    /// - Throws: `StoreError` where this build has no such database.
    static func link(
        _ company: CompanySettings, booksAt path: String
    ) throws(StoreError) -> CompanyLink? {
        guard let table = company.table else { return nil }
        return CompanyLink(
            try database(table.source, table.mapping, booksAt: path), mapping: table.mapping)
    }

    /// The adapter for the kind of database that `store.url` names; without books it only reads.
    static func database(
        _ source: CompanySource, _ mapping: TableMapping, booksAt path: String? = nil
    ) throws(StoreError) -> any CompanyDatabase {
        switch source {
        case .sqlite(let file):
            try SQLiteCompanyDatabase(
                path: file, mapping: mapping,
                books: try path.map { path throws(StoreError) in
                    LedgerOwner(identity: try identity(ofBooksAt: path), path: path)
                })
        case .postgresql(let address):
            PostgresCompany(
                try .libpq(address), mapping: mapping,
                books: try path.map { path throws(StoreError) in
                    try identity(ofBooksAt: path)
                } ?? "")
        }
    }

    /// The tables of such a database, before there is a mapping.
    static func schema(_ source: CompanySource) throws(StoreError) -> any CompanySchema {
        switch source {
        case .sqlite(let path): try SQLiteCompanySchema(path: path)
        case .postgresql(let address): PostgresSchema(try .libpq(address))
        }
    }

    static func identity(ofBooksAt path: String) throws(StoreError) -> String {
        try SQLiteStore.open(at: path, access: .readOnly).databaseIdentity()
    }
}

extension Policy {
    /// Judges by what the company's own table keeps, and by no periods: it has none in our form.
    mutating func keep(as company: CompanySettings) {
        guard let mapping = company.mapping else { return }
        kept = KeptColumns(mapping)
        reportOnlyFields.formUnion(mapping.readOnly.map(\.rawValue))
        history = .never
    }
}

extension CompanySettings {
    /// How old the copy in the books is; `nil` where the rows stand in our own table.
    ///
    /// - Parameter store: The books.
    /// - Returns: Without a time before the first reading.
    /// - Throws: `StoreError` when the books cannot be read.
    func copy(in store: SQLiteStore) throws(StoreError) -> CopyState? {
        try store.copyState()
            ?? mapping.map {
                CopyState(table: $0.table.description, refreshedAt: nil, rows: nil)
            }
    }

    /// What a run says of a copy: what is not judged, and what was met when it was read.
    func remarks(after refresh: CopyRefresh?) -> [String] {
        guard let mapping, let refresh else { return [] }
        let left = SubscriptionField.allCases.filter(mapping.notKept.contains).map(\.rawValue)
        let notJudged =
            left.isEmpty
            ? []
            : [
                "Not judged, because \(mapping.table) does not keep it: "
                    + left.joined(separator: ", ") + "."
            ]
        return notJudged + refresh.remarks
    }
}

extension PostgresCompany: CompanyDatabase {}

extension PostgresSchema: CompanySchema {}
