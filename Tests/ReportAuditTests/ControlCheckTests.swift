import Foundation
import ReportAudit
import TestSupport
import Testing

/// What the auditor finds in the control totals of a summary.
@Suite struct `The audit of the control totals` {
    private var correction: HandMadeReports.Correction {
        HandMadeReports.Correction(
            before: ["product_id": "basic", "status": 2],
            after: ["product_id": "pro.monthly", "status": 1], action: "update")
    }

    private func count(
        _ rows: [String: Int], _ prices: [String: (amount: Int, periods: Int)] = [:]
    ) -> [String: Any] {
        [
            "rows": rows,
            "prices": prices.mapValues { ["amount": $0.amount, "periods": $0.periods] },
        ]
    }

    /// Totals that hold: five active and three expired rows, of which one is corrected.
    private func app(
        previous: [String: Any]? = nil, previousRun: String? = nil,
        change: [String: Any] = [:]
    ) -> [String: Any] {
        let prices = ["EUR": (amount: 9_990, periods: 1)]
        let nothing = count([:])
        return [
            "app": "com.example.app", "environment": "Production",
            "previous": previous ?? NSNull() as Any,
            "previous_run_id": previousRun ?? NSNull() as Any,
            "uncounted_corrections": nothing,
            "others_since": previous == nil ? NSNull() as Any : nothing,
            "before": count(["1": 5, "2": 3], prices), "corrections": count(["1": 1, "2": -1]),
            "others_meanwhile": nothing, "after": count(["1": 6, "2": 2], prices),
            "judged": [
                "ours_before": count(["2": 1]), "apple": count(["1": 1]),
                "ours_after": count(["1": 1]),
            ],
        ].merging(change) { $1 }
    }

    private func problems(_ apps: [[String: Any]]?) async throws -> [String] {
        let reports = try HandMadeReports()
        try reports.addNight([correction], control: apps)
        return try await reports.audit().problems.filter { $0.contains("control_totals") }
    }

    @Test func `passes what holds, and reports without them`() async throws {
        #expect(try await problems(nil) == [])
        #expect(try await problems([]) == [])
        #expect(try await problems([app()]) == [])
        let others = count(["1": -1, "4": 1], ["EUR": (-9_990, -1), "JPY": (538_000, 1)])
        let after = count(["1": 5, "2": 2, "4": 1], ["JPY": (538_000, 1)])
        #expect(
            try await problems([app(change: ["others_meanwhile": others, "after": after])]) == [])
        let stranger = app(change: [
            "app": "com.example.old", "corrections": count([:]), "after": count(["5": 2]),
            "before": count(["5": 2]),
            "judged": ["ours_before", "apple", "ours_after"]
                .reduce(into: [String: Any]()) { $0[$1] = count([:]) },
        ])
        #expect(try await problems([app(), stranger]) == [])
    }

    @Test func `names what does not come to the next count or to another file`() async throws {
        let cases: [(change: [String: Any], problem: String)] = [
            (["after": count(["1": 7, "2": 1])], "are not after"),
            (["before": count(["1": 5, "2": 3], ["EUR": (9_000, 1)])], "are not after"),
            (["others_meanwhile": count(["1": 1])], "are not after"),
            (
                ["corrections": count([:]), "others_meanwhile": count(["1": 1, "2": -1])],
                "have other corrections than corrections.jsonl"
            ),
            (["others_since": count([:])], "are not before"),
            (["previous": count(["1": 5]), "others_since": count([:])], "are not before"),
            (["judged": ["ours_before": count(["2": 1])]], "on the two sides"),
            (
                [
                    "judged": [
                        "ours_before": count(["2": 2]), "apple": count(["1": 2]),
                        "ours_after": count(["1": 2]),
                    ]
                ], "only 1 match or differ"
            ),
            (["after": NSNull()], "without an end"),
            (["uncounted_corrections": NSNull()], "lack one of"),
            (
                [
                    "before": count(["1": -1, "2": 9]), "after": count(["1": 0, "2": 8]),
                ], "have a negative count"
            ),
        ]
        for (change, problem) in cases {
            let found = try await problems([app(change: change)])
            #expect(found.contains { $0.contains(problem) }, "\(problem): \(found)")
        }
        let twice = try await problems([app(), app()])
        #expect(twice.contains { $0.contains("twice") })
    }

    @Test func `a count begins with what the run before it ended with`() async throws {
        for (rows, isTampered) in [(["1": 6, "2": 2], false), (["1": 7, "2": 1], true)] {
            let reports = try HandMadeReports()
            try reports.addNight([correction], control: [app()])
            let first = try #require(reports.runs.first?.split(separator: "/").last)
            let ended = count(rows, ["EUR": (9_990, 1)])
            let quiet: [String: Any] = [
                "before": ended, "after": ended, "corrections": count([:]),
            ]
            try reports.addNight(
                [], control: [app(previous: ended, previousRun: String(first), change: quiet)])
            let found = try await reports.audit().problems
            #expect(found.contains { $0.contains("begin with other numbers") } == isTampered)
            // The report alone cannot show it.
            try reports.removeFirst()
            let alone = try await reports.audit().problems
            #expect(!alone.contains { $0.contains("control_totals") })
        }
    }
}
