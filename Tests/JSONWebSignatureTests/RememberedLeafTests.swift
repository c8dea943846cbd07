import JSONWebSignature
import TestSupport
import Testing

@Suite struct `Remembered leaves` {
    @Test func `validates the chain of one header once`() async throws {
        let chain = try TestSigningChain()
        let fixture = try VerifierFixture(trusting: chain)
        for number in 0..<5 {
            _ = try await fixture.verify(try chain.sign("{\"n\":\(number),\"signedDate\":null}"))
        }
        #expect(fixture.verifier.validatedChains == 1)
        #expect(fixture.verifier.cachedLeaves == 1)
    }

    @Test func `knows nothing before the first meeting`() async throws {
        let chain = try TestSigningChain()
        let fixture = try VerifierFixture(trusting: chain)
        #expect(fixture.verifier.cachedLeaves == 0)
        _ = try await fixture.verify(try chain.sign(VerifierFixture.payload()))
        #expect(fixture.verifier.validatedChains == 1)
    }

    @Test func `never remembers a refused chain`() async throws {
        let foreign = try TestSigningChain()
        let fixture = try VerifierFixture(trusting: TestSigningChain())
        let compact = try foreign.sign(VerifierFixture.payload())
        for _ in 0..<2 { #expect(await fixture.refusal(of: compact) == .chain) }
        #expect(fixture.verifier.cachedLeaves == 0)
    }

    @Test func `never remembers a leaf on the word of a bad signature`() async throws {
        let chain = try TestSigningChain()
        let fixture = try VerifierFixture(trusting: chain)
        let genuine = try chain.sign(VerifierFixture.payload()).split(separator: ".")
        let compact = "\(genuine[0]).e30.\(genuine[2])"
        #expect(await fixture.refusal(of: compact) == .signature)
        #expect(fixture.verifier.cachedLeaves == 0)
    }

    @Test func `refuses a bad signature under a remembered leaf`() async throws {
        let chain = try TestSigningChain()
        let fixture = try VerifierFixture(trusting: chain)
        let genuine = try chain.sign(VerifierFixture.payload())
        _ = try await fixture.verify(genuine)
        let parts = genuine.split(separator: ".")
        let forged = "\(parts[0]).e30.\(parts[2])"
        #expect(await fixture.refusal(of: forged) == .signature)
        #expect(fixture.verifier.validatedChains == 1)
    }

    @Test func `asks again when a header differs in one byte`() async throws {
        let chain = try TestSigningChain()
        let fixture = try VerifierFixture(trusting: chain)
        _ = try await fixture.verify(try chain.sign(VerifierFixture.payload()))
        let other = try TestSigningChain().sign(VerifierFixture.payload())
        #expect(await fixture.refusal(of: other) == .chain)
    }

    @Test func `holds no more than its limit`() async throws {
        let chain = try TestSigningChain()
        let fixture = try VerifierFixture(trusting: chain)
        for number in 0..<(JWSLimits.cachedLeaves + 3) {
            // Distinct headers of one genuine chain: the algorithm is written with more escapes.
            let algorithm = number % 2 == 0 ? "ES256" : "\\u0045S256"
            let spaced = String(repeating: " ", count: number)
            let compact = try chain.sign(
                VerifierFixture.payload(), algorithm: "\(algorithm)\"\(spaced),\"n\":\"\(number)")
            _ = try await fixture.verify(compact)
        }
        #expect(fixture.verifier.cachedLeaves == JWSLimits.cachedLeaves)
    }

    @Test func `is shared by concurrent callers`() async throws {
        let chain = try TestSigningChain()
        let fixture = try VerifierFixture(trusting: chain)
        let compact = try chain.sign(VerifierFixture.payload())
        let accepted = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<64 {
                group.addTask { await fixture.refusal(of: compact) == nil }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(accepted == 64)
        #expect(fixture.verifier.cachedLeaves == 1)
    }
}
