/// Why a JWS was refused or could not be created; never quotes a payload or a key.
package struct JSONWebSignatureError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Reason: Hashable, Sendable {
        /// Not a compact JWS, not ES256, no usable `x5c`, or a payload that is not a JSON object.
        case format
        /// `x5c` has another number of entries than three.
        case chainLength
        /// An `x5c` entry, or a configured root, is not base64 of a DER certificate.
        case certificate
        /// The chain is invalid, does not lead to a trusted root, was not valid when the payload
        /// was signed, or contains a revoked certificate.
        case chain
        /// The signature does not verify with the leaf's key.
        case signature
        /// Everything else is valid, but it is unknown whether a certificate is revoked.
        case undetermined
        /// A private key cannot be read.
        case key
    }

    package let reason: Reason
    /// A sentence for the person on call.
    package let detail: String

    package init(_ reason: Reason, _ detail: String) {
        self.reason = reason
        self.detail = detail
    }

    package var description: String { detail }
}
