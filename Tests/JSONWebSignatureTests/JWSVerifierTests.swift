import Crypto
import JSONWebSignature
import TestSupport
import Testing

@Suite struct `JWS verification` {
    let chain: TestSigningChain
    let fixture: VerifierFixture

    init() throws {
        chain = try TestSigningChain()
        fixture = try VerifierFixture(trusting: chain)
    }

    @Test func `accepts a payload under a root pinned by its fingerprint`() async throws {
        let compact = try chain.sign(VerifierFixture.payload())
        let verified = try await fixture.verify(compact)
        #expect(verified.compact == compact)
        #expect(verified.digest == VerifiedJWS.digest(of: Array(compact.utf8)[...]))
        #expect(verified.payload.root.isObject)
    }

    @Test func `states the SHA-256 of the text as received`() async throws {
        let compact = try chain.sign(VerifierFixture.payload())
        let expected = SHA256.hash(data: Array(compact.utf8)).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
        // Both ways to the digest: the first meeting and the remembered leaf.
        #expect(try await fixture.verify(compact).digest == expected)
        #expect(try await fixture.verify(compact).digest == expected)
        #expect(fixture.verifier.validatedChains == 1)
    }

    @Test func `accepts a configured root that the chain does not bring`() async throws {
        let other = try TestSigningChain()
        let fixture = try VerifierFixture(
            trusting: TrustedRoots(fingerprints: [], certificateFiles: [chain.rootDER]))
        let entries = [chain.certificates[0], chain.certificates[1], other.rootDER]
        let compact = try chain.sign(VerifierFixture.payload(), certificates: entries)
        #expect(await fixture.refusal(of: compact) == nil)
    }

    @Test func `refuses a foreign root`() async throws {
        let compact = try TestSigningChain().sign(VerifierFixture.payload())
        #expect(await fixture.refusal(of: compact) == .chain)
    }

    @Test func `refuses a foreign chain with the trusted root attached`() async throws {
        let foreign = try TestSigningChain()
        let entries = [foreign.certificates[0], foreign.certificates[1], chain.rootDER]
        let compact = try foreign.sign(VerifierFixture.payload(), certificates: entries)
        #expect(await fixture.refusal(of: compact) == .chain)
    }

    @Test func `refuses any algorithm but ES256`() async throws {
        for algorithm in ["none", "HS256", "ES384", "es256", "ES256 "] {
            let compact = try chain.sign(VerifierFixture.payload(), algorithm: algorithm)
            #expect(await fixture.refusal(of: compact) == .format, "\(algorithm)")
        }
    }

    @Test func `refuses two and four certificates`() async throws {
        let two = try chain.sign(
            VerifierFixture.payload(), certificates: Array(chain.certificates.prefix(2)))
        #expect(await fixture.refusal(of: two) == .chainLength)
        let four = try chain.sign(
            VerifierFixture.payload(), certificates: chain.certificates + [chain.rootDER])
        #expect(await fixture.refusal(of: four) == .chainLength)
    }

    @Test func `refuses a changed payload`() async throws {
        let genuine = try chain.sign(VerifierFixture.payload()).split(separator: ".")
        let other = try chain.sign("{\"signedDate\":1750000000001}").split(separator: ".")
        let compact = "\(genuine[0]).\(other[1]).\(genuine[2])"
        #expect(await fixture.refusal(of: compact) == .signature)
    }

    @Test func `refuses a payload that is not a JSON object`() async throws {
        for payload in ["[]", "null", "{\"a\":1}x", "", "{\"a\":1,}"] {
            let compact = try chain.sign(payload)
            #expect(await fixture.refusal(of: compact) == .format, "\(payload)")
        }
    }

    @Test(arguments: [nil, "1.2.840.113635.100.6.2", "1.2.840.113635.100.6.2.1.1"])
    func `refuses an intermediate without its marker`(marker: String?) async throws {
        var options = TestSigningChain.Options()
        options.intermediateMarker = marker
        #expect(try await refusal(options) == .chain)
    }

    @Test(arguments: [nil, "1.2.840.113635.100.6.11.1.1", "1.2.840.113635.100.6.2.1"])
    func `refuses a leaf without its marker`(marker: String?) async throws {
        var options = TestSigningChain.Options()
        options.leafMarker = marker
        #expect(try await refusal(options) == .chain)
    }

    @Test func `refuses an intermediate that is not an authority`() async throws {
        var options = TestSigningChain.Options()
        options.intermediateIsAuthority = false
        #expect(try await refusal(options) == .chain)
        options = TestSigningChain.Options()
        options.intermediateMaySignCertificates = false
        #expect(try await refusal(options) == .chain)
    }

    @Test func `refuses a leaf whose key is for something else than signing`() async throws {
        var options = TestSigningChain.Options()
        options.leafMaySignData = false
        #expect(try await refusal(options) == .chain)
    }

    @Test func `refuses text that is not three base64url segments`() async throws {
        let compact = try chain.sign(VerifierFixture.payload())
        for text in ["", ".", "..", "a.b.c", compact + ".", compact + "=", compact + "\n"] {
            #expect(await fixture.refusal(of: text) == .format, "\(text.prefix(20))")
        }
        let long = String(repeating: "A", count: JWSLimits.compactBytes)
        #expect(await fixture.refusal(of: "\(long).e30.AA") == .format)
    }

    private func refusal(
        _ options: TestSigningChain.Options
    ) async throws -> JSONWebSignatureError.Reason? {
        let chain = try TestSigningChain(options)
        let fixture = try VerifierFixture(trusting: chain)
        return await fixture.refusal(of: try chain.sign(VerifierFixture.payload()))
    }
}
