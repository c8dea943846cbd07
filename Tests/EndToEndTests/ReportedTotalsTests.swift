import Testing

/// The check that every end-to-end run passes fails on numbers that do not add up.
@Suite struct `The check of reported totals` {
    private func totals(
        table: [String: Int]? = nil, byReason: [String: Int] = ["sample": 436],
        notAsked: Int = 2662,
        drawn: Int = 1000, text: String? = nil, page: String = ""
    ) -> ReportedTotals {
        let whole = [
            "asked": 436, "excluded": 0, "gone": 0, "inserted": 0, "judged_before": 0,
            "not_asked": notAsked, "not_reached": 0, "rows": 3103, "settled_by_notification": 5,
            "without_question": 0,
        ]
        let sample: [String: Any] = [
            "drawn": drawn, "not_judged": drawn - 436,
            "judged_by": ["own_question": 436, "other_question": 0, "notification": 0],
        ]
        return ReportedTotals(
            json: [
                "totals": [
                    "in_scope": 441, "matched": 441, "discrepant": 0, "undecided": 0, "excluded": 0,
                ],
                "coverage": [
                    "asked": byReason.values.reduce(0, +), "asked_beside": 0,
                    "asked_by_reason": byReason, "settled_by_notification": 5, "sample": sample,
                    "table": table ?? whole,
                ] as [String: Any],
            ],
            text: text
                ?? """
                QUESTIONS   rows  left  why
                  sample     436     0  drawn at random
                  settled      5        by a notification
                  not asked \(notAsked)        no reason
                            ----  ----
                  table     3103        the sum

                """, page: page, workbook: nil)
    }

    @Test func `accepts numbers that add up`() {
        #expect(totals().problems.isEmpty, "\(totals().problems)")
    }

    @Test func `refuses rows that were asked, settled and not asked of a smaller table`() {
        let problems = totals(notAsked: 2828).problems
        #expect(problems.contains { $0.hasPrefix("summary.json") }, "\(problems)")
        #expect(problems.contains { $0.hasPrefix("summary.txt") }, "\(problems)")
    }

    @Test func `refuses a sample that judged more rows than were drawn`() {
        let problems = totals(byReason: ["sample": 1371]).problems
        #expect(
            problems.contains { $0.contains("1371 asked by the sample of 1000") }, "\(problems)")
    }

    @Test func `refuses a page whose sum is another`() {
        let page = """
            <table><tr><th>asked</th><td>436</td></tr><tr><th>not asked</th><td>2,828</td></tr>
            <tr class="sum"><th>table</th><td>3,103</td></tr></table>
            """
        #expect(totals(page: page).problems.contains { $0.hasPrefix("report.html") })
    }
}
