import Crypto
import Subscriptions

/// Signs what is sent to a webhook, so that its receiver knows who sent it and when.
///
/// The header is `t=<UNIX seconds>,v1=<hexadecimal>`: HMAC-SHA256 over the time as written, a dot
/// and the body as sent. A receiver that refuses old times cannot be sent a recorded request again.
package struct WebhookSignature: Sendable {
    /// Shorter ones could be guessed.
    package static let minimumSecretBytes = 16

    private let key: SymmetricKey

    package init(secret: [UInt8]) {
        key = SymmetricKey(data: secret)
    }

    package func header(for body: [UInt8], unixSeconds: Int64) -> String {
        let code = HMAC<SHA256>.authenticationCode(
            for: Array("\(unixSeconds).".utf8) + body, using: key)
        return "t=\(unixSeconds),v1=\(code.hexadecimal)"
    }
}
