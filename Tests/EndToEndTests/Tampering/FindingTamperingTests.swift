import Foundation
import TestSupport
import Testing

/// The newest run's findings, edited in every file that repeats them, with each digest made anew.
@Suite(.serialized, .timeLimit(.minutes(30)))
struct `A finding of the newest run that was edited and sealed again` {
    private static let nights = Result { try Nights() }

    private struct Nights: Sendable {
        let folder: TemporaryFolder

        var reports: URL { folder.url.appendingPathComponent("reports") }
        var root: String { folder.url.appendingPathComponent("root").path }

        init() throws {
            let simulator = try RunningSimulator([
                "--customers", "120", "--drift", "0.6", "--seed", "23",
            ])
            let place = try Workplace(on: simulator)
            try place.writeJob("nightly", "settle: 0s")
            try #require(place.run("init").status == 0)
            try #require(place.run("import", try #require(simulator.ready.tableFile)).status == 0)
            _ = try place.run("run", "nightly")
            folder = try TemporaryFolder()
            try FileManager.default.copyItem(
                at: place.folder.url.appendingPathComponent("reports"), to: reports)
            try FileManager.default.copyItem(atPath: simulator.ready.rootFile, toPath: root)
        }
    }

    /// Edits the first finding of a kind, in the JSON Lines and in the CSV.
    private func edited(_ kind: String, _ member: String, _ value: Any) throws -> ForgedReports {
        let reports = try ForgedReports(copyOf: try Self.nights.get().reports)
        var findings = try reports.objects(0, "discrepancies.jsonl")
        let place = try #require(
            findings.firstIndex { $0["kind"] as? String == kind }, "no finding of \(kind)")
        findings[place][member] = value
        if member == "amount", findings[place]["amount_milliunits"] != nil {
            findings[place]["amount_milliunits"] = value
        }
        try reports.writeObjects(findings, 0, "discrepancies.jsonl")
        try reports.editLines(0, "discrepancies.csv") { lines in
            let columns = lines[0].replacing("\r", with: "").split(separator: ",").map(String.init)
            lines[place + 1] =
                columns.map { column in
                    switch findings[place][column] {
                    case nil, is NSNull: ""
                    case let text as String: text.contains(",") ? "\"\(text)\"" : text
                    case let other?: "\(other)"
                    }
                }.joined(separator: ",") + "\r"
        }
        try reports.relink(from: 0)
        return reports
    }

    private func verify(_ reports: ForgedReports) throws -> BuiltExecutable.Result {
        try BuiltExecutable("trueup").run(
            [
                "verify", reports.directory.path, "--trusted-root", try Self.nights.get().root,
            ], in: reports.folder.url)
    }

    @Test func `passes where the value is the same`() throws {
        for kind in ["missing_locally", "wrong_app", "notification_missed"] {
            let reports = try edited(kind, "kind", kind)
            let result = try verify(reports)
            #expect(result.status == 0, "\(kind): \(result.output)")
        }
    }

    @Test(arguments: [
        ("missing_locally", "apple_value", "9x", "its apple_value is not a status"),
        ("missing_locally", "product_id", "gold.forever", "its product_id is"),
        ("missing_locally", "transaction_id", "2999999999999999", "not of its transaction_id"),
        ("missing_locally", "apple_as_of", "2031-01-01T00:00:00.000Z", "is after Apple signed"),
        ("missing_locally", "action", "none", "its action is none, but its state is corrected"),
        ("wrong_app", "apple_value", "com.example.third", "its apple_value is"),
        ("wrong_app", "local_value", "com.example.third", "its local_value is not its app"),
        ("wrong_app", "original_transaction_id", "2999999999999999", "its evidence is about"),
        ("notification_missed", "apple_value", "TEST", "its apple_value is"),
        (
            "notification_missed", "field", "00000000-0000-4000-8000-000000000000",
            "not of its field"
        ),
        ("access_missing", "amount", "1", "is not the price that Apple signed"),
        ("expiry", "currency", "XYZ", "is not the price that Apple signed"),
    ])
    func `is found`(kind: String, member: String, value: String, problem: String) throws {
        let reports = try edited(kind, member, Int(value) ?? value)
        let result = try verify(reports)
        #expect(result.status == 7, "\(result.output)")
        #expect(
            result.output.contains("discrepancies.jsonl:") && result.output.contains(problem),
            "\(result.output)")
    }

    /// What no signature covers is named where an auditor reads it: in the output and in the folder.
    @Test(arguments: [
        ("discrepancies.jsonl", "cause"), ("discrepancies.jsonl", "first_seen"),
    ])
    func `or is named as what no check can show`(file: String, member: String) throws {
        let reports = try edited("wrong_app", member, "2020-01-01T00:00:00.000Z")
        let result = try verify(reports)
        #expect(result.status == 0, "\(result.output)")
        #expect(result.output.contains(member), "\(result.output)")
        #expect(try reports.text(0, "README.txt").contains("\"\(member)\""))
        let page = try String(
            contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appendingPathComponent("../../../docs/verify.md"), encoding: .utf8)
        #expect(page.contains("`\(member)`"))
    }
}
