import Reconciliation
import SubscriptionStore
import Subscriptions

/// Opens the company's own table, where the settings name one.
enum CompanyConnection {
    static func link(_ company: CompanySettings) throws(StoreError) -> CompanyLink? {
        guard let table = company.table else { return nil }
        return CompanyLink(
            try database(table.source, table.mapping), mapping: table.mapping)
    }

    /// The adapter for the kind of database that `store.url` names.
    static func database(
        _ source: CompanySource, _ mapping: TableMapping
    ) throws(StoreError) -> any CompanyDatabase {
        switch source {
        case .sqlite(let path): try SQLiteCompanyDatabase(path: path, mapping: mapping)
        }
    }

    /// The tables of such a database, before there is a mapping.
    static func schema(_ source: CompanySource) throws(StoreError) -> any CompanySchema {
        switch source {
        case .sqlite(let path): try SQLiteCompanySchema(path: path)
        }
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
