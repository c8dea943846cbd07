/// What the simulated revocation service answers.
package enum OCSPMode: String, Hashable, Sendable, CaseIterable {
    case good
    /// The same, signed by a certificate that the issuer made for OCSP alone.
    case delegated
    /// The leaf is revoked; the intermediate is good.
    case revoked
    /// The intermediate is revoked; the leaf is good.
    case revokedIntermediate = "revoked_intermediate"
    case unknown
    /// A good answer that comes after `delay_ms`.
    case late
    /// A good answer that ended days ago.
    case expired
    /// Half of a good answer.
    case malformed
    /// A good answer with the signature of another text.
    case badSignature = "bad_signature"
    /// A good answer signed by a key that the issuer knows nothing of.
    case foreignSigner = "foreign_signer"
    /// A good answer about another certificate.
    case otherCertificate = "other_certificate"
    /// OCSP's own "try later", unsigned.
    case tryLater = "try_later"
    /// A sign-in page with status 200.
    case html
    case notFound = "not_found"
    case serverError = "server_error"
    case redirect
    /// Nobody listens.
    case absent

    static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }
}
