import Foundation
import Subscriptions
import Testing

@testable import Reports

/// What a page gives its reader to write down, and what a printer does with its tables.
@Suite struct `The proof on a page` {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func page(_ run: StoredRun) throws -> String {
        let path = try folder.report(run).path
        return String(
            decoding: try Data(contentsOf: URL(fileURLWithPath: path + "/report.html")),
            as: UTF8.self)
    }

    @Test func `names the head of the ledger as an anchor`() throws {
        let run = try Samples.run()
        let head = run.runSummary.ledgerHead
        let page = try page(run)
        #expect(page.contains("trueup verify --anchor \(head)"))
        #expect(page.contains("one of these two"))
    }

    /// What stands for the head of an empty ledger is in every chain.
    @Test func `offers no anchor that every chain passes`() throws {
        var run = try Samples.run()
        run.runSummary.ledgerHead = LedgerEntry.firstPreviousHash
        let page = try page(run)
        #expect(!page.contains("--anchor 000"))
        #expect(page.contains("trueup verify --anchor DIGEST"))
        #expect(page.contains("sha256sum manifest.json"))
        #expect(!page.contains("one of these two"))
    }

    @Test func `keeps the head of a table with its first row on paper`() throws {
        let page = try page(try Samples.run())
        let print = try #require(page.range(of: "@media print"))
        #expect(page[print.lowerBound...].contains("break-inside:avoid;break-after:avoid"))
    }
}
