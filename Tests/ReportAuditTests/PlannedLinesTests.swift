import Testing

/// The CSV of a check, which goes on with the plan, against the plan.
@Suite struct `The planned lines of a check` {
    private let item: [String: Any] = [
        "action": "update", "after": ["status": 1], "before": ["status": 2], "fate": "planned",
        "original_transaction_id": HandMadeReports.id,
    ]

    private func problems(
        _ lines: [String], mode: String = "check"
    ) async throws -> [String] {
        let reports = try HandMadeReports()
        try reports.addNight([], mode: mode, planned: [item], plannedLines: lines)
        // The made plan itself rests on no evidence; that is not what is looked at here.
        return try await reports.audit().problems.filter { $0.contains("corrections.csv") }
    }

    @Test func `agree with it`() async throws {
        #expect(try await problems([",status,2,1"]) == [])
    }

    @Test func `may be left out, as earlier versions did`() async throws {
        #expect(try await problems([]) == [])
    }

    @Test(arguments: [
        [",status,2,5"], [",expires_date,2,1"], ["1,status,2,1"], [",status,2,1", ",status,2,1"],
    ])
    func `are found where they say something else`(lines: [String]) async throws {
        #expect(try await problems(lines).count == 1)
    }

    @Test func `stand in no report of a run that writes`() async throws {
        #expect(try await problems([",status,2,1"], mode: "apply").count == 1)
    }
}
