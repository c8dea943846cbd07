import Subscriptions
import Testing

@testable import Reports

/// What the summary of a check shows of its plan.
@Suite struct `The excerpt of a plan` {
    private func period(_ number: Int) -> PlannedCorrection {
        var correction = Samples.insert
        let fields: [TransactionField] = TransactionField.ofPeriods
        correction.target = .insertPeriod(
            TransactionKey(
                bundleID: "com.example.app", environment: "Production",
                transactionID: "3000000000000\(number)"),
            of: Samples.key("2000000000000002"))
        correction.changes = .period(
            fields.reduce(into: [:]) { changes, field in
                let value: FieldValue =
                    field.rawValue.hasSuffix("_date")
                    ? .time(Samples.started) : .text("a value of some length \(field.rawValue)")
                changes[field] = FieldChange(before: .null, after: value)
            })
        return correction
    }

    private func text(of planned: [PlannedCorrection]) throws -> String {
        let folder = try TemporaryFolder()
        var run = try Samples.run()
        run.corrections = []
        run.planned = planned.map { ($0, .planned) }
        var context = Samples.context
        context.isPlanOnly = true
        _ = try folder.report(run, context: context)
        return try folder.text("latest/summary.txt")
    }

    private func firstLines(_ text: String) -> [Substring] {
        let block = text.split(separator: "\nPLAN\n").last?.split(separator: "\n\n").first ?? ""
        return block.split(separator: "\n").filter { line in
            ["  ~ ", "  + ", "  - "].contains { line.hasPrefix($0) }
        }
    }

    @Test func `shows changed rows first, then new ones, then periods`() throws {
        let periods = (0..<30).map(period)
        let text = try text(of: periods + [Samples.insert] + periods + [Samples.update])
        let lines = firstLines(text)
        try #require(lines.count == 20)
        #expect(lines[0].hasPrefix("  ~ 2000000000000001 "))
        #expect(lines[1].hasPrefix("  + 2000000000000002 status 1"))
        #expect(lines.dropFirst(2).allSatisfy { $0.contains(" period 3000000000000") })
        #expect(text.contains("\n  42 more: `trueup show plan "))
        #expect(text.contains("transactions 60 inserted"))
    }

    @Test func `shows what fixes a finding before what fills, with the finding's column first`()
        throws
    {
        var fill = Samples.update
        fill.kinds = []
        var mend = Samples.update
        mend.kinds = [.revocationDate]
        mend.changes = .subscription([
            .appAccountToken: FieldChange(before: .null, after: .text("t")),
            .revocationDate: FieldChange(before: .time(Samples.started), after: .null),
        ])
        let lines = firstLines(
            try text(of: Array(repeating: fill, count: 25) + [mend, Samples.insert]))
        #expect(lines[0].hasPrefix("  ~ 2000000000000001 revocation_date 2026"), "\(lines[0])")
        #expect(lines[1].hasPrefix("  + "))
        #expect(lines.count == 20)
    }

    @Test func `takes two lines for a change, however many columns it has`() throws {
        let lines = try text(of: [period(1)]).split(separator: "\n")
        let start = try #require(lines.firstIndex { $0.hasPrefix("  + ") })
        let taken = lines[start...].dropFirst().prefix { $0.hasPrefix("      ") }.count + 1
        #expect(taken <= 2)
        let words = lines[start..<(start + taken)].joined(separator: " ")
        #expect(words.contains("product_id "))
        #expect(words.contains("expires_date 2026-11-20T03:17:04.000Z"))
        #expect(words.contains("more columns"))
        #expect(words.contains("because missing_locally"))
    }

    @Test func `leaves the date of signing to the whole plan`() throws {
        var correction = Samples.update
        correction.changes = .subscription([
            .status: FieldChange(before: .integer(2), after: .integer(1)),
            .signedDate: FieldChange(before: .null, after: .time(Samples.started)),
        ])
        let text = try text(of: [correction])
        #expect(text.contains("status 2 → 1, 1 more column; because"))
        #expect(!text.contains("signed_date"))
        #expect(
            correction.line(fate: .planned).contains("signed_date (none) → "))
    }
}
