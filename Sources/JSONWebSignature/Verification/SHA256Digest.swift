import Crypto
import FoundationEssentials

/// A SHA-256 digest, which can be compared with a fingerprint.
struct SHA256Digest: Hashable, Sendable {
    private static let alphabet = Array("0123456789abcdef".utf8)

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

    var hexadecimal: String {
        let alphabet = Self.alphabet
        var output: [UInt8] = []
        output.reserveCapacity(64)
        for byte in bytes {
            output.append(alphabet[Int(byte >> 4)])
            output.append(alphabet[Int(byte & 0xF)])
        }
        return String(decoding: output, as: UTF8.self)
    }
}
