import Crypto
import Subscriptions

/// SHA-256 in hexadecimal digits.
enum Hexadecimal {
    static func sha256(of text: some Collection<UInt8>) -> String {
        SHA256.hash(data: Array(text)).hexadecimal
    }
}
