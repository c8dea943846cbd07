import Crypto
import Subscriptions

/// The identity of a finding over the nights.
enum FindingIdentity {
    /// The first 24 hexadecimal digits of SHA-256 over what the finding is about.
    static func of(_ finding: Finding) -> String {
        let parts = [
            finding.kind.rawValue, finding.bundleID, finding.environment,
            finding.key?.originalTransactionID ?? "", finding.field ?? "",
        ]
        return String(Hexadecimal.sha256(of: parts.joined(separator: "\u{1F}").utf8).prefix(24))
    }
}

/// SHA-256 in lowercase hexadecimal digits.
enum Hexadecimal {
    private static let digits = Array("0123456789abcdef".utf8)

    static func sha256(of text: some Collection<UInt8>) -> String {
        let digest = SHA256.hash(data: Array(text))
        var output: [UInt8] = []
        output.reserveCapacity(64)
        for byte in digest {
            output.append(digits[Int(byte >> 4)])
            output.append(digits[Int(byte & 15)])
        }
        return String(decoding: output, as: UTF8.self)
    }
}
