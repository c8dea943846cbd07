import HTTPTransport
import Synchronization
import TestSupport
import Testing

/// What the transport does right when the server does.
@Suite struct `A transport` {
    private func get(_ url: String) -> HTTPRequest { HTTPRequest(method: "GET", url: url) }

    @Test func `sends the method, the path as it is and every header`() async throws {
        let seen = Mutex("")
        let server = try LoopbackServer { connection in
            let request = connection.request() ?? ""
            seen.withLock { $0 = request }
            connection.respond("{}")
        }
        let transport = try CurlTransport()
        var request = get(server.url + "/a/../b%2Fc?x=%20y")
        request.headers = [("Authorization", "Bearer t"), ("Accept", "application/json")]
        request.headers.append(("X-Empty", ""))
        _ = try await transport.send(request)
        let text = seen.withLock { $0 }
        #expect(text.hasPrefix("GET /a/../b%2Fc?x=%20y HTTP/1.1\r\n"))
        #expect(text.contains("\r\nAuthorization: Bearer t\r\n"))
        #expect(text.contains("\r\nAccept: application/json\r\n"))
        #expect(text.contains("\r\nX-Empty:\r\n"))
        #expect(text.contains("\r\nUser-Agent: trueup\r\n"))
        #expect(text.contains("\r\nAccept-Encoding: identity\r\n"))
        await transport.shutdown()
    }

    @Test func `sends a body without asking for leave and without inventing its type`()
        async throws
    {
        let seen = Mutex("")
        let server = try LoopbackServer { connection in
            let request = connection.request() ?? ""
            seen.withLock { $0 = request }
            connection.respond("{}")
        }
        let transport = try CurlTransport()
        let body = Array(String(repeating: "x", count: 3000).utf8)
        _ = try await transport.send(HTTPRequest(method: "POST", url: server.url, body: body))
        let text = seen.withLock { $0 }
        #expect(text.hasPrefix("POST / HTTP/1.1\r\n"))
        #expect(text.hasSuffix("\r\n\r\n" + String(repeating: "x", count: 3000)))
        #expect(!text.contains("Expect"))
        #expect(!text.contains("Content-Type"))
    }

    @Test func `delivers status, version, body and the headers of the final response only`()
        async throws
    {
        let server = try LoopbackServer { connection in
            _ = connection.request()
            connection.write("HTTP/1.1 103 Early Hints\r\nLink: early\r\n\r\n")
            connection.write(
                "HTTP/1.1 429 Too Many\r\nRetry-After: 1763000000000\r\nX-Two: a\r\nx-two:  b \r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Trailer: no\r\n\r\n")
        }
        let transport = try CurlTransport()
        let response = try await transport.send(get(server.url))
        #expect(response.status == 429)
        #expect(response.version == "HTTP/1.1")
        #expect(response.body == Array("abc".utf8))
        #expect(response.header("retry-after") == "1763000000000")
        #expect(response.headers.filter { $0.name == "x-two" }.map(\.value) == ["a", "b"])
        #expect(response.header("link") == nil)
        #expect(response.header("x-trailer") == nil)
    }

    @Test func `sends nothing of one request with the next`() async throws {
        let seen = Mutex<[String]>([])
        let script: @Sendable (LoopbackServer.Connection) -> Void = { connection in
            while let request = connection.request() {
                seen.withLock { $0.append(request) }
                connection.respond(request.hasPrefix("GET /long") ? "{\"a\": 1}" : "{}")
            }
        }
        let servers = [try LoopbackServer(script: script), try LoopbackServer(script: script)]
        let transport = try CurlTransport()
        var first = get(servers[0].url + "/long")
        first.headers = [("Authorization", "Bearer one"), ("Accept-Encoding", "gzip")]
        first.timeLimit = .seconds(5)
        #expect(try await transport.send(first).body == Array("{\"a\": 1}".utf8))
        var second = get(servers[1].url + "/short")
        second.headers = [("X-Two", "2")]
        #expect(try await transport.send(second).body == Array("{}".utf8))
        let body = Array("x".utf8)
        _ = try await transport.send(HTTPRequest(method: "POST", url: servers[0].url, body: body))
        let last = try await transport.send(get(servers[0].url + "/last"))
        #expect(last.body == Array("{}".utf8))
        #expect(last.headers.count { $0.name == "content-length" } <= 1)
        let texts = seen.withLock(\.self)
        #expect(texts.map { $0.prefix { $0 != " " } } == ["GET", "GET", "POST", "GET"])
        #expect(texts.count { $0.contains("Bearer") } == 1)
        #expect(texts.count { $0.contains("Accept-Encoding: gzip") } == 1)
        #expect(texts.count { $0.contains("X-Two") } == 1)
        #expect(texts.count { $0.hasSuffix("\r\n\r\nx") } == 1)
        await transport.shutdown()
    }

