package import HTTPTransport
package import JSONWebSignature

/// Sends OCSP requests as plain HTTP POST (RFC 6960, appendix A.1).
///
/// The transport limits time and size, follows no redirect and decides which addresses are allowed.
/// The response is signed and verified elsewhere; here only its status and media type are checked.
package struct OCSPOverHTTP: OCSPResponder {
    /// How often one request is sent before its responder counts as unreachable.
    package static let attempts = 2
    package static let pauseBetweenAttempts = Duration.seconds(1)

    private let transport: any HTTPTransport
    private let sleep: @Sendable (Duration) async throws -> Void

    /// - Parameters:
    ///   - transport: One that may connect to the addresses in certificates.
    ///   - sleep: Waits between attempts.
    package init(
        transport: any HTTPTransport,
        sleep: @escaping @Sendable (Duration) async throws -> Void = {
            try await Task.sleep(for: $0)
        }
    ) {
        self.transport = transport
        self.sleep = sleep
    }

    package func response(
        to request: [UInt8], at address: String
    ) async -> Result<[UInt8], OCSPFault> {
        let message = HTTPRequest(
            method: "POST", url: address,
            headers: [
                (name: "Content-Type", value: "application/ocsp-request"),
                (name: "Accept", value: "application/ocsp-response"),
            ], body: request)
        var attempt = 1
        while true {
            let (result, mayChange) = await outcome(of: message)
            guard mayChange, attempt < Self.attempts else { return result }
            attempt += 1
            do {
                try await sleep(Self.pauseBetweenAttempts)
            } catch {
                return result
            }
        }
    }

    /// One attempt, and whether another one may succeed: some would fail in the same way.
    private func outcome(
        of message: HTTPRequest
    ) async -> (result: Result<[UInt8], OCSPFault>, mayChange: Bool) {
        let response: HTTPResponse
        do {
            response = try await transport.send(message)
        } catch {
            let fault = OCSPFault(error.description)
            return switch error {
            case .connectionFailed, .timedOut, .connectionLost: (.failure(fault), true)
            case .untrustedServer, .bodyTooLarge, .malformedResponse, .cancelled, .invalidRequest:
                (.failure(fault), false)
            }
        }
        guard response.status == 200 else {
            let fault = OCSPFault("it answers with HTTP status \(response.status)")
            return (.failure(fault), response.status >= 500 || response.status == 429)
        }
        let type = response.header("content-type")?.split(separator: ";").first ?? ""
        guard type.lowercased().filter({ $0 != " " }) == "application/ocsp-response" else {
            return (.failure(OCSPFault("its answer is not an application/ocsp-response")), false)
        }
        return (.success(response.body), false)
    }
}
