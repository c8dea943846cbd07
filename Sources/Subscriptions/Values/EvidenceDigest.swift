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
    package let jws: String

    package init(digest: EvidenceDigest, jws: String) {
        self.digest = digest
        self.jws = jws
    }

    /// The digest tells payloads apart; to hash the text as well would read all of it.
    package func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}
