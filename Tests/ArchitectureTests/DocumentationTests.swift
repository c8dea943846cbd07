import Subscriptions
import TestSupport
import Testing

/// The tables of the documentation name exactly what the code has.
@Suite struct `Documentation` {
    @Test func `explains every kind of finding, once`() throws {
        let tables = try MarkdownPage("docs/findings.md").tables.filter { $0.head.first == "kind" }
        let rows = tables.flatMap(\.rows)
        #expect(
            rows.compactMap(\.first).sorted()
                == FindingKind.allCases.map { "`\($0.rawValue)`" }.sorted())
        for row in rows {
            #expect(row.count == 5 && row.allSatisfy { !$0.isEmpty }, "\(row)")
        }
    }

    @Test func `explains every exit status, once`() throws {
        let table = try #require(
            try MarkdownPage("docs/exit-statuses.md").table(headed: "code", "name"))
        let statuses = ExitStatus.allCases.sorted { $0.code < $1.code }
        #expect(table.column("code") == statuses.map { "\($0.code)" })
        #expect(table.column("name") == statuses.map(\.name))
        for row in table.rows {
            #expect(row.count == 3 && row.allSatisfy { !$0.isEmpty }, "\(row)")
        }
    }

    @Test func `says to the person on call what to do on every exit status`() throws {
        let page = try MarkdownPage("docs/on-call.md")
        let statuses = ExitStatus.allCases.sorted { $0.code < $1.code }
        let titles = statuses.map { "\($0.code): \($0.name)" }
        #expect(page.headings.filter { $0.contains(/^\d/) } == titles)
        for title in titles {
            #expect(page.section(title).contains(/\w/), "\(title)")
        }
    }

    @Test func `explains every column of the three tables, in their order`() throws {
        let page = try MarkdownPage("docs/columns.md")
        let tables = page.tables.filter { $0.head.first == "column" }
        #expect(tables.map(\.heading) == ["Subscriptions", "Transactions", "Purchases"])
        let subscriptions = try #require(tables.first)
        #expect(Self.described(subscriptions) == SubscriptionField.allCases.map(Self.described))
        for (table, rows) in zip(tables.dropFirst(), TransactionTable.allCases) {
            #expect(Self.described(table) == rows.fields.map(Self.described))
        }
        for row in tables.flatMap(\.rows) {
            #expect(row.count == 6 && row.allSatisfy { !$0.isEmpty }, "\(row)")
        }
    }

    @Test func `says which columns are cleared where Apple states nothing`() throws {
        let table = try #require(
            try MarkdownPage("docs/columns.md").table(headed: "cleared column"))
        let expected = SubscriptionField.allCases.filter { !$0.clearedIn.isEmpty }.map { field in
            [
                "`\(field.rawValue)`",
                field.clearedIn.map(\.rawValue).sorted().map(String.init).joined(separator: ", "),
            ]
        }
        #expect(table.rows.map { Array($0.prefix(2)) } == expected)
    }

    @Test func `explains every guard`() throws {
        let table = try #require(try MarkdownPage("docs/guards.md").table(headed: "guard"))
        #expect(
            table.column("guard").sorted()
                == GuardName.liftable.map { "`\($0.rawValue)`" }.sorted())
    }

    /// What the page says of its columns, without what only people can judge.
    private static func described(_ table: MarkdownPage.Table) -> [[String]] {
        table.rows.map { row in
            [0, 1, 3, 4].compactMap { row.indices.contains($0) ? row[$0] : nil }
        }
    }

    private static func described<Field: RowColumn>(_ field: Field) -> [String] {
        let definition = field.definition
        let form =
            switch definition.content {
            case .text: "text"
            case .id: "id"
            case .name: "name"
            case .integer: "integer"
            case .flag: "0 or 1"
            case .time: "time"
            }
        return [
            "`\(field.rawValue)`", form, field.isStated ? "yes" : "no",
            definition.isGovernable ? "yes" : "no",
        ]
    }
}
