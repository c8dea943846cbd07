import Crypto
package import HTTPTransport
package import Subscriptions

/// A receiver of the company's over HTTPS: a POST per event; any 2xx says that it has it.
package struct WebhookDestination: EventDestination {
    package let timeout: Duration
    package let concurrency = 4
    private let url: String
    private let signature: WebhookSignature
    private let transport: any HTTPTransport
    private let wallClock: @Sendable () -> Timestamp

    /// - Parameters:
    ///   - url: never printed whole: its path may be a secret.
    ///   - signature: made again for every attempt.
    ///   - transport: it must itself end an exchange after `timeout`.
    ///   - timeout: of one exchange.
    ///   - wallClock: what the receiver compares the signature's time with.
    package init(
        url: String, signature: WebhookSignature, transport: any HTTPTransport, timeout: Duration,
        wallClock: @escaping @Sendable () -> Timestamp
    ) {
        self.url = url
        self.signature = signature
        self.transport = transport
        self.timeout = timeout
        self.wallClock = wallClock
    }

    package func deliver(_ event: OutboxEvent) async -> DeliveryAnswer {
        let body = Array(event.body.utf8)
        let now = wallClock()
        let request = HTTPRequest(
            method: "POST", url: url,
            headers: [
                ("Content-Type", "application/json"),
                ("Idempotency-Key", event.idempotencyKey),
                ("Trueup-Event", event.event),
                (
                    "Trueup-Signature",
                    signature.header(for: body, unixSeconds: now.unixMilliseconds / 1000)
                ),
            ], body: body)
        do throws(HTTPTransportError) {
            return answer(to: try await transport.send(request), at: now)
        } catch {
            return .failed("\(error)")
        }
    }

    private func answer(to response: HTTPResponse, at now: Timestamp) -> DeliveryAnswer {
        switch response.status {
        case 200..<300: return .accepted
        case 300..<400:
            return .failed(
                "the receiver answered \(response.status): redirects are not followed")
        case 429, 503:
            return .failed(
                "the receiver answered \(response.status)",
                retryAfter: RetryAfter.wait(
                    for: response.header("retry-after"), nowUnixMilliseconds: now.unixMilliseconds))
        default: return .failed("the receiver answered \(response.status)")
        }
    }
}

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
