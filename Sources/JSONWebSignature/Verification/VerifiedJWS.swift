/// A JWS whose signature, chain and dates held; only `JWSVerifier` makes one.
package struct VerifiedJWS: Sendable {
    /// The text exactly as received.
    package let compact: String
    /// SHA-256 of the text as received, in lowercase hexadecimal.
    package let digest: String
    /// A JSON object.
    package let payload: JSONDocument

    /// SHA-256 of any text as received, in lowercase hexadecimal: how refused payloads are named.
    package static func digest(of compact: ArraySlice<UInt8>) -> String {
        SHA256Digest(of: compact).hexadecimal
    }
}
