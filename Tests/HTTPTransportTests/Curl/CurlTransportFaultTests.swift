import HTTPTransport
import TestSupport
import Testing

/// What the transport does when the server, the network or the caller does wrong.
@Suite(.timeLimit(.minutes(10))) struct `A transport in trouble` {
    private func failure(
        of url: String, settings: CurlTransport.Settings = CurlTransport.Settings(),
        headers: [(name: String, value: String)] = []
    ) async throws -> HTTPTransportError? {
        let transport = try CurlTransport(settings)
        do throws(HTTPTransportError) {
            _ = try await transport.send(HTTPRequest(method: "GET", url: url, headers: headers))
            return nil
        } catch {
            return error
        }
    }

    private func shortTimeouts() -> CurlTransport.Settings {
        var settings = CurlTransport.Settings()
        settings.connectTimeoutMilliseconds = 150
        settings.totalTimeoutMilliseconds = 150
        return settings
    }

    @Test func `says that a connection was refused`() async throws {
        let server = try LoopbackServer(listening: false) { _ in }
        let error = try await failure(of: server.url)
        guard case .connectionFailed(let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(text.contains("127.0.0.1:\(server.port)"))
    }

    @Test func `says that a name is unknown`() async throws {
        let error = try await failure(of: "https://name.invalid/")
        guard case .connectionFailed(let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(text.contains("name.invalid"))
    }

    @Test func `never hands over a body that was cut by a reset`() async throws {
        let server = try LoopbackServer { connection in
            _ = connection.request()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"half\":")
            connection.resetAtEnd()
        }
        let error = try await failure(of: server.url)
        guard case .connectionLost = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `never hands over a body that ends early`() async throws {
        let server = try LoopbackServer { connection in
            _ = connection.request()
            connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n")
        }
        let error = try await failure(of: server.url)
        guard case .connectionLost = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `calls an answer that never comes a lost connection`() async throws {
        let server = try LoopbackServer { connection in _ = connection.request() }
        let error = try await failure(of: server.url)
        guard case .connectionLost = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `ends a body that drips in, and frees the connection`() async throws {
        let server = try LoopbackServer { connection in
            _ = connection.request()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while connection.write("x") { connection.pause(milliseconds: 10) }
        }
        let error = try await failure(of: server.url, settings: shortTimeouts())
        guard case .timedOut(let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(text.contains("150 ms"))
    }

    @Test func `ends requests that queue behind a stuck connection`() async throws {
        let server = try LoopbackServer { $0.waitForEnd() }
        var settings = shortTimeouts()
        settings.maxConnectionsPerHost = 1
        let transport = try CurlTransport(settings)
        let errors = await withTaskGroup(of: HTTPTransportError?.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    do throws(HTTPTransportError) {
                        _ = try await transport.send(HTTPRequest(method: "GET", url: server.url))
                        return nil
                    } catch { return error }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(errors.count == 4)
        for error in errors {
            guard case .timedOut = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    @Test func `cuts an endless body at its limit`() async throws {
        let server = try LoopbackServer { connection in
            _ = connection.request()
            connection.write("HTTP/1.1 200 OK\r\n\r\n")
            while connection.write(Array(repeating: 0x7B, count: 65_536)) {}
        }
        var settings = CurlTransport.Settings()
        settings.bodyLimitBytes = 1_000_000
        #expect(
            try await failure(of: server.url, settings: settings)
                == .bodyTooLarge(limitBytes: 1_000_000))
    }

    @Test func `refuses a body whose announced length is over the limit`() async throws {
        let server = try LoopbackServer { connection in
            _ = connection.request()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 9000000000\r\n\r\n")
            connection.waitForEnd()
        }
        #expect(
            try await failure(of: server.url) == .bodyTooLarge(limitBytes: 8 * 1_048_576))
    }

    @Test func `cuts endless headers at their limit`() async throws {
        let server = try LoopbackServer { connection in
            _ = connection.request()
            connection.write("HTTP/1.1 200 OK\r\n")
            while connection.write("X-Long: \(String(repeating: "y", count: 1000))\r\n") {}
        }
        let error = try await failure(of: server.url)
        guard case .malformedResponse = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `does not take noise for HTTP`() async throws {
        let server = try LoopbackServer { connection in
            _ = connection.request()
            connection.write("SSH-2.0-OpenSSH_9.2\r\n")
        }
        let error = try await failure(of: server.url)
        guard case .malformedResponse = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test(arguments: [
        "http://example.com/", "http://127.0.0.1.example.com/",
        "ftp://127.0.0.1/",
        "file:///etc/passwd", "https://user:canary@127.0.0.1/", "127.0.0.1", "https://", "",
        "http://a b",
    ])
    func `refuses to ask`(url: String) async throws {
        let error = try await failure(of: url)
        guard case .invalidRequest(let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(!text.contains("canary"))
    }

    @Test func `refuses a header that smuggles in another, without quoting it`() async throws {
        let error = try await failure(
            of: "https://127.0.0.1/", headers: [("Authorization", "Bearer canary\r\nX: y")])
        guard case .invalidRequest(let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(text.contains("Authorization"))
        #expect(!text.contains("canary"))
    }

    @Test(arguments: [
        "http://127.0.0.1/", "http://127.1.2.3:8080/", "http://localhost/", "http://LOCALHOST./",
        "http://x.localhost/", "http://[::1]/", "http://0.0.0.0/", "http://0/", "http://127.1/",
        "http://2130706433/", "http://0x7f.0.0.1/", "http://[::ffff:127.0.0.1]/", "http://[::]/",
        "https://localhost/", "ftp://ocsp.example/", "file:///etc/passwd",
        "http://u:p@ocsp.example/",
    ])
    func `with addresses from outside it goes nowhere on this machine`(url: String) async throws {
        var settings = shortTimeouts()
        settings.reach = .plainElsewhere
        let error = try await failure(of: url, settings: settings)
        guard case .invalidRequest = error else {
            Issue.record("\(url): \(String(describing: error))")
            return
        }
    }

    @Test func `plain HTTP to another host needs the reach for it`() async throws {
        let url = "http://name.invalid/"
        guard case .invalidRequest = try await failure(of: url) else {
            Issue.record("plain HTTP went out unasked")
            return
        }
        for reach in [CurlTransport.Reach.plain, .plainElsewhere] {
            var settings = CurlTransport.Settings()
            settings.reach = reach
            guard case .connectionFailed = try await failure(of: url, settings: settings) else {
                Issue.record("\(reach) did not even look for the host")
                return
            }
        }
    }

    @Test func `refuses a CA file with another host than a loopback one`() async throws {
        var settings = CurlTransport.Settings()
        settings.caFile = "/etc/ssl/certs/ca-certificates.crt"
        let error = try await failure(of: "https://api.example.invalid/", settings: settings)
        guard case .invalidRequest = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }
}
