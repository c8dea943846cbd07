/// A compact JWS whose signature is not verified: three segments, and no access to the payload.
package struct UnverifiedJWS: Sendable {
    /// The whole text as received.
    let compact: ArraySlice<UInt8>
    let header: ArraySlice<UInt8>
    let payload: ArraySlice<UInt8>
    let signature: ArraySlice<UInt8>

    /// Splits the text at its two dots (RFC 7515, section 7.1).
    ///
    /// - Throws: `.format` when there are not exactly three segments, or it is too long.
    package init(_ compact: ArraySlice<UInt8>) throws(JSONWebSignatureError) {
        guard compact.count <= JWSLimits.compactBytes else {
            throw JSONWebSignatureError(
                .format, "the JWS is longer than \(JWSLimits.compactBytes) bytes")
        }
        let dot = UInt8(ascii: ".")
        guard let first = ByteScan.firstOffset(of: dot, in: compact, from: 0),
            let second = ByteScan.firstOffset(of: dot, in: compact, from: first + 1),
            ByteScan.firstOffset(of: dot, in: compact, from: second + 1) == nil
        else { throw JSONWebSignatureError(.format, "the JWS does not have three segments") }
        let start = compact.startIndex
        self.compact = compact
        self.header = compact[start..<start + first]
        self.payload = compact[start + first + 1..<start + second]
        self.signature = compact[(start + second + 1)...]
        guard header.count <= JWSLimits.headerSegmentBytes else {
            throw JSONWebSignatureError(
                .format, "the JWS header is longer than \(JWSLimits.headerSegmentBytes) bytes")
        }
    }

    package init(_ compact: String) throws(JSONWebSignatureError) {
        try self.init(Array(compact.utf8)[...])
    }
}

/// A JWS whose signature, chain and dates are verified; only `JWSVerifier` creates one.
package struct VerifiedJWS: Sendable {
    /// The text exactly as received.
    package let compact: String
    /// SHA-256 of the text as received, in lowercase hexadecimal.
    package let digest: String
    /// A JSON object.
    package let payload: JSONDocument

    /// SHA-256 of any text as received, in lowercase hexadecimal; also names refused payloads.
    package static func digest(of compact: ArraySlice<UInt8>) -> String {
        SHA256Digest(of: compact).hexadecimal
    }
}
