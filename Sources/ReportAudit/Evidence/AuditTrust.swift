import AppStoreServerAPI
import JSONWebSignature

/// The roots that an audit trusts: Apple's, and roots that the caller gave.
///
/// The roots that a report names itself are never trusted because of that.
package struct AuditTrust: Sendable {
    /// Trusts only Apple's root.
    let apple: JWSVerifier
    /// Trusts only the given roots; `nil` when none was given.
    let given: JWSVerifier?
    /// Plan and corrections name the same payloads; this takes some three megabytes.
    private static let rememberedPayloads = 1 << 15
    private let givenFingerprints: Set<String>

    /// - Parameter certificateFiles: Contents of files: one certificate in DER, or several in PEM.
    /// - Throws: `.certificate` when one of them cannot be read.
    package init(certificateFiles: [[UInt8]]) throws(AuditFailure) {
        do throws(JSONWebSignatureError) {
            let roots = try TrustedRoots(fingerprints: [], certificateFiles: certificateFiles)
            givenFingerprints = Set(roots.listing.map(\.fingerprint))
            given = certificateFiles.isEmpty ? nil : try Self.verifier(for: roots)
            apple = try Self.verifier(
                for: TrustedRoots(fingerprints: [AppleCertificates.rootG3Fingerprint]))
        } catch {
            throw .certificate("\(error)")
        }
    }

    /// Checks every chain at its payload's date; a payload without a date is never valid.
    static func verifier(for roots: TrustedRoots) throws(JSONWebSignatureError) -> JWSVerifier {
        try JWSVerifier(
            roots: roots, markers: AppleCertificates.markers, remembering: rememberedPayloads,
            now: { .min })
    }

    func names(_ fingerprint: String) -> Bool {
        fingerprint == AppleCertificates.rootG3Fingerprint
            || givenFingerprints.contains(fingerprint)
    }

    /// The verifier for a chain that contains this root.
    ///
    /// Apple's root is never mixed with others, so that evidence that counts as Apple's leads to
    /// it.
    func verifier(forRoot fingerprint: String?) -> JWSVerifier {
        fingerprint == AppleCertificates.rootG3Fingerprint ? apple : given ?? apple
    }
}
