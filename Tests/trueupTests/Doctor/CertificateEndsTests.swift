import JSONWebSignature
import Subscriptions
import TestSupport
import Testing
import trueup

@Suite struct `The ends of certificates` {
    private let app = AppIdentity(bundleID: "com.example.app", environment: .production)

    private func time(_ text: String) throws -> Timestamp {
        try #require(Timestamp(rfc3339: text))
    }

    @Test(arguments: [
        ("2038-10-01T00:00:00Z", Diagnosis.Outcome.ok),
        ("2038-11-02T00:00:00Z", .warning), ("2039-04-29T23:00:00Z", .warning),
        ("2039-04-30T00:00:00Z", .failed),
    ])
    func `are announced 180 days before Apple's root ends`(
        now: String, outcome: Diagnosis.Outcome
    ) throws {
        let found = Diagnosis.ofRoots(
            [], of: app, trustsApple: true, now: try time(now))
        #expect(found.outcome == outcome)
        #expect(found.status == (outcome == .failed ? .config : .ok))
    }

    @Test func `count the root that ends first`() throws {
        var options = TestSigningChain.Options()
        options.rootValidity = 1_577_836_800..<1_800_000_000
        let root = try CertificateFacts(der: try TestSigningChain(options).rootDER)
        let found = Diagnosis.ofRoots(
            [root], of: app, trustsApple: true, now: try time("2026-11-20T00:00:00Z"))
        #expect(found.outcome == .warning)
        #expect(found.detail.contains("Test Root CA ends on 2027-01-15"))
    }

    @Test func `are warned of for the intermediate, which is not trusted by itself`() throws {
        let late = Diagnosis.ofIntermediate(
            nil, of: app, now: try time("2035-12-01T00:00:00Z"))
        #expect(late.outcome == .warning)
        #expect(late.status == .ok)
        let seen = try CertificateFacts(der: try TestSigningChain().certificates[1])
        let early = Diagnosis.ofIntermediate(
            seen, of: app, now: try time("2026-11-20T00:00:00Z"))
        #expect(early.outcome == .ok)
        #expect(early.detail.contains("Test Developer Relations CA"))
    }
}
