import AppStoreServerAPI
import HTTPTransport
import Subscriptions
import Synchronization
import Testing

@Suite struct `Requests for sales reports` {
    /// 2026-11-25.
    private static let day: Int64 = 20_782

    private func requests(
        _ apple: ScriptedApple, waits: Waits = Waits()
    ) -> SalesReportRequests {
        SalesReportRequests(
            baseURL: "https://api.appstoreconnect.apple.com", vendorNumber: "80012345",
            keyID: "6PD4K7QW2B", transport: apple, tokens: NumberedTokens(),
            clock: JumpingClock(), wallClock: { Timestamp(unixMilliseconds: 1_795_700_000_000) },
            hear: { wait in waits.heard.withLock { $0.append(wait.name) } })
    }

    private final class Waits: Sendable {
        let heard = Mutex<[String]>([])
    }

    private static func refusal(_ status: Int, _ detail: String) -> HTTPResponse {
        .answer(status, #"{"errors":[{"code":"X","title":"T","detail":"\#(detail)"}]}"#)
    }

    private static let packed = HTTPResponse(
        status: 200,
        headers: [("content-type", "application/a-gzip"), ("content-encoding", "agzip")],
        body: [0x1F, 0x8B, 8], version: "HTTP/2")

    private func failure(
        _ response: HTTPResponse
    ) async -> SalesReportRequests.Failure? {
        var requests = requests(ScriptedApple { _, _ in response })
        do {
            _ = try await requests.get(.subscription, ofDay: Self.day)
            return nil
        } catch {
            return error
        }
    }

    @Test func `name the report, its day and the vendor, and keep the body as it is`() async throws
    {
        let apple = ScriptedApple { _, _ in Self.packed }
        var requests = requests(apple)
        guard case .report(let bytes) = try await requests.get(.subscriber, ofDay: Self.day) else {
            Issue.record("there is no report")
            return
        }
        #expect(bytes == [0x1F, 0x8B, 8])
        let sent = try #require(apple.requests.first)
        #expect(
            sent.url == "https://api.appstoreconnect.apple.com/v1/salesReports"
                + "?filter%5Bfrequency%5D=DAILY&filter%5BreportDate%5D=2026-11-25"
                + "&filter%5BreportSubType%5D=DETAILED&filter%5BreportType%5D=SUBSCRIBER"
                + "&filter%5BvendorNumber%5D=80012345&filter%5Bversion%5D=1_3")
        #expect(sent.keepsEncoding)
        #expect(sent.headers.contains { $0 == ("Authorization", "Bearer token-1") })
    }

    @Test func `take the version that a refusal names, once`() async throws {
        let apple = ScriptedApple { request, _ in
            request.url.hasSuffix("1_7")
                ? Self.packed : Self.refusal(400, "The latest version for this report is 1_7.")
        }
        var requests = requests(apple)
        _ = try await requests.get(.event, ofDay: Self.day)
        _ = try await requests.get(.event, ofDay: Self.day)
        #expect(apple.requests.map { $0.url.suffix(3) } == ["1_3", "1_7", "1_7"])
        let answer = Self.refusal(400, "The latest version for this report is 1_4.")
        #expect(
            await failure(answer)
                == .misconfigured(
                    "App Store Connect refuses the question for SUBSCRIPTION: The latest version for "
                        + "this report is 1_4. Check vendor_number."))
    }

    @Test(arguments: [404, 410]) func `say that there is no data, in Apple's words`(
        status: Int
    ) async throws {
        let apple = ScriptedApple { _, _ in Self.refusal(status, "There were no\\u001b sales.") }
        var requests = requests(apple)
        guard case .noData(let why) = try await requests.get(.event, ofDay: Self.day) else {
            Issue.record("there is a report")
            return
        }
        #expect(why == "There were no sales")
    }

    @Test func `wait as a 429 orders, and give up when it goes on`() async throws {
        let waits = Waits()
        let apple = ScriptedApple { _, number in
            number < 3 ? .answer(429, headers: [("retry-after", "90")]) : Self.packed
        }
        var requests = requests(apple, waits: waits)
        _ = try await requests.get(.event, ofDay: Self.day)
        #expect(waits.heard.withLock { $0 } == ["rate_limited", "rate_limited"])
        guard case .unavailable(let text) = await failure(.answer(429)) else {
            Issue.record("a limit is another failure")
            return
        }
        #expect(text.contains("5 times in a row"))
    }

    @Test func `repeat what failed, and say which server did not answer`() async throws {
        let apple = ScriptedApple { _, number throws(HTTPTransportError) in
            switch number {
            case 1: throw .connectionLost("the connection was lost")
            case 2: .answer(503, "")
            default: Self.packed
            }
        }
        var requests = requests(apple)
        guard case .report = try await requests.get(.event, ofDay: Self.day) else {
            Issue.record("there is no report")
            return
        }
        #expect(apple.requests.count == 3)
    }

    @Test func `try another token once, then name the refused key`() async throws {
        let apple = ScriptedApple { request, _ in
            request.headers.contains { $0 == ("Authorization", "Bearer token-2") }
                ? Self.packed : .answer(401, "")
        }
        var requests = requests(apple)
        _ = try await requests.get(.event, ofDay: Self.day)
        #expect(apple.requests.count == 2)
        guard case .denied(let text) = await failure(.answer(401, "")) else {
            Issue.record("a refused key is another failure")
            return
        }
        #expect(text.contains("6PD4K7QW2B"))
        #expect(!text.contains("token-"))
    }

    @Test func `name the role that a key lacks`() async throws {
        guard case .denied(let text) = await failure(Self.refusal(403, "Not allowed")) else {
            Issue.record("a key without the role is another failure")
            return
        }
        #expect(text.contains("Not allowed. Give the key the role Finance, Sales or Admin"))
    }

    @Test(arguments: [200, 302, 400, 403, 404, 410]) func `do not take a portal's page for Apple's`(
        status: Int
    ) async throws {
        let page = HTTPResponse.answer(
            status, "<html>Log in</html>", headers: [("content-type", "text/html")])
        guard case .undecodable = await failure(page) else {
            Issue.record("\(status) counts as Apple's")
            return
        }
    }
}
