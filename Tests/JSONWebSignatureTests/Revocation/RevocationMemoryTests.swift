import JSONWebSignature
import Synchronization
import TestSupport
import Testing

/// How often anybody is asked, and how long an answer or its absence counts.
struct `Memory of revocation` {
    @Test func `many payloads at once share one question for each certificate`() async throws {
        let fixture = try RevocationFixture()
        fixture.answer()
        let verifier = try fixture.verifier(.hard)
        let payloads = try (0..<40).map { try fixture.payload($0) }
        await withTaskGroup(of: JSONWebSignatureError?.self) { group in
            for payload in payloads {
                group.addTask { await verifier.refusal(of: payload) }
            }
            for await refusal in group { #expect(refusal == nil) }
        }
        #expect(fixture.asked.count == 2)
    }

    @Test(arguments: [RevocationMode.soft, .hard])
    func `a remembered leaf does not outlive its answers`(mode: RevocationMode) async throws {
        let fixture = try RevocationFixture()
        fixture.answer { if $0.subject == .leaf { $0.nextUpdate = $0.thisUpdate + 660 } }
        let verifier = try fixture.verifier(mode)
        #expect(try await verifier.refusal(of: fixture.payload()) == nil)
        fixture.pass(milliseconds: 599_999)
        #expect(try await verifier.refusal(of: fixture.payload(1)) == nil)
        #expect(fixture.asked.count == 2)
        fixture.answer { $0.status = .revoked }
        fixture.pass(milliseconds: 1)
        #expect(try await verifier.refusal(of: fixture.payload(2))?.reason == .chain)
        // The intermediate's answer still counts.
        #expect(fixture.asked.count == 3)
    }

    @Test(arguments: [RevocationMode.soft, .hard])
    func `a fault is remembered for a while and then asked about again`(
        mode: RevocationMode
    ) async throws {
        let fixture = try RevocationFixture()
        let verifier = try fixture.verifier(mode)
        let expected: JSONWebSignatureError.Reason? = mode == .hard ? .undetermined : nil
        for number in 0..<30 {
            #expect(try await verifier.refusal(of: fixture.payload(number))?.reason == expected)
        }
        #expect(fixture.asked.count == 2)
        #expect(verifier.revocationTally.undetermined == 30)
        fixture.answer()
        fixture.pass(milliseconds: RevocationLimits.firstPauseMilliseconds)
        #expect(try await verifier.refusal(of: fixture.payload()) == nil)
        #expect(fixture.asked.count == 4)
        #expect(verifier.revocationTally.undetermined == 30)
    }

    @Test func `a responder that never answers is asked a bounded number of times`() async throws {
        let fixture = try RevocationFixture()
        let verifier = try fixture.verifier(.hard)
        for number in 0..<200 {
            _ = try await verifier.refusal(of: fixture.payload(number % 4))
            fixture.pass(milliseconds: RevocationLimits.longestPauseMilliseconds)
        }
        #expect(fixture.asked.count == 2 * RevocationLimits.failedRounds)
    }

    @Test func `kept answers spare the next run its questions`() async throws {
        let fixture = try RevocationFixture()
        fixture.answer()
        #expect(
            try await fixture.verifier(.hard, isKeeping: true).refusal(of: fixture.payload())
                == nil)
        #expect(fixture.asked.count == 2)
        let end = (RevocationFixture.start / 1000 + 3600) * 1000
        #expect(fixture.state.withLock { $0.keptUntil } == [end, end])
        fixture.pass(milliseconds: 3_000_000)
        #expect(
            try await fixture.verifier(.hard, isKeeping: true).refusal(of: fixture.payload())
                == nil)
        #expect(fixture.asked.count == 2)
        fixture.pass(milliseconds: 600_000)
        #expect(
            try await fixture.verifier(.hard, isKeeping: true).refusal(of: fixture.payload())
                == nil)
        #expect(fixture.asked.count == 4)
    }

    @Test func `a kept revocation refuses without a question`() async throws {
        let fixture = try RevocationFixture()
        fixture.answer { $0.status = .revoked }
        for _ in 0..<2 {
            let verifier = try fixture.verifier(.soft, isKeeping: true)
            #expect(try await verifier.refusal(of: fixture.payload())?.reason == .chain)
        }
        #expect(fixture.asked.count == 2)
    }

    @Test func `a falsified cache costs a request and is not believed`() async throws {
        let fixture = try RevocationFixture()
        fixture.answer { $0.status = .revoked }
        _ = try await fixture.verifier(.hard, isKeeping: true).refusal(of: fixture.payload())
        let forged = try TestOCSPResponse(.leaf, at: RevocationFixture.start)
            .encoded(for: TestSigningChain())
        fixture.state.withLock { state in
            for key in state.kept.keys { state.kept[key] = forged }
        }
        let refusal = try await fixture.verifier(.hard, isKeeping: true)
            .refusal(of: fixture.payload())
        #expect(refusal?.reason == .chain)
        #expect(fixture.asked.count == 4)
    }

    @Test func `faults and doubts are never kept`() async throws {
        let fixture = try RevocationFixture()
        fixture.answer { $0.status = .unknown }
        _ = try await fixture.verifier(.soft, isKeeping: true).refusal(of: fixture.payload())
        #expect(fixture.state.withLock { $0.kept.isEmpty })
    }
}
