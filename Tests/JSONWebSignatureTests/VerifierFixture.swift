import JSONWebSignature
import TestSupport

/// A verifier that trusts one test chain, and the moment at which its payloads are signed.
struct VerifierFixture {
    static let signedDate: Int64 = 1_750_000_000_000
    static let markers = CertificateMarkers(
        intermediate: TestSigningChain.intermediateMarker, leaf: TestSigningChain.leafMarker)

    let verifier: JWSVerifier

    init(trusting roots: TrustedRoots, now: Int64 = signedDate) throws {
        verifier = try JWSVerifier(roots: roots, markers: Self.markers, now: { now })
    }

    init(trusting chain: TestSigningChain, now: Int64 = signedDate) throws {
        try self.init(trusting: TrustedRoots(fingerprints: [chain.rootFingerprint]), now: now)
    }

    static func payload(signedDate: Int64 = signedDate) -> String {
        "{\"signedDate\":\(signedDate)}"
    }

    func verify(_ compact: String) async throws(JSONWebSignatureError) -> VerifiedJWS {
        try await verifier.verify(UnverifiedJWS(compact), signedDate: Self.signedDate(in:))
    }

    /// Why a JWS was refused; `nil` when it was not.
    func refusal(of compact: String) async -> JSONWebSignatureError.Reason? {
        do {
            _ = try await verify(compact)
            return nil
        } catch {
            return error.reason
        }
    }

    private static func signedDate(in payload: JSONDocument) -> Int64? {
        payload.root.members.first { $0.name.isText("signedDate") }?.value.integer
    }
}
