import Foundation
import GRDB
import TestSupport
import Testing

/// A run that is killed after its corrections, whose corrections another run reports before it is resumed.
@Suite(.serialized, .timeLimit(.minutes(30))) struct `Corrections that another report lists` {
    /// Corrected rows, and whether a run has ended.
    private func state(_ place: PreparedPlace) throws -> (corrections: Int, hasEnded: Bool) {
        let database = try DatabaseQueue(
            path: place.folder.appendingPathComponent("trueup.sqlite").path)
        defer { try? database.close() }
        return try database.read { db in
            (
                try Int.fetchOne(db, sql: "SELECT count(*) FROM trueup_ledger") ?? 0,
                try Bool.fetchOne(
                    db, sql: "SELECT EXISTS (SELECT 1 FROM trueup_runs WHERE ended IS NOT NULL)")
                    ?? true
            )
        }
    }

    /// The place of a nightly run that was killed after its last correction and before its end.
    private func killed(_ origin: PreparedPlace, corrections: Int) throws -> PreparedPlace? {
        let steps = try DurableSteps()
        let reference = try origin.copy()
        defer { reference.remove() }
        let total = try steps.count(.sync, of: ["run", "nightly"], in: reference.folder).steps
        // The first step before which every correction is written.
        var (first, last) = (1, total)
        while first < last {
            let middle = (first + last) / 2
            let copy = try origin.copy()
            defer { copy.remove() }
            _ = try steps.killed(at: middle, ["run", "nightly"], in: copy.folder)
            if try state(copy).corrections == corrections {
                last = middle
            } else {
                first = middle + 1
            }
        }
        let copy = try origin.copy()
        let killed = try steps.killed(at: first, ["run", "nightly"], in: copy.folder)
        let state = try state(copy)
        guard killed.status == 137, state.corrections == corrections, !state.hasEnded else {
            copy.remove()
            return nil
        }
        return copy
    }

    @Test func `are past in the words of the run that resumes, and counted apart`() throws {
        let simulator = try RunningSimulator([
            "--customers", "6", "--drift", "0.6", "--seed", "5",
        ])
        let place = try Workplace(on: simulator)
        try place.writeJob("nightly", "settle: 0s\nfail_on: none", steps: "[walk]")
        try place.writeJob("audit", "settle: 0s\nfail_on: none", steps: "[walk]", mode: "check")
        try #require(place.run("init").status == 0)
        try #require(place.run("import", try #require(simulator.ready.tableFile)).status == 0)
        let origin = PreparedPlace(folder: place.folder.url)
        let reference = try origin.copy()
        defer { reference.remove() }
        try #require(reference.run(["run", "nightly"]).status == 0)
        let corrections = try state(reference).corrections
        try #require(corrections > 0)
        let copy = try #require(try killed(origin, corrections: corrections))
        defer { copy.remove() }
        // The next run of any job reports what was written.
        let audit = try copy.run(["check", "audit"])
        #expect(audit.status == 0, "\(audit.output)\(audit.errors)")
        let resumed = try copy.run(["run", "nightly"])
        #expect(resumed.status == 0, "\(resumed.output)\(resumed.errors)")
        let words = resumed.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.contains("rows differed;"), "\(resumed.output)")
        #expect(
            words.contains("\(corrections) corrections written and reported by a run before"),
            "\(resumed.output)")
        #expect(!words.contains("to correct"), "\(resumed.output)")
        let summary = try #require(
            try JSONSerialization.jsonObject(
                with: Data(
                    contentsOf: copy.folder.appendingPathComponent("reports/latest/summary.json")))
                as? [String: Any])
        #expect(summary["corrections_reported_before"] as? Int == corrections)
        let verified = try copy.run(["verify"])
        #expect(verified.status == 0, "\(verified.output)")
    }
}
