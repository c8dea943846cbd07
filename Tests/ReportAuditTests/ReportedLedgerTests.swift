import Foundation
import ReportAudit
import TestSupport
import Testing

/// What the reports of a folder show of single entries of the ledger.
@Suite struct `The ledger in reports` {
    private static var product: HandMadeReports.Correction {
        HandMadeReports.Correction(
            before: ["product_id": "basic"], after: ["product_id": "pro.monthly"])
    }

    /// The lines of a run's file.
    private func lines(_ name: String, of run: String, in reports: HandMadeReports) throws
        -> [[String: Any]]
    {
        let path = reports.directory + "/" + run + "/" + name
        return try String(decoding: Data(contentsOf: URL(filePath: path)), as: UTF8.self)
            .split(separator: "\n").map { line in
                try #require(
                    try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            }
    }

    @Test func `says which run shows an entry, and gives its payloads`() throws {
        let reports = try HandMadeReports()
        try reports.addNight([Self.product])
        try reports.addNight([Self.product, Self.product])
        let ledger = try ReportedLedger(reports.directory)
        for (run, numbers) in zip(reports.runs, [1...1, 2...3]) {
            let entries = try lines("corrections.jsonl", of: run, in: reports)
            let payloads = try lines("evidence.jsonl", of: run, in: reports)
            #expect(entries.compactMap { $0["ledger_entry"] as? Int } == Array(numbers))
            for entry in entries {
                let number = Int64(try #require(entry["ledger_entry"] as? Int))
                let hash = try #require(entry["ledger_hash"] as? String)
                let shower = try #require(ledger.report(showingEntry: number, hash: hash))
                #expect(shower.runID == entry["run_id"] as? String)
                for payload in payloads {
                    let digest = try #require(payload["sha256"] as? String)
                    let jws = try #require(payload["jws"] as? String)
                    #expect(ledger.payload(digest, shownBy: shower) == .jws(jws))
                }
                #expect(
                    ledger.payload(String(repeating: "0", count: 64), shownBy: shower) == nil)
            }
        }
    }

    @Test func `does not take an entry for another one with its number`() throws {
        let reports = try HandMadeReports()
        try reports.addNight([Self.product])
        let ledger = try ReportedLedger(reports.directory)
        #expect(ledger.report(showingEntry: 1, hash: String(repeating: "a", count: 64)) == nil)
        #expect(ledger.report(showingEntry: 2, hash: String(repeating: "a", count: 64)) == nil)
    }
}
