import Foundation
import TestSupport
import Testing

@testable import ReportAudit

/// Comparisons of sums put together by hand from docs/report-files.md.
@Suite struct `The audit of a comparison of sums` {
    /// Audits a report with one difference, whose 5 lines are on one side of the totals.
    private func problems(
        _ kind: String, apple: Int, different: Int = 0, onlyTheirs: Int = 0
    ) async throws -> [String] {
        let folder = try TemporaryFolder()
        let zeros = String(repeating: "0", count: 64)
        let shared = """
            "ended":"2026-11-26T03:20:00.000Z","outcome":{"exit_status":2,"name":"findings"},\
            "run_id":"20261126T031704Z-000001","started":"2026-11-26T03:17:04.000Z",\
            "tool_version":"1"
            """
        try folder.write(
            """
            {"apps":[],"files":[{"bytes":0,"lines":0,"name":"report.html","sha256":"\(zeros)"}],\
            "findings":1,"format":1,"ledger_head":"\(zeros)","mode":"compare","previous":null,\
            "totals":{"discrepant":\(different + onlyTheirs),"excluded":0,"in_scope":7,\
            "matched":2,"undecided":0},"trusted_roots":[],\(shared)}
            """, to: "manifest.json")
        try folder.write(
            """
            {"counts":[{"differences":1,"kind":"\(kind)"}],"differences":1,"not_compared":{},\
            "totals":{"different":\(different),"lines":7,"matched":2,"not_compared":0,\
            "only_apple":0,"only_theirs":\(onlyTheirs)},\(shared)}
            """, to: "summary.json")
        try folder.write(
            #"{"apple":\#(apple),"evidence":null,"kind":"\#(kind)","lines":5,"theirs":40}"# + "\n",
            to: "differences.jsonl")
        try folder.write("kind\r\n\(kind)\r\n", to: "differences.csv")
        try folder.write("", to: "evidence.jsonl")
        let path = folder.url.path
        let problems = ProblemsOfTest()
        let run = RunFolder(
            path: path, name: "run",
            manifest: try ManifestRecord(ofFileAt: path + "/manifest.json"),
            trust: try AuditTrust(certificateFiles: []), apps: KnownApps(startingWith: nil),
            progress: AuditProgress())
        let check = CompareCheck(run: run) { file, _, text in
            problems.list.append("\(file): \(text)")
        }
        #expect(await check.check() == 1)
        return problems.list
    }

    private final class ProblemsOfTest {
        var list: [String] = []
    }

    @Test func `accepts too few rows of a product as a difference, and no row as only theirs`()
        async throws
    {
        #expect(try await problems("sales_active", apple: 3, different: 5) == [])
        #expect(try await problems("sales_population", apple: 35, different: 5) == [])
        #expect(try await problems("sales_population", apple: 0, onlyTheirs: 5) == [])
        // All rows of the product have another one by now, so no row has it.
        #expect(try await problems("sales_population", apple: 1, onlyTheirs: 5) == [])
    }

    @Test func `names totals that the list does not have`() async throws {
        let cases: [(kind: String, apple: Int, different: Int, onlyTheirs: Int)] = [
            ("sales_active", 3, 0, 5), ("sales_population", 0, 5, 0),
            ("sales_population", 35, 4, 0), ("sales_population", 35, 4, 2),
            ("sales_population", 35, 6, 0), ("sales_population", 35, 0, 6),
        ]
        for (kind, apple, different, theirs) in cases {
            let found = try await problems(
                kind, apple: apple, different: different, onlyTheirs: theirs)
            #expect(
                found.contains { $0.contains("its totals.") },
                "\(kind) \(apple) \(different) \(theirs): \(found)")
        }
    }
}
