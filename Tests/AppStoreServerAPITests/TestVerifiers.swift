import AppStoreServerAPI
import JSONWebSignature
import Subscriptions
import TestSupport

/// Verifiers of tests; the present time is fixed.
enum TestVerifiers {
    static let signedMilliseconds: Int64 = 1_750_000_000_000

    static let trustingNothing: JWSVerifier = {
        do {
            return try jwsVerifier(trusting: TrustedRoots(fingerprints: []))
        } catch {
            preconditionFailure("\(error)")
        }
    }()

    static func verifier(
        trusting chain: TestSigningChain, bundleID: String = "com.example.app",
        environment: AppStoreEnvironment = .production, appAppleID: Int64? = 1_234_567_890
    ) throws -> SignedDataVerifier {
        SignedDataVerifier(
            app: AppIdentity(bundleID: bundleID, environment: environment), appAppleID: appAppleID,
            verifier: try jwsVerifier(
                trusting: TrustedRoots(fingerprints: [chain.rootFingerprint])))
    }

    private static func jwsVerifier(
        trusting roots: TrustedRoots
    ) throws(JSONWebSignatureError) -> JWSVerifier {
        try JWSVerifier(
            roots: roots, markers: AppleCertificates.markers, now: { signedMilliseconds })
    }
}
