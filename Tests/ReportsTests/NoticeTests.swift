import Reports
import Subscriptions
import Testing

@Suite struct `The notice of a report` {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func `is not there for a whole job under Apple's root`() throws {
        _ = try folder.report()
        for name in try folder.names(in: "latest/") {
            #expect(try !folder.text("latest/" + name).contains("notice"), "\(name)")
        }
    }

    @Test func `names another root in every file that is made from the run`() throws {
        _ = try folder.report(context: Samples.rehearsal)
        // What is sealed or logged apart from the run, and hashed entries, whose actor the job
        // chooses.
        let exceptions = ["SHA256SUMS", "run.log.jsonl", "corrections.jsonl"]
        for name in try folder.names(in: "latest/") where !exceptions.contains(name) {
            let text = try folder.text("latest/" + name)
            #expect(text.contains(Samples.renewalDigest), "\(name)")
            // Its lines are wrapped; the other files have the sentence whole.
            if name != "summary.txt" { #expect(text.contains("not Apple's root"), "\(name)") }
        }
    }

    @Test func `states a narrowing in every line`() throws {
        var run = try Samples.run()
        run.runSummary.header.filters = ["limit 100", "shard 1/4"]
        _ = try folder.report(run)
        let findings = try folder.text("latest/discrepancies.csv").split(separator: "\r\n")
        #expect(findings[0].hasSuffix(",notice"))
        #expect(findings.dropFirst().allSatisfy { $0.hasSuffix(",limit 100; shard 1/4") })
        let lines = try folder.text("latest/evidence.jsonl").split(separator: "\n")
        #expect(!lines.isEmpty)
        #expect(lines.allSatisfy { $0.contains(#""notice":"limit 100; shard 1/4","sha256":"#) })
        #expect(
            try folder.text("latest/plan.json").contains(#""notice":"limit 100; shard 1/4""#))
    }
}