    @Test func `keeps a connection alive for the next request`() async throws {
        let server = try LoopbackServer { connection in
            while connection.request() != nil { connection.respond("{}") }
        }
        let transport = try CurlTransport()
        // libcurl lets go of a connection that was idle for two minutes, and on a machine that does much
        // else the requests of a test may be so far apart.
        for _ in 1...3 {
            let (before, begun) = (server.connectionCount, ContinuousClock.now)
            for _ in 0..<5 { _ = try await transport.send(get(server.url)) }
            guard ContinuousClock.now - begun > .seconds(60) else {
                #expect(server.connectionCount - before <= 1)
                return
            }
        }
        Issue.record("five requests took a minute, three times")
    }

    @Test func `opens no more connections to a host than it is allowed`() async throws {
        let server = try LoopbackServer { connection in
            while connection.request() != nil { connection.respond("{}") }
        }
        var settings = CurlTransport.Settings()
        settings.maxConnectionsPerHost = 3
        let transport = try CurlTransport(settings)
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<60 {
                group.addTask { try await transport.send(get(server.url)).status }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses == Array(repeating: 200, count: 60))
        #expect(server.connectionCount <= 3)
    }

    @Test func `asks for gzip on request and unpacks it`() async throws {
        // "{}" as gzip without a file name.
        let packed: [UInt8] = [
            0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0xAB, 0xAE, 5, 0, 0x43, 0xBF, 0xA6, 0xA3, 2, 0, 0,
            0,
        ]
        let seen = Mutex("")
        let server = try LoopbackServer { connection in
            let request = connection.request() ?? ""
            seen.withLock { $0 = request }
            connection.write(
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(packed.count)\r\n\r\n"
            )
            connection.write(packed)
        }
        let transport = try CurlTransport()
        var request = get(server.url)
        request.headers = [("Accept-Encoding", "gzip")]
        let response = try await transport.send(request)
        #expect(seen.withLock { $0 }.contains("\r\nAccept-Encoding: gzip\r\n"))
        #expect(response.body == Array("{}".utf8))
    }

    @Test func `hands over a redirect instead of following it`() async throws {
        let server = try LoopbackServer { connection in
            while connection.request() != nil {
                connection.respond("", status: "302 Found", headers: "Location: /elsewhere\r\n")
            }
        }
        let transport = try CurlTransport()
        let response = try await transport.send(get(server.url))
        #expect(response.status == 302)
        #expect(response.header("location") == "/elsewhere")
    }

    @Test func `asks a proxy for a tunnel, with its credentials and without the request's`()
        async throws
    {
        let seen = Mutex("")
        let proxy = try LoopbackServer { connection in
            let request = connection.request() ?? ""
            seen.withLock { $0 = request }
            connection.respond("", status: "407 Who are you")
        }
        var settings = CurlTransport.Settings()
        settings.proxy = try ProxyURL("http://us%40er:canary@127.0.0.1:\(proxy.port)")
        let transport = try CurlTransport(settings)
        var request = get("https://api.example.invalid/x")
        request.headers = [("Authorization", "Bearer secret-token")]
        let error = await #expect(throws: HTTPTransportError.self) {
            try await transport.send(request)
        }
        let text = seen.withLock { $0 }
        #expect(text.hasPrefix("CONNECT api.example.invalid:443 HTTP/1.1\r\n"))
        // us@er:canary
        #expect(text.contains("Proxy-Authorization: Basic dXNAZXI6Y2FuYXJ5\r\n"))
        #expect(!text.contains("secret-token"))
        guard case .connectionFailed(let sentence) = error else {
            Issue.record("not a failed connection: \(String(describing: error))")
            return
        }
        #expect(sentence.contains("407"))
        #expect(!sentence.contains("canary"))
    }
}
