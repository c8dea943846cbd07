/// The SHA-256 of a signed payload exactly as received, in lowercase hexadecimal.
package struct EvidenceDigest: Hashable, Sendable, CustomStringConvertible {
    package let hexadecimal: String

    /// - Parameter hexadecimal: 64 lowercase hexadecimal digits.
    package init(hexadecimal: String) {
        self.hexadecimal = hexadecimal
    }

    package var description: String { hexadecimal }
}

/// A compact JWS as received and its digest: what a finding or a correction rests on.
package struct SignedPayload: Hashable, Sendable {
    package let digest: EvidenceDigest
    /// Nearly always a part of the answer that it came in: what agrees is never looked at again.
    private let received: ArraySlice<UInt8>

    package var jws: String { String(decoding: received, as: UTF8.self) }

    /// - Parameters:
    ///   - digest: The digest of the text.
    ///   - received: The text.
    package init(digest: EvidenceDigest, received: ArraySlice<UInt8>) {
        self.digest = digest
        self.received = received
    }

    package init(digest: EvidenceDigest, jws: String) {
        self.init(digest: digest, received: Array(jws.utf8)[...])
    }

    /// The digest tells payloads apart; to hash the text as well would read all of it.
    package func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}

extension Sequence<UInt8> {
    /// The bytes in lowercase hexadecimal digits, as `sha256sum` prints them.
    package var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(underestimatedCount * 2)
        for byte in self {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// Texts by their UTF-8 bytes, the order of SQLite's BINARY collation and of everything we write.
///
/// Swift's own comparison takes equivalent spellings for equal. Among texts in ASCII, which nearly
/// all are, both say the same, and Swift's compares many bytes at once.
extension String {
    /// Whether both have the same bytes.
    func hasSameBytes(as other: String) -> Bool {
        // Texts with the same bytes are equal in any case.
        guard self == other else { return false }
        return isASCII && other.isASCII || utf8.elementsEqual(other.utf8)
    }

    /// Whether the bytes of this text come before those of another.
    func precedesByBytes(_ other: String) -> Bool {
        isASCII && other.isASCII
            ? self < other : utf8.lexicographicallyPrecedes(other.utf8)
    }

    /// Only texts that are known to be; others are compared byte by byte.
    private var isASCII: Bool { utf8Span.isKnownASCII }
}
