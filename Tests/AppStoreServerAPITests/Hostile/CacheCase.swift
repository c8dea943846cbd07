import AppStoreServerAPI
import JSONWebSignature
import Subscriptions
import TestSupport

/// One signed text, whose it is said to be, and under which roots it is judged.
struct CacheCase: Sendable {
    enum Kind: String, Sendable {
        case transaction, renewalInfo, notification, appTransaction
    }

    let name: String
    let kind: Kind
    let text: [UInt8]
    let app: AppIdentity
    let appAppleID: Int64?

    /// Everything that a verdict consists of: the reason and sentence, or the digest and the model.
    func verdict(by verifier: JWSVerifier) async -> String {
        let verifier = SignedDataVerifier(app: app, appAppleID: appAppleID, verifier: verifier)
        do {
            switch kind {
            case .transaction: return Self.text(try await verifier.transaction(text[...]))
            case .renewalInfo: return Self.text(try await verifier.renewalInfo(text[...]))
            case .notification: return Self.text(try await verifier.notification(text[...]))
            case .appTransaction: return Self.text(try await verifier.appTransaction(text[...]))
            }
        } catch {
            return "\(error.reason.rawValue): \(error.detail)"
        }
    }

    private static func text(_ verified: VerifiedModel<some AppStoreModel>) -> String {
        "valid \(verified.evidence.digest.hexadecimal) \(verified.model)"
    }
}

/// Cases that are judged under the same roots.
struct CacheCases: Sendable {
    let roots: TrustedRoots
    let cases: [CacheCase]

    /// The present in the cases that depend on it, as in the conformance suite.
    static let presentMilliseconds: Int64 = 1_795_219_200_000

    func verifier() throws -> JWSVerifier {
        try JWSVerifier(
            roots: roots, markers: AppleCertificates.markers, now: { Self.presentMilliseconds })
    }

    /// What a verifier that has met nothing before says of each.
    func freshVerdicts() async throws -> [String] {
        var verdicts: [String] = []
        for item in cases { verdicts.append(await item.verdict(by: try verifier())) }
        return verdicts
    }
}
