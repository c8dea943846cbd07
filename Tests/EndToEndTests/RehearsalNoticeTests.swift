import Foundation
import TestSupport
import Testing

@Suite struct `A rehearsal under another root` {
    @Test func `says so in everything that it leaves, the ledger too`() throws {
        let simulator = try RunningSimulator(
            ["--customers", "60", "--seed", "9", "--drift", "0.3"])
        let place = try Workplace(on: simulator)
        try #require(try place.run("init", "--quiet").status == 0)
        try #require(
            try place.run("import", try #require(simulator.ready.tableFile)).status == 0)
        let run = try place.run("run", "nightly")
        #expect(run.status == 2, "\(run.errors)")
        #expect(run.output.contains("Roots    rehearsal: trusts "))
        let corrections = try place.reportLines("corrections.jsonl")
        #expect(!corrections.isEmpty)
        for correction in corrections {
            let actor = correction["actor"] as? String ?? ""
            #expect(actor.hasSuffix("not Apple's root)"), "\(actor)")
        }
        for name in ["discrepancies.jsonl", "evidence.jsonl", "run.log.jsonl", "plan.json"] {
            #expect(try place.report(name).contains("not Apple's root"), "\(name)")
        }
    }
}
