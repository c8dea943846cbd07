import JSONWebSignature
import TestSupport
import Testing

@Suite struct `Dates of a chain` {
    /// 2025-06-15T15:06:40Z, the moment of signing in these tests.
    private static let signedSecond: Int64 = 1_750_000_000

    @Test func `accepts a leaf that has expired since`() async throws {
        let end = Self.signedSecond + 60
        #expect(try await refusal(leafUntil: end, now: (end + 1_000_000) * 1000) == nil)
    }

    @Test func `refuses a leaf that had expired before`() async throws {
        #expect(try await refusal(leafUntil: Self.signedSecond - 1) == .chain)
    }

    @Test func `counts the last second of validity in`() async throws {
        #expect(try await refusal(leafUntil: Self.signedSecond) == nil)
    }

    @Test func `refuses a leaf that was not yet valid`() async throws {
        #expect(try await refusal(leafFrom: Self.signedSecond + 1) == .chain)
        #expect(try await refusal(leafFrom: Self.signedSecond) == nil)
    }

    @Test func `judges intermediate and root at the same moment`() async throws {
        var options = TestSigningChain.Options()
        options.intermediateValidity = 1_640_995_200..<(Self.signedSecond - 1)
        #expect(try await refusal(options) == .chain)
        options = TestSigningChain.Options()
        options.rootValidity = (Self.signedSecond + 1)..<2_366_841_600
        #expect(try await refusal(options) == .chain)
    }

    @Test func `judges a payload without a date at the present time`() async throws {
        let chain = try TestSigningChain()
        let compact = try chain.sign("{}")
        let present = try VerifierFixture(trusting: chain)
        #expect(await present.refusal(of: compact) == nil)
        let late = try VerifierFixture(trusting: chain, now: 4_000_000_000_000)
        #expect(await late.refusal(of: compact) == .chain)
    }

    @Test func `judges each payload under a remembered leaf at its own date`() async throws {
        var options = TestSigningChain.Options()
        options.leafValidity = 1_672_531_200..<Self.signedSecond
        let chain = try TestSigningChain(options)
        let fixture = try VerifierFixture(trusting: chain)
        #expect(await fixture.refusal(of: try chain.sign(VerifierFixture.payload())) == nil)
        let later = try chain.sign(
            VerifierFixture.payload(signedDate: (Self.signedSecond + 1) * 1000))
        #expect(fixture.verifier.cachedLeaves == 1)
        #expect(await fixture.refusal(of: later) == .chain)
    }

    @Test(arguments: [Int64.min, -1, 0, Int64.max])
    func `survives every date`(signedDate: Int64) async throws {
        let chain = try TestSigningChain()
        let fixture = try VerifierFixture(trusting: chain)
        let compact = try chain.sign(VerifierFixture.payload(signedDate: signedDate))
        #expect(await fixture.refusal(of: compact) == .chain)
    }

    private func refusal(
        leafFrom: Int64 = 1_672_531_200, leafUntil: Int64 = 2_051_222_400,
        now: Int64 = VerifierFixture.signedDate
    ) async throws -> JSONWebSignatureError.Reason? {
        var options = TestSigningChain.Options()
        options.leafValidity = leafFrom..<leafUntil
        return try await refusal(options, now: now)
    }

    private func refusal(
        _ options: TestSigningChain.Options, now: Int64 = VerifierFixture.signedDate
    ) async throws -> JSONWebSignatureError.Reason? {
        let chain = try TestSigningChain(options)
        let fixture = try VerifierFixture(trusting: chain, now: now)
        return await fixture.refusal(of: try chain.sign(VerifierFixture.payload()))
    }
}
