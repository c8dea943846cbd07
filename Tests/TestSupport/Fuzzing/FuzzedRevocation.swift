import AppStoreServerAPI
import JSONWebSignature

/// A verifier in mode `hard` whose responder answers about the leaf with whatever is fed in.
struct FuzzedRevocation: Sendable {
    private let chain: TestSigningChain
    private let payload: String
    private let aboutIntermediate: [UInt8]
    /// A part of the genuine answers about the leaf that their signatures cover.
    private let signedGood: [UInt8]
    private let signedRevoked: [UInt8]

    /// Genuine answers about the leaf: good, revoked and unknown.
    let seeds: [[UInt8]]

    /// What stands around the signed data at least: lengths before, algorithm and signature behind.
    private static let unsignedBytes = (front: 50, back: 130)

    init() throws {
        var options = TestSigningChain.Options()
        options.leafResponder = "http://ocsp.example/leaf"
        options.intermediateResponder = "http://ocsp.example/intermediate"
        chain = try TestSigningChain(options)
        payload = try chain.sign("{\"signedDate\":\(FuzzSeeds.signedMilliseconds)}")
        aboutIntermediate = try TestOCSPResponse(.intermediate, at: FuzzSeeds.signedMilliseconds)
            .encoded(for: chain)
        var answer = TestOCSPResponse(.leaf, at: FuzzSeeds.signedMilliseconds)
        let good = try answer.encoded(for: chain)
        signedGood = Self.signedPart(of: good)
        answer.status = .revoked
        let revoked = try answer.encoded(for: chain)
        signedRevoked = Self.signedPart(of: revoked)
        answer.status = .unknown
        seeds = [good, revoked, try answer.encoded(for: chain)]
    }

    private static func signedPart(of answer: [UInt8]) -> [UInt8] {
        Array(answer.dropFirst(unsignedBytes.front).dropLast(unsignedBytes.back))
    }

    /// What is wrong with how an answer was taken: only what the issuer signed may tell anything.
    func fault(of bytes: [UInt8]) async throws -> String? {
        let verifier = try JWSVerifier(
            roots: TrustedRoots(fingerprints: [chain.rootFingerprint]),
            markers: AppleCertificates.markers,
            revocation: RevocationCheck(
                mode: .hard, responder: Responder(leaf: bytes, intermediate: aboutIntermediate),
                cache: nil, now: { FuzzSeeds.signedMilliseconds }),
            now: { FuzzSeeds.signedMilliseconds })
        do {
            _ = try await verifier.verify(UnverifiedJWS(payload)) { _ in
                FuzzSeeds.signedMilliseconds
            }
            return bytes.contains(signedGood) ? nil : "an answer that nobody signed says good"
        } catch {
            // A payload that is well signed is refused by a signed "revoked" and by nothing else.
            return error.reason == .undetermined || bytes.contains(signedRevoked)
                ? nil : "an answer that nobody signed refuses a payload: \(error)"
        }
    }

    private struct Responder: OCSPResponder {
        let leaf: [UInt8]
        let intermediate: [UInt8]

        func response(
            to request: [UInt8], at address: String
        ) async -> Result<[UInt8], OCSPFault> {
            .success(address.hasSuffix("leaf") ? leaf : intermediate)
        }
    }
}
