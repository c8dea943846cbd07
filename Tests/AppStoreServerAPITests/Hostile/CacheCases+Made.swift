import JSONWebSignature
import Subscriptions
import TestSupport

/// Cases made here, for where the conformance vectors are not at hand.
extension CacheCases {
    private static let leafSeconds: Range<Int64> = 1_700_000_000..<1_760_000_000

    static func made() throws -> CacheCases {
        var options = TestSigningChain.Options()
        options.leafValidity = leafSeconds
        let chain = try TestSigningChain(options)
        let second = try TestSigningChain()
        var cases = try dated(chain) + broken(chain) + foreign(to: chain)
        // More headers than are remembered, each twice: what made room is met again.
        for round in 0..<2 {
            for number in 0...(JWSLimits.cachedLeaves + 8) {
                let padded =
                    "ES256\"" + String(repeating: " ", count: number) + ",\"n\":\"\(number)"
                cases.append(
                    made(
                        "header \(number), round \(round)",
                        try second.sign(SamplePayloads.transaction(), algorithm: padded)))
            }
        }
        let roots = try TrustedRoots(
            fingerprints: [chain.rootFingerprint], certificateFiles: [second.rootDER])
        return CacheCases(roots: roots, cases: cases)
    }

    /// Payloads under one leaf, signed before, during and after its validity.
    private static func dated(_ chain: TestSigningChain) throws -> [CacheCase] {
        let seconds = [
            leafSeconds.lowerBound - 1, leafSeconds.lowerBound, 1_750_000_000,
            leafSeconds.upperBound, leafSeconds.upperBound + 1, 0, -1,
        ]
        var cases: [CacheCase] = []
        for second in seconds {
            let date: [String: CanonicalJSON] = ["signedDate": .integer(second * 1000)]
            cases += [
                made("transaction at \(second)", try chain.sign(SamplePayloads.transaction(date))),
                made(
                    "renewal info at \(second)", try chain.sign(SamplePayloads.renewalInfo(date)),
                    .renewalInfo),
                made(
                    "notification at \(second)",
                    try chain.sign(SamplePayloads.notification(data: [:], date)), .notification),
            ]
        }
        // Judged at the present, when the leaf has ended.
        let undated = try chain.sign(SamplePayloads.transaction(["signedDate": .null]))
        return cases + [made("no date", undated)]
    }

    private static func broken(_ chain: TestSigningChain) throws -> [CacheCase] {
        let genuine = try chain.sign(SamplePayloads.transaction())
        let other = try chain.sign(SamplePayloads.transaction(["price": .integer(1)]))
        let parts = genuine.split(separator: ".")
        let otherParts = other.split(separator: ".")
        let texts: [(String, String)] = [
            ("genuine", genuine), ("its twin", other),
            ("payload of its twin", "\(parts[0]).\(otherParts[1]).\(parts[2])"),
            ("signature of its twin", "\(parts[0]).\(parts[1]).\(otherParts[2])"),
            ("no signature", "\(parts[0]).\(parts[1])."),
            ("no payload", "\(parts[0])..\(parts[2])"),
            ("short signature", "\(parts[0]).\(parts[1]).AAAA"),
            ("padded", genuine + "="), ("line end", genuine + "\n"),
            ("four segments", genuine + "."),
            ("no header", ".\(parts[1]).\(parts[2])"), ("nothing", ""),
            ("payload is a list", try chain.sign("[]")),
            ("payload is no JSON", try chain.sign("x")),
            (
                "text for a date",
                try chain.sign(SamplePayloads.transaction(["price": .string("1")]))
            ),
            ("another app", try chain.sign(SamplePayloads.transaction(["bundleId": .string("x")]))),
            (
                "another environment",
                try chain.sign(SamplePayloads.transaction(["environment": .string("Sandbox")]))
            ),
            ("no algorithm", try chain.sign(SamplePayloads.transaction(), algorithm: "none")),
            (
                "two certificates",
                try chain.sign(
                    SamplePayloads.transaction(),
                    certificates: Array(chain.certificates.prefix(2)))
            ),
            (
                "swapped certificates",
                try chain.sign(
                    SamplePayloads.transaction(),
                    certificates: [
                        chain.certificates[1], chain.certificates[0], chain.certificates[2],
                    ])
            ),
        ]
        return texts.map { made($0.0, $0.1) }
    }

    private static func foreign(to chain: TestSigningChain) throws -> [CacheCase] {
        let stranger = try TestSigningChain()
        let attached = [stranger.certificates[0], stranger.certificates[1], chain.rootDER]
        let borrowed = [chain.certificates[0], stranger.certificates[1], chain.rootDER]
        let payload = SamplePayloads.transaction()
        return [
            made("foreign chain", try stranger.sign(payload)),
            made("root attached", try stranger.sign(payload, certificates: attached)),
            made("foreign intermediate", try chain.sign(payload, certificates: borrowed)),
            made("foreign key", try stranger.sign(payload, certificates: chain.certificates)),
        ]
    }

    private static func made(
        _ name: String, _ text: String, _ kind: CacheCase.Kind = .transaction
    ) -> CacheCase {
        CacheCase(
            name: name, kind: kind, text: Array(text.utf8),
            app: AppIdentity(bundleID: "com.example.app", environment: .production),
            appAppleID: 1_234_567_890)
    }
}
