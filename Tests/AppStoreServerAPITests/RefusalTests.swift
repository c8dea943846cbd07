import AppStoreServerAPI
import Subscriptions
import TestSupport
import Testing

@Suite struct `What comes of a refusal` {
    @Test(arguments: [
        (4_040_010, Lookup<SignedTransaction>.transactionNotFound),
        (4_040_001, .accountNotFound), (4_000_006, .invalidID), (4_000_008, .invalidID),
        (4_000_005, .restart), (4_000_014, .restart), (4_000_017, .restart),
        (5_000_000, .internalFault),
        (4_000_012, .refused(code: 4_000_012, httpStatus: 400, message: "why")),
        (4_040_005, .refused(code: 4_040_005, httpStatus: 400, message: "why")),
    ])
    func `follows from Apple's code`(
        code: Int, expected: Lookup<SignedTransaction>
    ) async throws {
        let outcome = APIOutcome.refused(httpStatus: 400, errorCode: code, message: "why")
        #expect(try await ask(outcome) == expected)
    }

    @Test func `passes on what the sender ran into`() async throws {
        #expect(try await ask(.rateLimited) == .rateLimited)
        #expect(try await ask(.unavailable("budget")) == .unavailable("budget"))
        #expect(try await ask(.undecodable("HTML")) == .undecodable("HTML"))
    }

    @Test func `does not take somebody else's transaction for the asked one`() async throws {
        let chain = try TestSigningChain()
        let jws = try chain.sign(
            SamplePayloads.transaction([
                "transactionId": .string("31"), "originalTransactionId": .string("30"),
            ]))
        let body = CanonicalJSON.object(["signedTransactionInfo": .string(jws)]).rendered
        let lookup = try await ask(
            .answered(body: Array(body.utf8)),
            verifier: TestVerifiers.verifier(trusting: chain))
        guard case .undecodable = lookup else {
            Issue.record("it was believed")
            return
        }
    }

    @Test func `names the payload that did not verify`() async throws {
        let jws = try TestSigningChain().sign(SamplePayloads.transaction())
        let body = CanonicalJSON.object(["signedTransactionInfo": .string(jws)]).rendered
        guard case .unverified(let rejected) = try await ask(.answered(body: Array(body.utf8)))
        else {
            Issue.record("it was believed")
            return
        }
        #expect(rejected.failure.reason == .chain)
        #expect(rejected.payload?.jws == jws)
    }

    private func ask(
        _ outcome: APIOutcome, verifier: SignedDataVerifier? = nil
    ) async throws -> Lookup<SignedTransaction> {
        let verifier = try verifier ?? TestVerifiers.verifier(trusting: TestSigningChain())
        let id = try #require(TransactionID("2000000000000001"))
        return try await AppStoreServerClient(
            sender: RecordingSender(outcome: outcome), verifier: verifier
        ).transactionInfo(of: id)
    }
}
