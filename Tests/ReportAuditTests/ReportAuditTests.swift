import Foundation
import ReportAudit
import TestSupport
import Testing

/// What the nights of a simulator do not show: ledgers that go back, repeat and begin late.
@Suite struct `The audit of a hand-made report` {
    private typealias Correction = HandMadeReports.Correction

    private static var product: Correction {
        Correction(before: ["product_id": "basic"], after: ["product_id": "pro.monthly"])
    }

    @Test func `passes what the contract describes`() async throws {
        let reports = try HandMadeReports()
        try reports.addNight([Self.product])
        try reports.addNight([])
        try reports.addNight([
            Correction(
                before: ["auto_renew_status": 0, "signed_date": NSNull()],
                after: ["auto_renew_status": 1, "signed_date": HandMadeReports.signedDate])
        ])
        let (result, problems, _) = try await reports.audit()
        #expect(problems == [])
        #expect(result.runs == 3)
        #expect(result.counts.reverifiedCorrections == 2)
        #expect(result.counts.roots == [reports.chain.rootFingerprint])
    }

    @Test func `holds a period against its payload`() async throws {
        for (price, isRight) in [(9990, true), (1, false)] {
            let reports = try HandMadeReports()
            try reports.addNight([
                Correction(
                    table: "transactions",
                    before: ["price": NSNull(), "transaction_id": NSNull()],
                    after: ["price": price, "transaction_id": "2000000000000009"])
            ])
            let problems = try await reports.audit().problems
            #expect(problems.isEmpty == isRight)
            #expect(problems.contains { $0.contains("its price is 1") } == !isRight)
        }
    }

    @Test func `holds what was filled in of a period against its payload`() async throws {
        let cases: [(before: Any, price: Int, problem: String?)] = [
            (NSNull(), 9990, nil), ("", 9990, nil), (NSNull(), 1, "its price is 1"),
            (1, 9990, "its price was not empty"),
        ]
        for (before, price, problem) in cases {
            let reports = try HandMadeReports()
            try reports.addNight([
                Correction(
                    table: "transactions", before: ["price": before], after: ["price": price],
                    action: "update")
            ])
            let problems = try await reports.audit().problems
            #expect(problems.isEmpty == (problem == nil), "\(problems)")
            #expect(problem.map { text in problems.contains { $0.contains(text) } } ?? true)
        }
    }

    @Test(arguments: [true, false])
    func `holds what takes a filled period back against what was filled in`(
        isRight: Bool
    ) async throws {
        let price: Any = isRight ? NSNull() : 5
        let reports = try HandMadeReports()
        try reports.addNight([
            Correction(
                table: "transactions", before: ["price": NSNull()], after: ["price": 9990],
                action: "update")
        ])
        try reports.addNight([
            Correction(
                table: "transactions", before: ["price": 9990], after: ["price": price], undoOf: 1,
                action: "update")
        ])
        let problems = try await reports.audit().problems
        #expect(problems.isEmpty == isRight, "\(problems)")
    }

    @Test(arguments: [("basic", true), ("gold", false)])
    func `holds an entry that takes another back against that one`(
        product: String, isRight: Bool
    ) async throws {
        let reports = try HandMadeReports()
        try reports.addNight([Self.product])
        try reports.addNight([
            Correction(
                before: ["product_id": "pro.monthly"], after: ["product_id": product], undoOf: 1)
        ])
        let (result, problems, _) = try await reports.audit()
        #expect(problems.isEmpty == isRight)
        #expect(problems.contains { $0.contains("does not go back") } == !isRight)
        #expect(result.counts.reverifiedCorrections == 1)
    }

    /// What the hand-made payloads give: paid until 1 December, no charge failed.
    private static var derivation: [String: Any] {
        let fields: [(String, Any)] = [
            ("signedDate", HandMadeReports.signedDate), ("expiresDate", "2025-12-01T17:03:45.000Z"),
            ("renewalDate", NSNull()), ("revocationDate", NSNull()),
            ("revocationType", NSNull()), ("isUpgraded", false),
            ("isInBillingRetryPeriod", NSNull()), ("gracePeriodExpiresDate", NSNull()),
        ]
        let told = fields.map { name, value in
            "\(name) \(value is NSNull ? "none" : "\(value)")"
        }
        return [
            "derivation": "status 1: expiresDate is after signedDate ("
                + told.joined(separator: ", ") + ")",
            "derived_status": 1, "fields": Dictionary(uniqueKeysWithValues: fields), "status": 1,
        ]
    }

