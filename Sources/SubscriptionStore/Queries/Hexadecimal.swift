import Crypto

/// Bytes, and SHA-256 above all, in lowercase hexadecimal digits.
enum Hexadecimal {
    private static let digits = Array("0123456789abcdef".utf8)

    static func sha256(of text: some Collection<UInt8>) -> String {
        self.text(of: SHA256.hash(data: Array(text)))
    }

    static func text(of bytes: some Sequence<UInt8>) -> String {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.underestimatedCount * 2)
        for byte in bytes {
            output.append(digits[Int(byte >> 4)])
            output.append(digits[Int(byte & 15)])
        }
        return String(decoding: output, as: UTF8.self)
    }
}
