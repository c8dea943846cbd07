import EventDelivery
import HTTPTransport
import Subscriptions
import Synchronization
import TestSupport
import Testing

@Suite struct `A webhook` {
    private static let event = OutboxEvent(
        ledgerEntry: 7, idempotencyKey: "0a1b", event: "renewal",
        subscription: SubscriptionKey(
            bundleID: "app", environment: "Production", originalTransactionID: "1"),
        body: "{\"event\":\"renewal\"}", attempts: 0)
    private static let secret = "0123456789abcdef0123"

    private func destination(
        _ url: String, timeoutMilliseconds: Int = 10_000
    ) throws -> WebhookDestination {
        var settings = CurlTransport.Settings()
        settings.totalTimeoutMilliseconds = timeoutMilliseconds
        settings.bodyLimitBytes = 1000
        return WebhookDestination(
            url: url, signature: WebhookSignature(secret: Array(Self.secret.utf8)),
            transport: try CurlTransport(settings), timeout: .milliseconds(timeoutMilliseconds),
            wallClock: { Timestamp(unixMilliseconds: 1_795_000_000_999) })
    }

    private func answer(
        to script: @escaping @Sendable (LoopbackServer.Connection) -> Void
    ) async throws -> DeliveryAnswer {
        let server = try LoopbackServer { connection in
            _ = connection.request()
            script(connection)
        }
        return try await destination(server.url, timeoutMilliseconds: 1000).deliver(Self.event)
    }

    @Test func `is posted the message as it is, with key, name and signature`() async throws {
        let seen = Mutex("")
        let server = try LoopbackServer { connection in
            let request = connection.request() ?? ""
            seen.withLock { $0 = request }
            connection.respond("thank you", status: "202 Accepted")
        }
        let answer = try await destination(server.url + "/hooks/trueup?a=b").deliver(Self.event)
        #expect(answer == .accepted)
        let text = seen.withLock { $0 }
        #expect(text.hasPrefix("POST /hooks/trueup?a=b HTTP/1.1\r\n"))
        #expect(text.hasSuffix("\r\n\r\n" + Self.event.body))
        #expect(text.contains("\r\nContent-Type: application/json\r\n"))
        #expect(text.contains("\r\nIdempotency-Key: 0a1b\r\n"))
        #expect(text.contains("\r\nTrueup-Event: renewal\r\n"))
        // printf '1795000000.{"event":"renewal"}' | openssl dgst -sha256 -hmac 0123456789abcdef0123
        #expect(
            text.contains(
                "\r\nTrueup-Signature: t=1795000000,"
                    + "v1=d6b06bcd926be425a80c30dbb2d4a07cf98c5c4c2e734c5d07a3a9cd609cab7d\r\n"
            ))
        #expect(!text.contains(Self.secret))
    }

    @Test(arguments: ["200 OK", "201 Created", "204 No Content", "299 Fine"])
    func `has the event when it says any 2xx`(status: String) async throws {
        #expect(try await answer { $0.respond("", status: status) } == .accepted)
    }

    @Test(arguments: ["400 Bad Request", "404 Not Found", "410 Gone", "500 Oops", "502 Oops"])
    func `has not when it says anything else`(status: String) async throws {
        let number = status.prefix(3)
        #expect(
            try await answer { $0.respond("secret inside", status: status) }
                == .failed("the receiver answered \(number)"))
    }

    @Test func `is not followed anywhere else`() async throws {
        let followed = Atomic(false)
        let other = try LoopbackServer { connection in
            followed.store(true, ordering: .sequentiallyConsistent)
            connection.respond("")
        }
        let location = "Location: \(other.url)/\r\n"
        let answer = try await answer {
            $0.respond("", status: "307 Temporary Redirect", headers: location)
        }
        #expect(answer == .failed("the receiver answered 307: redirects are not followed"))
        let wasFollowed = followed.load(ordering: .sequentiallyConsistent)
        #expect(!wasFollowed)
    }

    @Test(arguments: ["429 Too Many Requests", "503 Unavailable"])
    func `may ask to be left alone for a while`(status: String) async throws {
        let answer = try await answer {
            $0.respond("", status: status, headers: "Retry-After: 1200\r\n")
        }
        #expect(
            answer
                == .failed("the receiver answered \(status.prefix(3))", retryAfter: .seconds(1200)))
        let silent = try await self.answer { $0.respond("", status: status) }
        #expect(silent == .failed("the receiver answered \(status.prefix(3))"))
    }

    @Test func `that hangs, drips, breaks off or is not there is a failure with its reason`()
        async throws
    {
        for script in [
            { $0.waitForEnd() }, { $0.resetAtEnd() }, { $0.write("not HTTP at all\r\n\r\n") },
            { connection in
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n")
                while connection.write("x") { connection.pause(milliseconds: 50) }
            },
        ] as [@Sendable (LoopbackServer.Connection) -> Void] {
            guard case .failed(let reason, nil) = try await answer(to: script) else {
                Issue.record("an answer that never came was taken for one")
                continue
            }
            #expect(!reason.isEmpty)
        }
        let absent = try LoopbackServer(listening: false) { _ in }
        guard case .failed(let reason, nil) = try await destination(absent.url).deliver(Self.event)
        else {
            Issue.record("nobody was there")
            return
        }
        #expect(reason.contains("127.0.0.1:\(absent.port)"))
    }

    @Test func `keeps its path out of what is said of it`() async throws {
        let absent = try LoopbackServer(listening: false) { _ in }
        let answer = try await destination(absent.url + "/T0K3N").deliver(Self.event)
        #expect(!"\(answer)".contains("T0K3N"))
    }
}
