/// Where bytes from outside enter verification.
package enum FuzzEntry: String, CaseIterable, Sendable {
    /// A whole compact JWS.
    case jws
    /// A decoded protected header, put before a genuine payload and signature.
    case header
    /// A decoded payload; an object is well signed, so that everything behind a signature is met.
    case payload
    /// The body of an answer, unsigned.
    case answer
    /// A certificate in DER, in each of the three places of a chain and as a configured root.
    case certificate
    /// An OCSP responder's answer about the leaf, beside a genuine one about the intermediate.
    case revocation
}
