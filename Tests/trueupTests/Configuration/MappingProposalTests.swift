import Foundation
import Subscriptions
import TestSupport
import Testing
import Yams
import trueup

/// Which of a company's tables is proposed, and what it is told beside that.
@Suite struct `A proposed mapping` {
    private func table(
        _ name: String, isView: Bool = false, key: [String] = [], ends: String = "timestamptz",
        more: [String] = []
    ) -> CompanyTableDescription {
        let columns =
            [("otid", "text"), ("sku", "text"), ("ends_at", ends), ("status", "text")]
            + more.map { ($0, "text") }
        return CompanyTableDescription(
            name: CompanyTableName(name: name), isView: isView,
            columns: columns.map {
                CompanyColumn(name: $0.0, type: $0.1, isNullable: true, hasDefault: false)
            },
            primaryKey: key, indexes: [],
            rights: CompanyRights(maySelect: true, updatable: [], insertable: []))
    }

    private func proposal(_ tables: CompanyTableDescription...) throws -> String {
        try #require(MappingProposal(tables, url: "sqlite:shop.sqlite").text)
    }

    @Test func `is of the table, before views and copies of it`() throws {
        let text = try proposal(
            table("active", isView: true), table("backup"), table("subs", key: ["otid"]))
        #expect(text.contains("    table: subs\n"), "\(text)")
        #expect(text.contains("# Such an id is in other tables as well: backup, active."))
        #expect(!text.contains("is a view"))
        _ = try SettingsText.settings(SettingsText.production + "\n" + text)
    }

    @Test func `is of the table with more of what is needed`() throws {
        let text = try proposal(
            table("subs", key: ["otid"]), table("whole", isView: true, more: ["user_id"]))
        #expect(text.contains("    table: whole\n"), "\(text)")
        #expect(text.contains("# whole is a view, so only jobs with mode: check can use it."))
    }

    @Test(arguments: ["\n", "\r", "\u{85}", "\u{2028}", "\t", "\u{1B}[2J"])
    func `has each name in one line, whatever the name holds`(end: String) throws {
        let evil = "note" + end + "  insert: yes" + end + "x:"
        let text = try proposal(
            table("subs", key: ["otid"], ends: "timestamptz" + end + "y: z", more: [evil]),
            table("copy" + end + "mode: apply"))
        let lines = text.split(separator: "\n")
        #expect(!lines.contains { $0.hasPrefix("mode:") || $0.hasPrefix("y:") }, "\(text)")
        #expect(!lines.contains { $0.hasPrefix("  insert:") }, "\(text)")
        #expect(!text.contains("\u{85}") && !text.contains("\u{1B}"), "\(text)")
        _ = try SettingsText.settings(SettingsText.production + "\n" + text)
        // As a column that is mapped, it is quoted so that YAML reads the same name.
        let named = try proposal(table("subs" + end + "a", key: ["otid"]))
        let node = try #require(
            try Yams.compose(yaml: named)?["store"]?["subscriptions"]?["table"]?.string)
        #expect(node == "subs" + end + "a", "\(named)")
    }

    @Test func `leaves out a column of days, which no form reads`() throws {
        let text = try proposal(table("subs", ends: "date"))
        #expect(text.contains("# expires_date: ends_at holds days"), "\(text)")
        let settings = try SettingsText.settings(SettingsText.production + "\n" + text)
        #expect(settings.company.mapping?.columns[.expiresDate] == nil)
    }

    @Test(arguments: ["cancelled_at", "CancellationDate"])
    func `leaves to a person whether a cancellation is a refund`(name: String) throws {
        let text = try proposal(table("subs", more: [name]))
        let settings = try SettingsText.settings(SettingsText.production + "\n" + text)
        #expect(settings.company.mapping?.columns[.revocationDate] == nil, "\(text)")
        let comment = "      # revocation_date: {column: \(name), form: timestamptz}  # text; only"
        #expect(text.contains(comment), "\(text)")
        #expect(text.contains("# never read or written: \(name)"), "\(text)")
        let both = try proposal(table("subs", more: [name, "refunded_at"]))
        let known = try SettingsText.settings(SettingsText.production + "\n" + both)
        #expect(
            known.company.mapping?.columns[.revocationDate] == .column("refunded_at", .timestamptz))
    }

    @Test(arguments: [
        ("expires_at", "form: milliseconds}  # or seconds?"),
        ("expires", "form: seconds}  # or milliseconds?"),
        ("expires_ms", "form: milliseconds}  # int"),
    ])
    func `says of a whole number that its unit is a guess`(name: String, words: String) throws {
        let columns = [("otid", "text"), ("status", "text"), (name, "integer")]
        let text = try proposal(
            CompanyTableDescription(
                name: CompanyTableName(name: "subs"), isView: false,
                columns: columns.map {
                    CompanyColumn(name: $0.0, type: $0.1, isNullable: true, hasDefault: false)
                },
                primaryKey: ["otid"], indexes: [],
                rights: CompanyRights(maySelect: true, updatable: [], insertable: [])))
        #expect(text.contains("      expires_date: {column: \(name), \(words)"), "\(text)")
        _ = try SettingsText.settings(SettingsText.production + "\n" + text)
    }

    @Test func `leaves the books where they are by default`() throws {
        let url = "postgres://trueup@localhost/billing"
        let text = try #require(MappingProposal([table("subs", key: ["otid"])], url: url).text)
        let settings = try SettingsText.settings(SettingsText.production + "\n" + text)
        #expect(settings.company.booksName == "main", "\(text)")
        #expect(text.contains("  # books: postgres:main"))
    }

    /// A table of transactions that may be refunded.
    private func orders(more: [String] = []) -> CompanyTableDescription {
        let columns =
            ["store_transaction_id", "user_id"].map { ($0, "bigint") }
            + ["sku", "note"].map { ($0, "text") }
            + (["bought_at", "refunded_at"] + more).map { ($0, "timestamp with time zone") }
        return CompanyTableDescription(
            name: CompanyTableName(name: "orders"), isView: false,
            columns: columns.map {
                CompanyColumn(name: $0.0, type: $0.1, isNullable: true, hasDefault: false)
            },
            primaryKey: ["store_transaction_id"], indexes: [],
            rights: CompanyRights(maySelect: true, updatable: [], insertable: []))
    }

    @Test func `has a table of one-time purchases as comments`() throws {
        let text = try proposal(table("subs", key: ["otid"]), orders())
        let asItIs = try SettingsText.settings(SettingsText.production + "\n" + text)
        #expect(asItIs.company.mapping?.purchases == nil)
        let parts = text.components(separatedBy: "have them checked as well:\n")
        try #require(parts.count == 2, "\(text)")
        let unmarked = parts[1].replacingOccurrences(
            of: "(?m)^  # ", with: "  ", options: .regularExpression)
        let settings = try SettingsText.settings(
            SettingsText.production + "\n" + parts[0] + "\n" + unmarked)
        let purchases = try #require(settings.company.mapping?.purchases, "\(unmarked)")
        let mapped = Set(purchases.columns.keys.map(\.name))
        #expect(
            mapped == [
                "transaction_id", "bundle_id", "environment", "customer_id", "product_id",
                "purchase_date", "revocation_date",
            ])
    }

    @Test func `has no purchases where transactions have an end`() throws {
        let text = try proposal(table("subs", key: ["otid"]), orders(more: ["expires_at"]))
        #expect(!text.contains("purchases:"), "\(text)")
    }
}
