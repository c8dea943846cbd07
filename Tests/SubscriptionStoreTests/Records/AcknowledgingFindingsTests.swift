import GRDB
import SubscriptionStore
import Subscriptions
import Testing

/// What is known stays in the reports and no longer fails the nights, until it changes.
@Suite struct `Acknowledging findings` {
    private let hour: Int64 = 3_600_000

    /// A night that finds row 1 drifted and writes nothing; its states, and what is unresolved.
    private func night(
        _ store: SQLiteStore, _ number: Int64, status: Int64 = 2
    ) async throws -> (finding: ReportedFinding, unresolved: Int, summary: RunSummary) {
        let night = try await Night.begin(
            store, Night.header("run-\(number)", mode: .check, at: Night.start + number * hour))
        try await night.stage(drift("1", to: status))
        let unresolved = try await store.unresolvedFindings(of: night.pass)
        let record = try await night.conclude()
        let finding = try #require(try record.findings().first)
        return (finding, unresolved[.high] ?? 0, try record.summary())
    }

    private func at(_ number: Int64) -> Timestamp {
        Timestamp(unixMilliseconds: Night.start + number * hour)
    }

    @Test func `it is reported with who and why, and comes back when it changes`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let first = try await night(store, 1)
        #expect(first.finding.state == .new)
        #expect(first.unresolved == 1)
        let id = first.finding.findingID
        let decision = try await store.acknowledge(
            id, reason: "the customer pays by invoice", until: nil, by: "ops@host", at: at(1))
        #expect(decision.number == 1)
        let second = try await night(store, 2)
        #expect(second.finding.state == .acknowledged)
        #expect(second.unresolved == 0)
        let listed = try #require(second.summary.acknowledged.first)
        #expect(listed.findingID == id)
        #expect(listed.actor == "ops@host")
        #expect(listed.reason == "the customer pays by invoice")
        #expect(try store.overview(runs: 1, at: at(2)).openFindings.isEmpty)
        #expect(try store.overview(runs: 1, at: at(2)).acknowledged.map(\.findingID) == [id])
        // Apple's word is another now.
        let third = try await night(store, 3, status: 5)
        #expect(third.finding.findingID == id)
        #expect(third.finding.state == .open)
        #expect(third.unresolved == 1)
        #expect(third.summary.acknowledged.isEmpty)
        // The report of the second night says what it said.
        #expect(try store.runRecord(ofRun: "run-2").findings().map(\.state) == [.acknowledged])
    }

    @Test func `it ends with its date, and by taking it back`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let id = try await night(store, 1).finding.findingID
        _ = try await store.acknowledge(id, reason: "known", until: at(3), by: "ops", at: at(1))
        #expect(try await night(store, 2).finding.state == .acknowledged)
        let late = try await night(store, 3)
        #expect(late.finding.state == .open)
        #expect(late.unresolved == 1)
        _ = try await store.acknowledge(id, reason: "known", until: nil, by: "ops", at: at(3))
        #expect(try await night(store, 4).finding.state == .acknowledged)
        _ = try await store.withdrawAcknowledgement(of: id, reason: "", by: "ops", at: at(4))
        #expect(try store.overview(runs: 1, at: at(4)).acknowledged.isEmpty)
        #expect(try await night(store, 5).unresolved == 1)
        let chain = try database.rows(
            "SELECT decision, action, previous_hash = ifnull(lag(hash) OVER (ORDER BY decision), "
                + "printf('%064d', 0)) FROM trueup_decisions ORDER BY decision")
        #expect(
            chain == [
                ["1", "acknowledge", "1"], ["2", "acknowledge", "1"], ["3", "withdraw", "1"],
            ])
        for sql in ["DELETE FROM trueup_decisions", "UPDATE trueup_decisions SET reason = ''"] {
            #expect(throws: DatabaseError.self) { try database.execute(sql) }
        }
    }

    @Test func `the finding is open again from its date on, whether a run came or not`()
        async throws
    {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let id = try await night(store, 1).finding.findingID
        _ = try await store.acknowledge(id, reason: "known", until: at(3), by: "ops", at: at(1))
        #expect(try await night(store, 2).finding.state == .acknowledged)
        for hour in [Int64(2), 3] {
            let overview = try store.overview(runs: 1, at: at(hour))
            #expect(overview.acknowledged.map(\.findingID) == (hour < 3 ? [id] : []))
            #expect(overview.openFindings.map(\.state) == (hour < 3 ? [] : [.open]))
            let explained = try store.explanations(of: "1", apps: [app], nights: 1, at: at(hour))
            #expect(explained.first?.findings.map(\.state) == [hour < 3 ? .acknowledged : .open])
        }
        // Acknowledged anew it is in the other list again.
        _ = try await store.acknowledge(id, reason: "known", until: nil, by: "ops", at: at(4))
        #expect(try store.overview(runs: 1, at: at(4)).openFindings.isEmpty)
    }

    @Test func `a finding is named by the beginning of its id`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let id = try await night(store, 1).finding.findingID
        guard case .one(let known) = try await store.finding(beginningWith: String(id.prefix(5)))
        else {
            Issue.record("not found")
            return
        }
        #expect(known.findingID == id)
        #expect(try await store.finding(beginningWith: "zz") == FindingLookup.none)
        try database.execute(
            """
            INSERT INTO trueup_findings SELECT substr(finding_id, 1, 23) || 'x', kind, severity,
                bundle_id, environment, original_transaction_id, first_seen, last_seen,
                last_pass_id, corrected_by, state FROM trueup_findings
            """)
        let several = try await store.finding(beginningWith: String(id.prefix(5)))
        guard case .one = several else { return }
    }

    @Test func `a finding that is gone is resolved, acknowledged or not`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let id = try await night(store, 1).finding.findingID
        _ = try await store.acknowledge(id, reason: "known", until: nil, by: "ops", at: at(1))
        let clean = try await Night.begin(
            store, Night.header("run-9", mode: .check, at: Night.start + 9 * hour))
        var match = outcome("1", .match)
        match.examined = .statement
        try await clean.stage(match)
        _ = try await clean.conclude()
        #expect(try database.value("SELECT state FROM trueup_findings") == "resolved")
    }

    @Test func `what was mended and is wrong again comes back, until somebody says so anew`()
        async throws
    {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let id = try await night(store, 1).finding.findingID
        _ = try await store.acknowledge(id, reason: "known", until: nil, by: "ops", at: at(1))
        #expect(try await night(store, 2).finding.state == .acknowledged)
        let clean = try await Night.begin(
            store, Night.header("run-3", mode: .check, at: Night.start + 3 * hour))
        var match = outcome("1", .match)
        match.examined = .statement
        try await clean.stage(match)
        _ = try await clean.conclude()
        let again = try await night(store, 4)
        #expect(again.finding.findingID == id)
        #expect(again.finding.state == .recurring)
        #expect(again.unresolved == 1)
        #expect(try await night(store, 5).unresolved == 1)
        _ = try await store.acknowledge(id, reason: "again", until: nil, by: "ops", at: at(5))
        #expect(try await night(store, 6).finding.state == .acknowledged)
    }
}
