import AppStoreServerAPI
import Subscriptions
import TestSupport
import Testing

/// What is new in the unsigned answers around signed payloads is kept too, whichever call it is.
@Suite struct `Answers of tomorrow` {
    private let chain: TestSigningChain
    private let verifier: SignedDataVerifier
    private let id: TransactionID

    init() throws {
        chain = try TestSigningChain()
        verifier = try TestVerifiers.verifier(trusting: chain)
        id = try #require(TransactionID("2000000000000001"))
    }

    @Test func `keep what is new around a history`() async throws {
        let body = SamplePayloads.envelope([
            "revision": .string("r1"), "hasMore": .boolean(false), "weather": .string("fine"),
            "signedTransactions": .array([.string(try chain.sign(SamplePayloads.transaction()))]),
        ])
        let lookup = try await client(body).transactionHistory(of: id, after: nil)
        guard case .answered(let page) = lookup else {
            Issue.record("no answer")
            return
        }
        #expect(page.transactions.count == 1)
        #expect(page.unknowns == [UnknownValue(field: "historyResponse.weather", value: nil)])
    }

    @Test func `keep what is new around notifications`() async throws {
        let body = #"{"hasMore":false,"notificationHistory":[],"weather":1}"#
        let window = NotificationWindow(
            start: Timestamp(unixMilliseconds: 0), end: Timestamp(unixMilliseconds: 1))
        let lookup = try await client(body).notificationHistory(in: window, paginationToken: nil)
        guard case .answered(let page) = lookup else {
            Issue.record("no answer")
            return
        }
        #expect(
            page.unknowns
                == [UnknownValue(field: "notificationHistoryResponse.weather", value: nil)])
    }

    @Test func `keep what is new around a transaction`() async throws {
        let jws = try chain.sign(SamplePayloads.transaction())
        let body = "{\"signedTransactionInfo\":\"\(jws)\",\"weather\":1}"
        let lookup = try await client(body).transactionInfo(of: id)
        guard case .answered(let transaction) = lookup else {
            Issue.record("no answer")
            return
        }
        #expect(
            transaction.unknowns
                == [UnknownValue(field: "transactionInfoResponse.weather", value: nil)])
    }

    @Test func `cost a group with a numeric id its own entries alone`() async throws {
        let broken = try group(.integer(7), originalID: "2000000000000005")
        let sound = try group(.string("20001"), originalID: "2000000000000001")
        let body = SamplePayloads.envelope(["data": .array([broken, sound])])
        guard case .answered(let answer) = try await client(body).subscriptionStatuses(of: id)
        else {
            Issue.record("no answer")
            return
        }
        #expect(answer.subscriptions.map(\.originalTransactionID) == ["2000000000000001"])
        #expect(answer.rejected.map(\.originalTransactionID) == ["2000000000000005"])
        #expect(answer.rejected.map(\.isUndecodable) == [true])
        #expect(answer.unknowns.map(\.value) == ["7"])
    }

    @Test func `cost a transaction with a numeric id itself alone`() async throws {
        let broken = try chain.sign(
            SamplePayloads.transaction(["originalTransactionId": .integer(2_000_000_000_000_001)]))
        let sound = try chain.sign(SamplePayloads.transaction())
        let body = SamplePayloads.envelope([
            "revision": .string("r1"), "hasMore": .boolean(false),
            "signedTransactions": .array([.string(broken), .string(sound)]),
        ])
        let lookup = try await client(body).transactionHistory(of: id, after: nil)
        guard case .answered(let page) = lookup else {
            Issue.record("no answer")
            return
        }
        #expect(page.transactions.map(\.originalTransactionID) == ["2000000000000001"])
        #expect(page.rejected.map(\.failure.reason) == [.format])
    }

    private func group(
        _ id: CanonicalJSON, originalID: String
    ) throws -> CanonicalJSON {
        let original: [String: CanonicalJSON] = ["originalTransactionId": .string(originalID)]
        let transaction = try chain.sign(SamplePayloads.transaction(original))
        let renewal = try chain.sign(SamplePayloads.renewalInfo(original))
        return .object([
            "subscriptionGroupIdentifier": id,
            "lastTransactions": .array([
                .object([
                    "status": .integer(1), "originalTransactionId": .string(originalID),
                    "signedTransactionInfo": .string(transaction),
                    "signedRenewalInfo": .string(renewal),
                ])
            ]),
        ])
    }

    private func client(_ body: String) -> AppStoreServerClient {
        AppStoreServerClient(sender: RecordingSender(body: body), verifier: verifier)
    }
}
