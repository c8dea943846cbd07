import JSONWebSignature
import Synchronization
import TestSupport
import Testing

/// What one answer, or the lack of one, makes of a payload.
struct `Verdicts on revocation` {
    @Test(arguments: [RevocationMode.soft, .hard])
    func `a good answer for both certificates makes a payload valid`(
        mode: RevocationMode
    ) async throws {
        let fixture = try RevocationFixture()
        fixture.answer()
        let verifier = try fixture.verifier(mode)
        #expect(try await verifier.refusal(of: fixture.payload()) == nil)
        #expect(
            fixture.asked.sorted() == [
                "http://ocsp.example/intermediate", "http://ocsp.example/leaf",
            ])
        #expect(verifier.revocationTally == RevocationTally())
    }

    @Test(arguments: [RevocationMode.soft, .hard], ["leaf", "intermediate"])
    func `a revoked certificate makes a payload invalid in both modes, and is named`(
        mode: RevocationMode, name: String
    ) async throws {
        let fixture = try RevocationFixture()
        fixture.answer { if "\($0.subject)" == name { $0.status = .revoked } }
        let verifier = try fixture.verifier(mode)
        let refusal = try await verifier.refusal(of: fixture.payload())
        #expect(refusal?.reason == .chain)
        #expect(refusal?.detail.contains("the \(name) certificate") == true)
        #expect(refusal?.detail.contains("is revoked") == true)
        #expect(verifier.revocationTally.revoked == 1)
        #expect(verifier.cachedLeaves == 0)
    }

    @Test func `revoked outweighs what could not be learned`() async throws {
        let fixture = try RevocationFixture()
        fixture.answer {
            if $0.subject == .leaf { $0.status = .unknown } else { $0.status = .revoked }
        }
        let refusal = try await fixture.verifier(.soft).refusal(of: fixture.payload())
        #expect(refusal?.reason == .chain)
    }

    @Test func `a certificate of the issuer's for OCSP may answer`() async throws {
        let fixture = try RevocationFixture()
        fixture.answer { $0.signer = .delegate(mayAnswer: true) }
        #expect(try await fixture.verifier(.hard).refusal(of: fixture.payload()) == nil)
        fixture.answer {
            $0.signer = .delegate(mayAnswer: true)
            $0.status = .revoked
        }
        let other = try await fixture.verifier(.hard).refusal(of: fixture.payload())
        #expect(other?.reason == .chain)
    }

    static let faults: [(String, @Sendable (inout TestOCSPResponse) -> Void)] = [
        ("unknown", { $0.status = .unknown }),
        ("ended a second ago", { $0.nextUpdate = RevocationFixture.start / 1000 - 1 }),
        ("ends this very second", { $0.nextUpdate = RevocationFixture.start / 1000 }),
        ("without an end", { $0.nextUpdate = nil }),
        (
            "of tomorrow",
            {
                $0.thisUpdate += 86_400
                $0.nextUpdate = $0.thisUpdate + 86_400
            }
        ),
        ("of another certificate", { $0.serialIsOther = true }),
        ("by a certificate that may not answer", { $0.signer = .delegate(mayAnswer: false) }),
        ("by a stranger", { $0.signer = .stranger }),
        ("with a forged signature", { $0.signer = .forger }),
        ("with somebody else's nonce", { $0.carriesNonce = true }),
        (
            "revoked, with a forged signature",
            {
                $0.status = .revoked
                $0.signer = .forger
            }
        ),
        (
            "revoked, by a stranger",
            {
                $0.status = .revoked
                $0.signer = .stranger
            }
        ),
        (
            "revoked, but ended",
            {
                $0.status = .revoked
                $0.nextUpdate = $0.thisUpdate + 1
            }
        ),
    ]

    @Test(arguments: faults.indices, ["leaf", "intermediate"])
    func `an answer that proves nothing leaves a payload undetermined`(
        fault: Int, name: String
    ) async throws {
        let (_, change) = Self.faults[fault]
        let fixture = try RevocationFixture()
        fixture.answer { if "\($0.subject)" == name { change(&$0) } }
        let hard = try fixture.verifier(.hard)
        #expect(try await hard.refusal(of: fixture.payload())?.reason == .undetermined)
        #expect(hard.revocationTally.undetermined == 1)
        #expect(hard.revocationTally.doubt.contains("the \(name) certificate"))
        let soft = try fixture.verifier(.soft)
        #expect(try await soft.refusal(of: fixture.payload()) == nil)
        #expect(soft.revocationTally.undetermined == 1)
    }

    @Test(arguments: [[], [0], [0x30, 0x03, 0x0A, 0x01, 0x03], Array("<html>".utf8)] as [[UInt8]])
    func `bytes that are no signed answer leave a payload undetermined`(
        bytes: [UInt8]
    ) async throws {
        let fixture = try RevocationFixture(script: { _, _ in bytes })
        let refusal = try await fixture.verifier(.hard).refusal(of: fixture.payload())
        #expect(refusal?.reason == .undetermined)
        #expect(try await fixture.verifier(.soft).refusal(of: fixture.payload()) == nil)
    }

    @Test func `a certificate that names no responder is undetermined, and no call is made`()
        async throws
    {
        var options = TestSigningChain.Options()
        options.intermediateResponder = "http://ocsp.example/intermediate"
        let fixture = try RevocationFixture(options)
        fixture.answer()
        let refusal = try await fixture.verifier(.hard).refusal(of: fixture.payload())
        #expect(refusal?.reason == .undetermined)
        #expect(refusal?.detail.contains("leaf") == true)
        #expect(fixture.asked == ["http://ocsp.example/intermediate"])
    }

    @Test func `a root that names a responder is a doubt and not a revocation`() async throws {
        var options = TestSigningChain.Options()
        options.leafResponder = "http://ocsp.example/leaf"
        options.intermediateResponder = "http://ocsp.example/intermediate"
        options.rootResponder = "http://ocsp.example/root"
        let fixture = try RevocationFixture(options)
        fixture.answer()
        let refusal = try await fixture.verifier(.hard).refusal(of: fixture.payload())
        #expect(refusal?.reason == .undetermined)
        #expect(fixture.asked.isEmpty)
    }

    @Test func `no call is made about a payload that is refused anyway`() async throws {
        let fixture = try RevocationFixture()
        fixture.answer()
        let verifier = try fixture.verifier(.hard)
        let stranger = try TestSigningChain()
        let payload = try fixture.payload()
        let torn = String(payload.dropLast(8)) + "AAAAAAAA"
        #expect(await verifier.refusal(of: torn)?.reason == .signature)
        let foreign = try stranger.sign("{}")
        #expect(await verifier.refusal(of: foreign)?.reason == .chain)
        let tooOld = try await #require(throws: JSONWebSignatureError.self) {
            _ = try await verifier.verify(UnverifiedJWS(payload)) { _ in 0 }
        }
        #expect(tooOld.reason == .chain)
        #expect(fixture.asked.isEmpty)
    }

    /// SeededGenerator, so that a failure can be repeated.
    @Test func `a damaged answer never turns into another verdict and never traps`() async throws {
        var generator = SeededGenerator(seed: 20_261_120)
        let fixture = try RevocationFixture()
        for status in [TestOCSPResponse.Status.good, .revoked] {
            for round in 0..<150 {
                let flips = (0..<(1 + round % 3)).map { _ in generator.next() }
                let chain = fixture.chain
                fixture.state.withLock { state in
                    state.script = { subject, now in
                        var answer = TestOCSPResponse(subject, at: now)
                        if subject == .leaf { answer.status = status }
                        guard var bytes = try? answer.encoded(for: chain) else { return nil }
                        guard subject == .leaf else { return bytes }
                        for flip in flips {
                            let place = Int(flip % UInt64(bytes.count))
                            bytes[place] ^= UInt8(truncatingIfNeeded: flip >> 32) | 1
                        }
                        return bytes
                    }
                }
                let reason = try await fixture.verifier(.hard)
                    .refusal(of: fixture.payload())?.reason
                let allowed: [JSONWebSignatureError.Reason?] =
                    status == .good ? [.undetermined, nil] : [.undetermined, .chain]
                #expect(allowed.contains(reason), "round \(round) of \(status): \(flips)")
            }
        }
    }
}
