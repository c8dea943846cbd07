import Foundation
import TestSupport
import Testing

/// `jobs/rehearse` on a small fleet.
@Suite struct `A rehearsed fleet` {
    @Test func `is asked far less by delta, and nothing is found later than promised`() throws {
        let folder = try TemporaryFolder()
        let output = folder.url.appendingPathComponent("rehearsal.json")
        let result = try BuiltExecutable("fleet-rehearsal").run([
            "--customers", "180", "--nights", "6", "--seed", "3", "--output", output.path,
        ])
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        let record = try JSONDecoder().decode(Record.self, from: Data(contentsOf: output))
        #expect(record.missedGoals == [])
        #expect(record.saving >= 5, "\(result.output)")
        for kind in ["notification", "own_table", "clock"] {
            let drift = try #require(record.delta.drift[kind])
            #expect(drift.open == [], "\(kind)")
            #expect(drift.delays.allSatisfy { $0 == 0 }, "\(kind)")
        }
        #expect((record.delta.drift["notification"]?.found ?? 0) >= 5)
        #expect((record.delta.drift["own_table"]?.found ?? 0) >= 10)
        for night in record.delta.nights {
            #expect(night.coverage?.kind == "delta")
            #expect(night.boundHolds ?? true, "night \(night.night)")
        }
    }

    private struct Record: Decodable {
        var saving: Double
        var missedGoals: [String]
        var delta: Job

        enum CodingKeys: String, CodingKey {
            case saving, delta
            case missedGoals = "missed_goals"
        }
    }

    private struct Job: Decodable {
        var nights: [Night]
        var drift: [String: Drift]
    }

    private struct Night: Decodable {
        var night: Int
        var coverage: Coverage?
        var boundHolds: Bool?

        enum CodingKeys: String, CodingKey {
            case night, coverage
            case boundHolds = "bound_holds"
        }
    }

    private struct Coverage: Decodable { var kind: String }

    private struct Drift: Decodable {
        var found: Int
        var delays: [Int]
        var open: [Int]
    }
}
