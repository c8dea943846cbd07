import Crypto
import FoundationEssentials

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
    package let received: ArraySlice<UInt8>
    /// SHA-256 of the text as received, in lowercase hexadecimal.
    package let digest: String
    /// A JSON object.
    package let payload: JSONDocument

    package var compact: String { String(decoding: received, as: UTF8.self) }

    /// SHA-256 of any text as received, in lowercase hexadecimal; also names refused payloads.
    package static func digest(of compact: ArraySlice<UInt8>) -> String {
        SHA256Digest(of: compact).hexadecimal
    }
}

extension UnverifiedJWS {
    /// The entries of `x5c` in the protected header (RFC 7515, section 4): certificates in DER, the leaf
    /// first.
    ///
    /// Unknown members are ignored. `crit` is refused whatever it lists, because no extension is
    /// supported. A member that is needed and is there twice is refused, because parsers differ in
    /// which one they use.
    ///
    /// - Throws: `.format`, `.chainLength`, or `.certificate` for entries that are not base64.
    func chainEntries() throws(JSONWebSignatureError) -> [[UInt8]] {
        guard let bytes = Base64.decodeURL(header) else {
            throw JSONWebSignatureError(.format, "the JWS header is not base64url")
        }
        let root = try JSONDocument(bytes).root
        guard root.isObject else {
            throw JSONWebSignatureError(.format, "the JWS header is not a JSON object")
        }
        var algorithm: JSONValue?
        var chain: JSONValue?
        for (name, value) in root.members {
            if name.isText("alg") {
                guard algorithm == nil else { throw Self.duplicate("alg") }
                algorithm = value
            } else if name.isText("x5c") {
                guard chain == nil else { throw Self.duplicate("x5c") }
                chain = value
            } else if name.isText("crit") || name.isText("b64") {
                throw JSONWebSignatureError(.format, "the JWS header demands an extension")
            }
        }
        // Pinned, never taken from the header: otherwise `none` or an HMAC keyed with the public
        // key would pass.
        guard let algorithm, algorithm.isText("ES256") else {
            throw JSONWebSignatureError(.format, "the JWS is not signed with ES256")
        }
        guard let chain, chain.isArray else {
            throw JSONWebSignatureError(.format, "the JWS header has no certificate chain")
        }
        return try Self.entries(of: chain)
    }

    private static func entries(of chain: JSONValue) throws(JSONWebSignatureError) -> [[UInt8]] {
        let entries = chain.elements
        guard entries.count == CertificateChain.length else {
            throw JSONWebSignatureError(
                .chainLength,
                "x5c has \(entries.count) certificates instead of \(CertificateChain.length)")
        }
        var certificates: [[UInt8]] = []
        for entry in entries {
            guard let text = entry.textBytes else {
                throw JSONWebSignatureError(.format, "x5c has an entry that is not a text")
            }
            guard let certificate = Base64.decodeStandard(text) else {
                throw JSONWebSignatureError(.certificate, "x5c has an entry that is not base64")
            }
            certificates.append(certificate)
        }
        return certificates
    }

    private static func duplicate(_ name: String) -> JSONWebSignatureError {
        JSONWebSignatureError(.format, "the JWS header names \(name) twice")
    }
}

/// A SHA-256 digest, which can be compared with a fingerprint.
struct SHA256Digest: Hashable, Sendable {
    let bytes: [UInt8]

    init(of bytes: some DataProtocol) {
        self.bytes = Array(SHA256.hash(data: bytes))
    }

    init(_ digest: SHA256.Digest) {
        self.bytes = Array(digest)
    }

    /// Reads 64 hexadecimal digits.
    init?(hexadecimal: String) {
        let digits = hexadecimal.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == 64, hexadecimal.utf8.count == 64 else { return nil }
        self.bytes = (0..<32).map { index in
            let high = digits[index * 2]
            let low = digits[index * 2 + 1]
            return UInt8(high << 4 | low)
        }
    }

    var hexadecimal: String { bytes.hexadecimal }
}

private let hexadecimalDigits = Array("0123456789abcdef".utf8)

extension Collection<UInt8> {
    /// The bytes in lowercase hexadecimal digits.
    var hexadecimal: String {
        let digits = hexadecimalDigits
        var output: [UInt8] = []
        output.reserveCapacity(count * 2)
        for byte in self {
            output.append(digits[Int(byte >> 4)])
            output.append(digits[Int(byte & 0xF)])
        }
        return String(decoding: output, as: UTF8.self)
    }
}
