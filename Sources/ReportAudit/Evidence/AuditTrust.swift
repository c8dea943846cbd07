import AppStoreServerAPI
import JSONWebSignature

/// Whom an audit trusts: Apple's root, and roots that somebody gave by hand.
///
/// What a report says of its own roots is never a reason to trust them.
package struct AuditTrust: Sendable {
    /// Believes Apple's root alone.
    let apple: JWSVerifier
    /// Believes the given roots alone; `nil` when none was given.
    let given: JWSVerifier?
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

    /// Judges every chain at its payload's own date; one without a date was valid at no time.
    static func verifier(for roots: TrustedRoots) throws(JSONWebSignatureError) -> JWSVerifier {
        try JWSVerifier(roots: roots, markers: AppleCertificates.markers, now: { .min })
    }

    func names(_ fingerprint: String) -> Bool {
        fingerprint == AppleCertificates.rootG3Fingerprint
            || givenFingerprints.contains(fingerprint)
    }

    /// The verifier for a chain that brings this root along.
    ///
    /// Apple's root is never mixed with others: what is said to lead to it does.
    func verifier(forRoot fingerprint: String?) -> JWSVerifier {
        fingerprint == AppleCertificates.rootG3Fingerprint ? apple : given ?? apple
    }
}
