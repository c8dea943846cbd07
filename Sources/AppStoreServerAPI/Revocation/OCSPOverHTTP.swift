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
        var last = OCSPFault("it was not asked")
        for attempt in 1...Self.attempts {
            switch await outcome(of: message) {
            case .answered(let body): return .success(body)
            case .final(let fault): return .failure(fault)
            case .temporary(let fault): last = fault
            }
            guard attempt < Self.attempts else { break }
            do {
                try await sleep(Self.pauseBetweenAttempts)
            } catch {
                return .failure(last)
            }
        }
        return .failure(last)
    }

    private enum Outcome {
        case answered([UInt8])
        /// Another attempt right away would fail in the same way.
        case final(OCSPFault)
        /// Another attempt may succeed.
        case temporary(OCSPFault)
    }

    private func outcome(of message: HTTPRequest) async -> Outcome {
        let response: HTTPResponse
        do {
            response = try await transport.send(message)
        } catch {
            let fault = OCSPFault(error.description)
            return switch error {
            case .connectionFailed, .timedOut, .connectionLost: .temporary(fault)
            case .untrustedServer, .bodyTooLarge, .malformedResponse, .cancelled, .invalidRequest:
                .final(fault)
            }
        }
        guard response.status == 200 else {
            let fault = OCSPFault("it answers with HTTP status \(response.status)")
            return response.status >= 500 || response.status == 429
                ? .temporary(fault) : .final(fault)
        }
        let type = response.header("content-type")?.split(separator: ";").first ?? ""
        guard type.lowercased().filter({ $0 != " " }) == "application/ocsp-response" else {
            return .final(OCSPFault("its answer is not an application/ocsp-response"))
        }
        return .answered(response.body)
    }
}
