import HTTPTransport
import TestSupport
import Testing

/// How long the transport's thread waits before it looks again.
@Suite(.timeLimit(.minutes(30))) struct `A waiting transport` {
    private static let enoughLooks = 20

    /// The server keeps its answer back until the transport has looked often, so that no clock is
    /// needed: a transport that sleeps until its own timers end never gets the answer.
    @Test func `looks again and again as long as a request is in flight`() async throws {
        let transport = try CurlTransport()
        let server = try LoopbackServer { connection in
            guard connection.request() != nil else { return }
            let before = transport.lookCount
            var patience = 800
            while transport.lookCount < before + Self.enoughLooks, patience > 0 {
                patience -= 1
                connection.pause(milliseconds: 10)
            }
            connection.respond(patience > 0 ? "looked" : "slept")
        }
        let response = try await transport.send(HTTPRequest(method: "GET", url: server.url))
        #expect(String(decoding: response.body, as: UTF8.self) == "looked")
        await transport.shutdown()
    }

    @Test func `ends a request by its own limit where that is the shorter one`() async throws {
        let transport = try CurlTransport()
        let server = try LoopbackServer { $0.waitForEnd() }
        var request = HTTPRequest(method: "GET", url: server.url)
        request.timeLimit = .milliseconds(200)
        let error = await #expect(throws: HTTPTransportError.self) {
            try await transport.send(request)
        }
        guard case .timedOut(let sentence) = error else {
            Issue.record("not timed out: \(String(describing: error))")
            return
        }
        #expect(sentence.contains("within 200 ms"))
        await transport.shutdown()
    }

    @Test func `does not look at all while nothing is in flight`() async throws {
        let transport = try CurlTransport()
        let server = try LoopbackServer { connection in
            while connection.request() != nil { connection.respond("{}") }
        }
        _ = try await transport.send(HTTPRequest(method: "GET", url: server.url))
        try await Task.sleep(for: .milliseconds(100))
        let before = transport.lookCount
        try await Task.sleep(for: .milliseconds(600))
        // A timer of libcurl may come round once; fifty milliseconds apart it would be twelve times.
        #expect(transport.lookCount <= before + 3)
        await transport.shutdown()
    }
}
