import SubscriptionStore
import Subscriptions

/// Whether the ledger beside the company's own table has what the books have.
enum CompanyLedgerLook: Hashable, Sendable {
    case agrees(table: String)
    /// It lacks entries: every run ends with 78 until that is declared.
    case lacksEntries(String)
    /// The company's database could not be read.
    case notLookedAt(String)

    /// - Parameters:
    ///   - company: What the settings say of the table; without one there is nothing to look at.
    ///   - books: The database, with its own ledger.
    ///   - path: Where that is.
    /// - Returns: `nil` without a table of the company's own.
    static func look(
        at company: CompanySettings, beside books: SQLiteStore, at path: String
    ) async -> CompanyLedgerLook? {
        guard let table = company.table else { return nil }
        do throws(StoreError) {
            guard let link = try CompanyConnection.link(company, booksAt: path) else { return nil }
            return try await books.gap(inLedgerOf: link).map(Self.lacksEntries)
                ?? .agrees(table: table.mapping.table.description)
        } catch {
            return .notLookedAt(error.description)
        }
    }

    var status: ExitStatus {
        if case .lacksEntries = self { .config } else { .ok }
    }

    var text: String {
        switch self {
        case .agrees(let table):
            "The ledger beside your table \(table) has the newest entry of the books."
        case .lacksEntries(let problem): problem
        case .notLookedAt(let reason):
            "The ledger beside your table was not looked at: \(reason)"
        }
    }

    var json: CanonicalJSON {
        let word =
            switch self {
            case .agrees: "agrees"
            case .lacksEntries: "lacks_entries"
            case .notLookedAt: "not_looked_at"
            }
        return .object(["detail": .string(text), "outcome": .string(word)])
    }
}
