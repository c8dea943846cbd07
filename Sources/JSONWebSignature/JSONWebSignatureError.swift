/// The reason why a JWS was refused or could not be created; never quotes a payload or a key.
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

/// The limits of verifying signatures.
///
/// A real transaction has 5 KB, a notification with its two nested payloads 25 KB, and a header
/// with three certificates 4.5 KB. The limits leave room and bound the cost of hostile input.
package enum JWSLimits {
    package static let compactBytes = 1_048_576
    package static let headerSegmentBytes = 65_536
    /// Nesting of objects and arrays in a JSON text.
    package static let jsonDepth = 64
    /// Verified leaf certificates in the cache; Apple uses one or two at a time.
    package static let cachedLeaves = 32
    package static let configuredRoots = 64
}

/// The limits of checking revocation.
package enum RevocationLimits {
    /// Certificates whose status is kept in memory; Apple uses two or three at a time.
    package static let rememberedCertificates = 128
    /// How many failed requests about one certificate a run makes at most.
    package static let failedRounds = 24
    /// The pause after the first failed request; it doubles after each further one.
    package static let firstPauseMilliseconds: Int64 = 30_000
    package static let longestPauseMilliseconds: Int64 = 600_000
    /// Of a response; real ones have less than 4 KB.
    package static let answerBytes = 65_536
    /// Of a library's or a server's error text inside our messages.
    package static let reasonCharacters = 200
}