    private static var status: Correction {
        Correction(before: ["status": 2], after: ["status": 1], action: "update")
    }

    @Test func `passes a status that follows from the signed fields`() async throws {
        let reports = try HandMadeReports()
        try reports.addNight([Self.status], derivations: [Self.derivation])
        // Older reports state no derivation.
        try reports.addNight([Self.status])
        let (result, problems, _) = try await reports.audit()
        #expect(problems == [])
        #expect(result.counts.reverifiedCorrections == 2)
    }

    @Test(arguments: [
        ("derived_status", "2", "from the signed fields follows 1"),
        ("status", "2", "its status is not the one that was written"),
        ("derivation", "\"status 1: so it is\"", "its derivation is not what"),
        ("fields", "null", "its fields are not what Apple signed"),
        ("ledger_entry", "7", "its ledger_entry is not that of the correction"),
    ])
    func `holds the derivation of a status against its payloads`(
        member: String, value: String, problem: String
    ) async throws {
        let reports = try HandMadeReports()
        var line = Self.derivation
        line[member] = try JSONSerialization.jsonObject(
            with: Data(value.utf8), options: [.fragmentsAllowed])
        try reports.addNight([Self.status], derivations: [line])
        let problems = try await reports.audit().problems
        #expect(problems.count == 1)
        #expect(
            problems.contains { $0.contains("derivations.jsonl:1") && $0.contains(problem) },
            "\(problems)")
    }

    @Test func `finds a derivation that is left out, or one too many`() async throws {
        for lines in [[], [Self.derivation, Self.derivation]] {
            let reports = try HandMadeReports()
            let corrections =
                lines.isEmpty
                ? [Self.status] : [Self.status, Self.product]
            try reports.addNight(corrections, derivations: lines)
            #expect(
                try await reports.audit().problems.contains { $0.contains("derivations.jsonl") })
        }
    }

    @Test func `says when the entry that is taken back is out of sight`() async throws {
        let reports = try HandMadeReports()
        try reports.addNight([Self.product])
        try reports.addNight([
            Correction(
                before: ["product_id": "pro.monthly"], after: ["product_id": "basic"], undoOf: 1)
        ])
        try FileManager.default.removeItem(atPath: reports.directory + "/" + reports.runs[0])
        let (_, problems, notes) = try await reports.audit()
        #expect(problems == [])
        #expect(notes.contains { $0.contains("which is in none of these folders") })
        #expect(notes.contains { $0.contains("retention") })
    }

    @Test func `lets a run report again what a killed one had reported`() async throws {
        let reports = try HandMadeReports()
        try reports.addNight([Self.product, Self.product])
        try reports.addNight([
            Correction(before: [:], after: [:], repeats: 2), Self.product,
        ])
        #expect(try await reports.audit().problems == [])
    }

    @Test func `lets the newest run wait for its line in the index`() async throws {
        let reports = try HandMadeReports()
        try reports.addNight([Self.product])
        try reports.addNight([], isListed: false)
        let (_, problems, notes) = try await reports.audit()
        #expect(problems == [])
        #expect(notes.contains { $0.contains("stopped at the last step") })
        // Without the draft nobody was about to list it.
        try FileManager.default.removeItem(atPath: reports.directory + "/index.csv.partial")
        #expect(
            try await reports.audit().problems.contains { $0.contains("is not listed") })
    }

    @Test func `lists a hundred problems of a run and counts the rest`() async throws {
        let reports = try HandMadeReports()
        try reports.addNight([])
        let lines = String(repeating: "no JSON\n", count: 500)
        try reports.folder.write(lines, to: "reports/\(reports.runs[0])/discrepancies.jsonl")
        let (result, problems, _) = try await reports.audit()
        #expect(problems.count == ProblemList.kept)
        #expect(result.counts.problems.count > 500)
    }

    @Test(arguments: ["abc", String(repeating: "G", count: 64)])
    func `refuses an anchor that is no digest`(anchor: String) throws {
        let trust = try AuditTrust(certificateFiles: [])
        #expect(throws: AuditFailure.self) { try ReportAudit(trust: trust, anchors: [anchor]) }
        #expect(throws: AuditFailure.self) { try AuditTrust(certificateFiles: [[1, 2, 3]]) }
    }
}
