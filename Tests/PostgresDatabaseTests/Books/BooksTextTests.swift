import Foundation
import Subscriptions
import Testing

@testable import PostgresDatabase

/// Rows of the books on their way to PostgreSQL and back.
@Suite struct `Rows of books as text` {
    private static func table(_ name: String) -> BooksTable {
        BooksTable(
            name: name,
            columns: [
                BooksColumn(name: "id", form: .text), BooksColumn(name: "n", form: .integer),
                BooksColumn(name: "share", form: .real), BooksColumn(name: "rest", form: .blob),
            ], key: ["id"])
    }

    /// What PostgreSQL would give of a row that was sent as JSON.
    private func texts(_ row: [BooksValue], of table: BooksTable) throws -> [String?] {
        let text = BooksText(table: table)
        let objects = try JSONSerialization.jsonObject(
            with: Data(text.json(of: [row]).utf8))
        let object = try #require((objects as? [[String: Any]])?.first)
        return text.columns.map { name in
            switch object[name] {
            case let string as String: string
            case let number as NSNumber: number.stringValue
            default: nil
            }
        }
    }

    @Test(arguments: [
        "", "plain", "with \"quotes\" and \\ and / and a tab\t and a line\n",
        "a NUL \u{0} inside", "\u{1A}", "\u{1A}0 \u{1A}1 \u{0}0", "grüße 🎉 \u{7F} \u{1F}",
        "\\u0000 as six characters",
    ])
    func `come back as they were, whatever the text`(text: String) throws {
        let table = Self.table("trueup_x")
        let row: [BooksValue] = [.text(text), .integer(.min), .real(0.1), .blob([0, 255, 16])]
        let sent = try texts(row, of: table)
        #expect(!sent.contains { $0?.utf8.contains(0) == true })
        #expect(BooksText(table: table).row(sent) == row)
    }

    @Test func `come back with what is not there`() throws {
        let table = Self.table("trueup_x")
        let row: [BooksValue] = [.text("a"), .null, .null, .null]
        #expect(try BooksText(table: table).row(texts(row, of: table)) == row)
    }

    @Test(arguments: [
        [BooksValue.text("a"), .text("nobody\u{0} knows"), .null, .null],
        [.blob([0xC3, 0x28]), .integer(7), .integer(3), .text("b")],
        [.text("a"), .real(1.5), .null, .blob([])],
    ])
    func `of the company's table keep what its columns are not declared to hold`(
        row: [BooksValue]
    ) throws {
        let table = Self.table("subscriptions")
        #expect(try BooksText(table: table).row(texts(row, of: table)) == row)
    }

    @Test func `of our own tables hold nothing of the kind`() {
        let text = BooksText(table: Self.table("trueup_x"))
        #expect(throws: BooksText.Misfit.self) {
            try text.json(of: [[.text("a"), .text("b"), .null, .null]])
        }
    }

    @Test(arguments: [
        ["a"], ["a", "x", nil, nil], ["a", "1", "x", nil], ["a", "1", "1", "\\x0"],
        ["a", "1", "1", "\\xzz"],
    ])
    func `that another program wrote are not guessed at`(texts: [String?]) {
        #expect(BooksText(table: Self.table("trueup_x")).row(texts) == nil)
    }

    @Test func `stand in tables of our schema by the names that SQLite has`() {
        #expect(BooksSchema.table("trueup_pass_rows") == "trueup.books_pass_rows")
        #expect(BooksSchema.table("subscriptions") == "trueup.books_subscriptions")
        #expect(BooksSchema.table("sqlite_sequence") == "trueup.books_sequences")
    }
}
