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
