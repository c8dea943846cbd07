import Foundation
import Subscriptions
import Testing

@testable import Reports

/// What the page says of a finding that nothing has resolved.
@Suite struct `Open findings on the page of a run` {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func page(_ findings: [ReportedFinding]) throws -> String {
        var run = StoredRun(runSummary: Samples.summary())
        run.findings = findings
        _ = try folder.report(run)
        return try folder.text("latest/report.html")
    }

    /// The cells of each row, lines parted by a stroke.
    private func rows(_ page: String) throws -> [[String]] {
        let table = try #require(
            page.firstMatch(of: /(?s)<caption>Open findings, worst first<\/caption>(.*?)<\/table>/))
        let body = try #require(table.1.firstMatch(of: /(?s)<tbody>(.*)<\/tbody>/))
        return body.1.matches(of: /(?s)<tr>(.*?)<\/tr>/).map { row in
            row.1.matches(of: /(?s)<t[hd][^>]*>(.*?)<\/t[hd]>/).map { cell in
                String(cell.1).replacing("<br>", with: " | ").replacing(/<[^>]*>/, with: "")
            }
        }
    }

    private var finding: ReportedFinding {
        var finding = Samples.finding
        finding.state = .recurring
        finding.findingID = "0123456789abcdef01234567"
        return finding
    }

    @Test func `stand on two lines, with an id that acknowledge takes`() throws {
        let page = try page([finding])
        #expect(
            try rows(page) == [
                [
                    "critical, recurring | 0123456789ab", "access_missing | 2000000000000001",
                    "pro.monthly | customer-1", "status, 9.99 USD | 2 → 1",
                    "2026-11-20 | abababababab",
                ]
            ])
        #expect(page.contains("trueup acknowledge ID --reason TEXT"))
    }

    @Test func `say no values where they are about none`() throws {
        let rows = try rows(try page([Samples.bareFinding]))
        #expect(
            rows == [
                ["info, new | f-2", "unknown_value | com.example.app", " | ", "", "2026-11-20"]
            ])
    }

    @Test func `keep ids whole, but for those of any length`() throws {
        var long = finding
        let customer = String(repeating: "c", count: 400)
        long.finding.customerID = customer
        let page = try page([long])
        for text in [
            "access_missing", "2000000000000001", "pro.monthly",
        ] {
            #expect(page.contains("<span class=\"keep\">\(text)</span>"), "\(text)")
        }
        #expect(page.contains("<code class=\"keep\">0123456789ab</code>"))
        #expect(page.contains("<br>\(customer)</td>"))
    }

    @Test func `scroll, where they must, in a region that a keyboard reaches`() throws {
        let page = try page([finding])
        #expect(
            page.ranges(of: "<div class=\"wide\" role=\"group\" tabindex=\"0\" aria-label=\"")
                .count
                == page.ranges(of: "<table").count)
    }
}
