import Subscriptions
import TestSupport
import Testing

@testable import Reports

/// `docs/report-files.md` against what is written.
@Suite struct `The page of report files` {
    private let page: MarkdownPage

    init() throws {
        page = try MarkdownPage("docs/report-files.md")
    }

    @Test func `names every file, once`() throws {
        let written =
            ReportFile.all.map(\.name) + [ReportFile.log, ReportFile.manifest, ReportFile.sums]
        let table = try #require(page.table(headed: "file"))
        #expect(table.column("file").sorted() == written.map { "`\($0)`" }.sorted())
    }

    @Test func `names every column, in order`() {
        let columns = [
            "finding": Table.findings.columns.map(\.name),
            "correction": Table.changedFields.columns.map(\.name),
            "row that was not checked": Table.undecided.of(run: "").columns.map(\.name),
            "account that was not found": Table.notFound.of(run: "").columns.map(\.name),
            "notification": Table.notifications.of(run: "").columns.map(\.name),
            "day of business": Table.business.of(run: "").columns.map(\.name),
            "changed entitlement": Table.entitlements.of(run: "").columns.map(\.name),
            "purchase without a known owner": Table.unowned.of(run: "").columns.map(\.name),
            "index": RunIndex.Line.table.columns.map(\.name),
        ]
        let tables = page.tables.filter { $0.head.first == "column" }
        #expect(tables.count == columns.count)
        let events = page.tables.first { $0.head.first == "event" }?.column("event")
        let named = events?.joined(separator: ", ").split(separator: ", ").map(String.init) ?? []
        #expect(named.sorted() == BusinessEventKind.allCases.map { "`\($0.rawValue)`" }.sorted())
        for (record, names) in columns {
            let article = record == "index" ? "the" : record.hasPrefix("a") ? "an" : "a"
            let table = tables.first { $0.heading == "Columns of \(article) \(record)" }
            #expect(table?.column("column") == names.map { "`\($0)`" }, "\(record)")
        }
    }
}
