import Foundation
import TestSupport
import Testing

/// What the auditor finds in `business.jsonl` without any other file to hold it against.
@Suite struct `The audit of the business` {
    /// A line of a day of November 2025; weekdays as the days from the 1st give them.
    private func line(
        _ day: Int, _ events: Any, read: String = "whole", _ change: [String: Any] = [:]
    ) -> [String: Any] {
        [
            "app": "com.example.app", "day": String(format: "2025-11-%02d", day),
            "day_read": read, "environment": "Production", "event": "renewal", "events": events,
            "falls_sharply": NSNull(), "product_id": "pro", "week_before": NSNull(),
            "weekdays_before": NSNull(), "weekdays_read": 0,
        ].merging(change) { $1 }
    }

    /// 40 on each of five Saturdays but the last.
    private func lines(last events: Int, _ change: [String: Any] = [:]) -> [[String: Any]] {
        let before: [String: Any] = [
            "week_before": 40, "weekdays_before": 160, "weekdays_read": 4, "falls_sharply": 0,
        ]
        return [
            line(1, 40), line(8, 40, ["week_before": 40]), line(15, 40, ["week_before": 40]),
            line(22, 40, ["week_before": 40]), line(29, events, before.merging(change) { $1 }),
        ]
    }

    private func line(_ day: Int, _ events: Any, _ change: [String: Any]) -> [String: Any] {
        line(day, events, read: "whole", change)
    }

    private func summary(_ events: Any) -> [String: Any] {
        [
            "day": "2025-11-29", "falls": [Any](),
            "apps": [
                [
                    "app": "com.example.app", "environment": "Production", "day_read": "whole",
                    "events": ["renewal": events],
                ] as [String: Any]
            ],
        ]
    }

    private func problems(
        _ lines: [[String: Any]], _ summary: [String: Any]
    ) async throws -> [String] {
        let reports = try HandMadeReports()
        try reports.addNight([], business: (lines, summary))
        return try await reports.audit().problems
    }

    @Test func `passes what docs/report-files.md describes`() async throws {
        #expect(try await problems(lines(last: 40), summary(40)) == [])
        #expect(try await problems(lines(last: 3, ["falls_sharply": 1]), summary(3)) == [])
        #expect(try await problems([], summary(NSNull())) == [])
        let unread = line(29, NSNull(), read: "not", [:])
        #expect(try await problems([unread], summary(NSNull())) == [])
        let part = line(29, 7, read: "partly", [:])
        #expect(try await problems([part], summary(7)) == [])
    }

    /// Versions until 2026-11 wrote this of a run that was stopped in the notification history.
    @Test func `passes a number of a day that an earlier version called not read`() async throws {
        #expect(try await problems([line(29, 7, read: "not", [:])], summary(7)) == [])
    }

    @Test func `names a number of a day that says otherwise of itself`() async throws {
        let cases: [(lines: [[String: Any]], events: Any, problem: String)] = [
            (lines(last: 3, ["falls_sharply": 1]), 40, "its business is not what"),
            (lines(last: 40, ["week_before": 39]), 40, "its week_before is not"),
            (lines(last: 40, ["weekdays_before": 120]), 40, "its weekdays are not"),
            (lines(last: 40, ["weekdays_read": 3]), 40, "its weekdays are not"),
            (lines(last: 40, ["falls_sharply": 1]), 40, "its falls_sharply is not what"),
            ([line(29, 0, read: "not", [:])], 0, "its events do not fit its day_read"),
            ([line(29, 0, read: "partly", [:])], 0, "its events do not fit its day_read"),
            ([line(29, NSNull(), [:])], NSNull(), "its events do not fit its day_read"),
            ([line(29, 5, read: "mostly", [:])], 5, "its day_read is not one of"),
            ([line(29, 5, ["day": "2025-11-31"])], 5, "its day is not a date"),
            ([line(29, 5, ["falls_sharply": 0])], 5, "is compared with nothing"),
            ([line(29, 5, [:]), line(29, 5, [:])], 10, "an earlier line has the same day"),
            ([line(29, 5, ["run_id": "another"])], 5, "it is a line of another run"),
        ]
        for (lines, events, problem) in cases {
            let found = try await problems(lines, summary(events))
            #expect(found.contains { $0.contains(problem) }, "\(problem): \(found)")
        }
    }
}
