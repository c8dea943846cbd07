import AppStoreServerAPI
import Subscriptions
import TestSupport
import Testing

@Suite struct `Asking for statuses` {
    let chain: TestSigningChain
    let verifier: SignedDataVerifier
    let id: TransactionID

    init() throws {
        id = try #require(TransactionID("2000000000000001"))
        chain = try TestSigningChain()
        verifier = try TestVerifiers.verifier(trusting: chain)
    }

    @Test func `answers with every entry that holds`() async throws {
        let second: CanonicalJSON = .string("2000000000000005")
        let body = SamplePayloads.statuses([
            try entry(),
            try entry(
                id: "2000000000000005", transaction: ["originalTransactionId": second],
                renewal: ["originalTransactionId": second]),
        ])
        let answer = try #require(answered(try await ask(body)))
        #expect(answer.rejected == [])
        #expect(
            answer.subscriptions.map(\.originalTransactionID)
                == ["2000000000000001", "2000000000000005"])
        #expect(answer.subscriptions[0].status == .active)
        #expect(answer.subscriptions[0].subscriptionGroupID == "20001")
        #expect(
            answer.subscriptions[0].signedDate == Timestamp(unixMilliseconds: 1_750_000_000_000))
    }

    @Test func `asks without a filter`() async throws {
        let sender = RecordingSender(body: SamplePayloads.envelope(["data": .array([])]))
        let client = AppStoreServerClient(sender: sender, verifier: verifier)
        _ = try await client.subscriptionStatuses(of: id)
        #expect(sender.requests.map(\.path) == ["/inApps/v1/subscriptions/2000000000000001"])
        #expect(sender.requests.allSatisfy { $0.query.isEmpty && $0.method == "GET" })
    }

    @Test func `takes an empty list for an answer`() async throws {
        let lookup = try await ask(SamplePayloads.envelope(["data": .array([])]))
        #expect(lookup == .answered(StatusAnswer(subscriptions: [])))
    }

    @Test func `takes a missing list for no answer`() async throws {
        let sender = RecordingSender(body: SamplePayloads.envelope([:]))
        let client = AppStoreServerClient(sender: sender, verifier: verifier)
        guard case .undecodable = try await client.subscriptionStatuses(of: id) else {
            Issue.record("a missing list was believed")
            return
        }
        #expect(sender.undecodable == [.subscriptionStatuses])
    }

    @Test(arguments: ["<html></html>", "", "[]", "{\"data\":{}}", "{}{}"])
    func `cannot decode`(body: String) async throws {
        guard case .undecodable = try await ask(body) else {
            Issue.record("it was decoded")
            return
        }
    }

    @Test(arguments: [
        ("bundleId", CanonicalJSON.string("com.other"), VerificationFailure.Reason.app),
        ("appAppleId", .integer(7), .app), ("environment", .string("Sandbox"), .environment),
        ("environment", .null, .environment), ("bundleId", .null, .app),
    ])
    func `does not believe an envelope of another app`(
        member: String, value: CanonicalJSON, reason: VerificationFailure.Reason
    ) async throws {
        let body = SamplePayloads.envelope(["data": .array([]), member: value])
        guard case .unverified(let rejected) = try await ask(body) else {
            Issue.record("it was believed")
            return
        }
        #expect(rejected.failure.reason == reason)
    }

    @Test func `refuses a swapped renewal info and keeps the other entries`() async throws {
        let body = SamplePayloads.statuses([
            try entry(renewal: ["originalTransactionId": .string("2000000000000009")]),
            try entry(),
        ])
        let answer = try #require(answered(try await ask(body)))
        #expect(answer.subscriptions.count == 1)
        #expect(answer.rejected.map(\.failure.reason) == [.crossCheck])
        #expect(answer.rejected[0].originalTransactionID == "2000000000000001")
        #expect(answer.rejected[0].payload != nil)
    }

    @Test func `refuses an entry whose unsigned id is another`() async throws {
        let body = SamplePayloads.statuses([try entry(id: "2000000000000008")])
        let answer = try #require(answered(try await ask(body)))
        #expect(answer.subscriptions == [])
        #expect(answer.rejected.map(\.failure.reason) == [.crossCheck])
    }

    @Test func `refuses entries with a missing or foreign signed part`() async throws {
        var missing = try entry()
        missing["signedRenewalInfo"] = nil
        var mistyped = try entry()
        mistyped["signedTransactionInfo"] = .integer(1)
        var foreign = try entry()
        foreign["signedTransactionInfo"] = .string(
            try TestSigningChain().sign(SamplePayloads.transaction()))
        let body = SamplePayloads.statuses([missing, mistyped, foreign, try entry()])
        let answer = try #require(answered(try await ask(body)))
        #expect(answer.subscriptions.count == 1)
        #expect(answer.rejected.map(\.failure.reason) == [.format, .format, .chain])
    }

    @Test func `keeps an unknown status`() async throws {
        var strange = try entry()
        strange["status"] = .integer(6)
        let answer = try #require(answered(try await ask(SamplePayloads.statuses([strange]))))
        #expect(answer.subscriptions.map(\.status.rawValue) == [6])
        #expect(answer.unknowns.map(\.value) == ["6"])
    }

    private func ask(_ body: String) async throws -> Lookup<StatusAnswer> {
        try await AppStoreServerClient(sender: RecordingSender(body: body), verifier: verifier)
            .subscriptionStatuses(of: id)
    }

    private func answered(_ lookup: Lookup<StatusAnswer>) -> StatusAnswer? {
        guard case .answered(let answer) = lookup else { return nil }
        return answer
    }

    private func entry(
        id: String = "2000000000000001", transaction: [String: CanonicalJSON] = [:],
        renewal: [String: CanonicalJSON] = [:]
    ) throws -> [String: CanonicalJSON] {
        [
            "status": .integer(1), "originalTransactionId": .string(id),
            "signedTransactionInfo": .string(
                try chain.sign(SamplePayloads.transaction(transaction))),
            "signedRenewalInfo": .string(try chain.sign(SamplePayloads.renewalInfo(renewal))),
        ]
    }
}
