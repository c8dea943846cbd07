import AppStoreServerAPI
import HTTPTransport
import JSONWebSignature
import Synchronization
import Testing

struct `OCSP over HTTP` {
    /// Answers in turn; the last one again and again.
    private final class ScriptedTransport: HTTPTransport {
        let requests = Mutex<[HTTPRequest]>([])
        let pauses = Mutex<[Duration]>([])
        private let script: [Result<HTTPResponse, HTTPTransportError>]

        init(_ script: Result<HTTPResponse, HTTPTransportError>...) {
            self.script = script
        }

        func send(_ request: HTTPRequest) async throws(HTTPTransportError) -> HTTPResponse {
            let number = requests.withLock { requests in
                requests.append(request)
                return requests.count - 1
            }
            return try script[min(number, script.count - 1)].get()
        }

        func ask() async -> Result<[UInt8], OCSPFault> {
            let responder = OCSPOverHTTP(
                transport: self, sleep: { pause in self.pauses.withLock { $0.append(pause) } })
            return await responder.response(to: [0x30, 0], at: "http://ocsp.example/x")
        }
    }

    private static func response(
        _ status: Int = 200, type: String? = "application/ocsp-response", body: [UInt8] = [1, 2]
    ) -> Result<HTTPResponse, HTTPTransportError> {
        .success(
            HTTPResponse(
                status: status, headers: type.map { [(name: "content-type", value: $0)] } ?? [],
                body: body, version: "HTTP/1.1"))
    }

    @Test func `posts the request and hands over the body`() async {
        let transport = ScriptedTransport(Self.response())
        #expect(await transport.ask() == .success([1, 2]))
        let requests = transport.requests.withLock { $0 }
        #expect(requests.count == 1)
        #expect(requests[0].method == "POST")
        #expect(requests[0].url == "http://ocsp.example/x")
        #expect(requests[0].body == [0x30, 0])
        #expect(
            requests[0].headers.contains {
                $0.name == "Content-Type" && $0.value == "application/ocsp-request"
            })
        // Plain text on the wire: nothing of ours may travel with it.
        #expect(!requests[0].headers.contains { $0.name.lowercased() == "authorization" })
    }

    @Test(arguments: ["application/ocsp-response", "Application/OCSP-Response; charset=x"])
    func `takes the type however it is spelled`(type: String) async {
        #expect(
            await ScriptedTransport(Self.response(type: type)).ask() == .success([1, 2]))
    }

    @Test(arguments: [
        response(404), response(302), response(401), response(204), response(type: "text/html"),
        response(type: nil), .failure(.bodyTooLarge(limitBytes: 9)),
        .failure(.malformedResponse("x")), .failure(.untrustedServer("x")),
        .failure(.invalidRequest("x")), .failure(.cancelled),
    ])
    func `an answer that another attempt would not mend is a fault at once`(
        outcome: Result<HTTPResponse, HTTPTransportError>
    ) async {
        let transport = ScriptedTransport(outcome)
        guard case .failure = await transport.ask() else {
            Issue.record("was taken for an answer")
            return
        }
        #expect(transport.requests.withLock { $0.count } == 1)
    }

    @Test(arguments: [
        response(500), response(503), response(429), .failure(.connectionFailed("x")),
        .failure(.timedOut("x")), .failure(.connectionLost("x")),
    ])
    func `a passing fault is tried once more after a pause`(
        outcome: Result<HTTPResponse, HTTPTransportError>
    ) async {
        let lasting = ScriptedTransport(outcome)
        guard case .failure = await lasting.ask() else {
            Issue.record("was taken for an answer")
            return
        }
        #expect(lasting.requests.withLock { $0.count } == OCSPOverHTTP.attempts)
        #expect(lasting.pauses.withLock { $0 } == [OCSPOverHTTP.pauseBetweenAttempts])
        let passing = ScriptedTransport(outcome, Self.response())
        #expect(await passing.ask() == .success([1, 2]))
    }
}
