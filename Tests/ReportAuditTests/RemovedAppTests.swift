import ReportAudit
import TestSupport
import Testing

/// Lines about an app that is not configured any more.
@Suite struct `The audit of a report after an app was removed` {
    private typealias Correction = HandMadeReports.Correction

    private static var product: Correction {
        Correction(before: ["product_id": "basic"], after: ["product_id": "pro.monthly"])
    }

    private static var takenBack: Correction {
        Correction(
            before: ["product_id": "pro.monthly"], after: ["product_id": "basic"], undoOf: 1)
    }

    @Test func `accepts what is open of it, and what is taken back`() async throws {
        let reports = try HandMadeReports()
        try reports.addNight([Self.product])
        try reports.addNight([Self.takenBack], app: "com.example.other", listsFinding: true)
        let (result, problems, _) = try await reports.audit()
        #expect(problems == [])
        #expect(result.counts.roots == [reports.chain.rootFingerprint])
    }

    @Test func `still finds an app that no run had`() async throws {
        let reports = try HandMadeReports()
        try reports.addNight([Self.product], app: "com.example.other", listsFinding: true)
        let problems = try await reports.audit().problems
        #expect(problems.count { $0.contains("its app is none of the manifest's") } == 2)
    }

    @Test func `still finds an app that only a later run has`() async throws {
        let reports = try HandMadeReports()
        try reports.addNight([], app: "com.example.other", listsFinding: true)
        try reports.addNight([Self.product])
        let problems = try await reports.audit().problems
        #expect(problems.count { $0.contains("its app is none of the manifest's") } == 1)
    }

    @Test(arguments: [true, false])
    func `takes a line's own word where older runs are not there`(
        isAlone: Bool
    ) async throws {
        let reports = try HandMadeReports()
        try reports.addNight([])
        try reports.addNight([], app: "com.example.other", listsFinding: true)
        // Retention removes runs from the front; their lines in the index stay.
        if !isAlone { try reports.removeFirst() }
        let problems = try await reports.audit(isAlone ? reports.runs.last : nil).problems
        #expect(problems == [])
    }
}
