/// What the simulated OCSP responder answers; the raw values are those of `--ocsp`.
package enum OCSPMode: String, Hashable, Sendable, CaseIterable {
    case good
    /// Good, signed by a delegated OCSP signing certificate.
    case delegated
    /// The leaf is revoked; the intermediate is good.
    case revoked
    /// The intermediate is revoked; the leaf is good.
    case revokedIntermediate = "revoked_intermediate"
    case unknown
    /// A good answer after `delay_ms`.
    case late
    /// A good answer whose nextUpdate was days ago.
    case expired
    /// Half of a good answer.
    case malformed
    /// A good answer whose signature is of other data.
    case badSignature = "bad_signature"
    /// A good answer signed by a key that the issuer did not certify.
    case foreignSigner = "foreign_signer"
    /// A good answer about another certificate.
    case otherCertificate = "other_certificate"
    /// The unsigned OCSP status tryLater.
    case tryLater = "try_later"
    /// A sign-in page with status 200.
    case html
    case notFound = "not_found"
    case serverError = "server_error"
    case redirect
    /// Nothing listens.
    case absent

    static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }
}
