import SubscriptionStore
import Subscriptions
import Testing

@Suite struct `Findings over nights` {
    private let day: Int64 = 86_400_000

    @Test func `new, open, corrected, recurring`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        var states: [FindingState] = []
        var firstSeen: Set<Timestamp> = []
        var identities: Set<String> = []
        for (number, mode) in [RunMode.check, .check, .apply, .check].enumerated() {
            let night = try await Night.begin(
                store,
                Night.header("run-\(number)", mode: mode, at: Night.start + Int64(number) * day))
            try await night.stage(drift("1"))
            if mode == .apply { try await night.apply() }
            let findings = try await night.conclude().findings()
            states += findings.map(\.state)
            firstSeen.formUnion(findings.map(\.firstSeen))
            identities.formUnion(findings.map(\.findingID))
        }
        #expect(states == [.new, .open, .corrected, .recurring])
        #expect(firstSeen == [Timestamp(unixMilliseconds: Night.start)])
        #expect(identities.count == 1)
        #expect(identities.first?.count == 24)
        #expect(try store.overview(runs: 10).openFindings.map(\.state) == [.recurring])
    }

    @Test func `the identity is the documented hash`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("1"))
        // printf 'access_unpaid\037com.example.app\037Production\0371\037status' | sha256sum
        #expect(
            try await night.conclude().findings().map(\.findingID) == [
                "bd13805d325dff216316204b"
            ])
    }

    @Test func `a finding that is gone is no longer open`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let night = try await Night.begin(store, Night.header("run-1", mode: .check))
        try await night.stage(drift("1"))
        try await night.conclude()
        #expect(try store.overview(runs: 10).openFindings.map(\.findings) == [1])
        let next = try await Night.begin(store, Night.header("run-2", mode: .check))
        try await next.stage(looked("1", .match))
        try await next.conclude()
        #expect(try store.overview(runs: 10).openFindings.isEmpty)
    }

    private func looked(
        _ id: String, _ verdict: Verdict, _ look: ExaminationDepth = .statement
    ) -> RowOutcome {
        var result = outcome(id, verdict)
        result.examined = look
        return result
    }

    @Test func `a finding that a night did not look at stays open`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1"), subscription("2")])
        let night = try await Night.begin(store, Night.header("run-1", mode: .check))
        try await night.stage(drift("1"))
        try await night.conclude()
        var narrowed = Night.header("run-6", mode: .check)
        narrowed.filters = ["--only expiry"]
        let nights: [(RunHeader, RowOutcome)] = [
            (Night.header("run-2", mode: .check), outcome("1", .undecided(.unavailable))),
            (Night.header("run-3", mode: .check), outcome("1", .excluded(.inFlight))),
            (Night.header("run-4", mode: .check), looked("2", .match)),
            // Apple did not find it: of its status that says nothing.
            (Night.header("run-5", mode: .check), looked("1", .discrepancy, .standing)),
            (narrowed, looked("1", .match)),
        ]
        for (header, outcome) in nights {
            let next = try await Night.begin(store, header)
            try await next.stage(outcome)
            try await next.conclude()
            #expect(
                try store.overview(runs: 10).openFindings.map(\.kind) == [.accessUnpaid],
                "\(header.runID)")
        }
    }

    @Test func `a notification is no longer open once Apple's history shows it received`()
        async throws
    {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let notification = RecordedNotification(
            evidence: payload("n"), notificationUUID: "u-1", notificationType: "DID_RENEW",
            subtype: nil, signedDate: Timestamp(unixMilliseconds: 5),
            originalTransactionID: "1", sendAttempts: [])
        var finding = Finding(kind: .notificationMissed, severity: .high, row: subscription("1"))
        finding.field = "u-1"
        let night = try await Night.begin(store, Night.header("run-1", mode: .check))
        try await store.record(
            RecordedPage(fresh: [notification], findings: [finding], intoInbox: false), of: app,
            in: night.pass, run: night.run)
        try await night.conclude()
        let second = try await Night.begin(store, Night.header("run-2", mode: .check))
        try await second.stage(looked("1", .match))
        try await second.conclude()
        #expect(try store.overview(runs: 10).openFindings.map(\.findings) == [1])
        let third = try await Night.begin(store, Night.header("run-3", mode: .check))
        try await store.record(
            RecordedPage(fresh: [notification], findings: [], intoInbox: false), of: app,
            in: third.pass, run: third.run)
        try await third.conclude()
        #expect(try store.overview(runs: 10).openFindings.isEmpty)
    }

    @Test func `evidence comes back byte for byte, once, by digest`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load(["1", "2"].map { subscription($0) })
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("1"), drift("2"))
        try await night.apply()
        let evidence = try await night.conclude().evidence()
        let expected = ["transaction1-2", "renewal1-2", "transaction2-2", "renewal2-2"]
            .map(payload).sorted { $0.digest.hexadecimal < $1.digest.hexadecimal }
        #expect(evidence == expected)
        #expect(try database.value("SELECT count(*) FROM trueup_evidence_headers") == "1")
    }

    @Test(arguments: ["no point at all", "", ".", "a..b", "ä.\u{1F600}.\u{FFFD}"])
    func `evidence of any shape is kept`(jws: String) async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let night = try await Night.begin(store, Night.header("run-1", mode: .check))
        var odd = drift("1")
        let real = SignedPayload(digest: payloadDigest(of: jws), jws: jws)
        odd.findings[0].evidence = real.digest
        odd.corrections = []
        odd.evidence = [real]
        try await night.stage(odd)
        #expect(try await night.conclude().evidence() == [real])
    }

    @Test func `a stored payload that was changed is not passed on`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1")])
        let night = try await Night.begin(store, Night.header("run-1", mode: .check))
        try await night.stage(drift("1"))
        let record = try await night.conclude()
        try database.execute("UPDATE trueup_evidence SET rest = rest || 'x'")
        #expect(throws: StoreError.self) { try record.evidence() }
    }

    @Test func `the summary reads back`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load(["1", "2"].map { subscription($0) })
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(drift("1"), outcome("2", .match))
        try await night.apply()
        let summary = try await night.conclude(status: .ok).summary()
        #expect(summary.header == night.run)
        #expect(summary.conclusion.statuses == [.ok])
        #expect(summary.conclusion.messages == ["done"])
        #expect(summary.conclusion.calls.map(\.calls) == [3])
        #expect(summary.totals.matched == 1)
        #expect(summary.totals.discrepant == 1)
        #expect(
            summary.findings == [
                FindingCount(kind: .accessUnpaid, severity: .high, state: .corrected, findings: 1)
            ])
        #expect(
            summary.money == [
                MoneyTotal(currency: "EUR", direction: .companyLoses, amount: 990, findings: 1)
            ])
        #expect(
            summary.ledgerHead == (try database.value("SELECT hash FROM trueup_ledger")))
    }

    @Test func `the overview shows runs, coverage and what is unknown`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        try store.load([subscription("1"), subscription("2", status: nil)])
        let night = try await Night.begin(store, Night.header("run-1"))
        try await night.stage(outcome("1", .match), outcome("2", .match))
        try await night.conclude()
        _ = try await Night.begin(store, Night.header("run-2"))
        let overview = try database.open(.readOnly).overview(runs: 5)
        #expect(overview.subscriptions == 2)
        #expect(overview.notYetKnown == 1)
        #expect(overview.runs.map(\.runID) == ["run-2", "run-1"])
        #expect(overview.runs.map(\.exitStatus) == [nil, .ok])
        #expect(overview.runs[1].totals.matched == 2)
        #expect(overview.lastCompletePass == night.run.started)
    }

    @Test func `a run that never ended has no record`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        _ = try await Night.begin(store, Night.header("run-1"))
        for id in ["run-1", "run-0"] {
            #expect(throws: StoreError.self) { try store.runRecord(ofRun: id) }
        }
    }

    @Test func `bookkeeping of matched rows does not stay`() async throws {
        let database = try TemporaryDatabase()
        let store = try database.open()
        let ids = (1...50).map(String.init)
        try store.load(ids.map { subscription($0) })
        let night = try await Night.begin(store, Night.header("run-1"))
        for id in ids { try await night.stage(outcome(id, .match)) }
        let record = try await night.conclude()
        #expect(try record.summary().totals.matched == 50)
        #expect(try database.value("SELECT count(*) FROM trueup_pass_rows") == "0")
    }
}
