import AppStoreServerAPI
import HTTPTransport
import Subscriptions
import Testing

@Suite struct `A call to Apple` {
    @Test func `carries the token, the accepted form and an encoded query`() async throws {
        let bench = Bench { _, _ in .answer(200, #"{"a":1}"#) }
        let request = APIRequest(
            endpoint: .notificationHistory, method: "POST",
            path: "/inApps/v1/notifications/history",
            query: [("paginationToken", "a+b/c=&é"), ("x", "1")], body: Array("{}".utf8))
        guard case .answered(let body) = try await bench.requests.send(request) else {
            Issue.record("no answer")
            return
        }
        #expect(String(decoding: body, as: UTF8.self) == #"{"a":1}"#)
        let sent = try #require(bench.apple.requests.first)
        #expect(sent.method == "POST")
        #expect(
            sent.url == "https://127.0.0.1:1/inApps/v1/notifications/history"
                + "?paginationToken=a%2Bb%2Fc%3D%26%C3%A9&x=1")
        let headers = Dictionary(uniqueKeysWithValues: sent.headers.map { ($0.name, $0.value) })
        #expect(
            headers == [
                "Authorization": "Bearer token-1", "Accept": "application/json",
                "Accept-Encoding": "gzip", "Content-Type": "application/json",
            ])
        #expect(sent.body == Array("{}".utf8))
    }

    @Test func `asks for packed answers where a page repeats its certificates`() async throws {
        let bench = Bench { _, _ in .answer(200) }
        for endpoint in Endpoint.allCases { _ = await bench.ask(endpoint) }
        let packed = bench.apple.requests.map { request in
            request.headers.contains { $0 == ("Accept-Encoding", "gzip") }
        }
        #expect(packed == [false, true, false, true, true])
    }

    @Test(arguments: [
        (HTTPResponse.answer(200, "<html>", headers: [("content-type", "text/html")]), "HTML"),
        (.answer(200, "{}", headers: [("content-type", "TEXT/HTML; charset=x")]), "HTML"),
        (.answer(200, "<!DOCTYPE"), "not a JSON object"), (.answer(200, "[]"), "not a JSON object"),
        (.answer(200, " \n"), "empty body"), (.answer(204, ""), "status 204"),
        (
            .answer(302, "", headers: [("location", "https://u:p@login.example/x?token=1")]),
            "a redirect to login.example was not followed"
        ),
        (.answer(307, "", headers: [("location", "/other")]), "another path"),
        (.answer(304, "", headers: []), "nowhere"),
    ])
    func `is undecodable when the answer is not what Apple sends`(
        response: HTTPResponse, part: String
    ) async {
        let bench = Bench { _, _ in response }
        let word = await bench.ask().word
        #expect(word.hasPrefix("undecodable "))
        #expect(word.contains(part))
        #expect(!word.contains("u:p") && !word.contains("token=1"))
        #expect(bench.apple.requests.count == 1)
        #expect(bench.calls("undecodable") == 1)
    }

    @Test func `accepts JSON with blanks before it and without a content type`() async {
        let bench = Bench { _, _ in .answer(200, " \r\n{}", headers: []) }
        #expect(await bench.ask().word == "answered  \r\n{}")
    }

    @Test(arguments: [
        4_000_000, 4_000_005, 4_000_006, 4_000_017, 4_030_004, 4_040_001, 4_040_005, 4_040_010,
        4_040_019, 5_000_000, 5_000_002,
    ])
    func `hands over a refusal that is not worth a retry`(code: Int) async {
        let bench = Bench { _, _ in .error(code) }
        #expect(await bench.ask().word == "refused \(code / 10_000) \(code) m")
        #expect(bench.apple.requests.count == 1)
    }

    @Test(arguments: ["", "not found", "<html>", "[1]", "{", #"{"errorCode":"4040010"}"#])
    func `is no answer where an error is not in Apple's form`(body: String) async {
        let bench = Bench { _, _ in .answer(404, body) }
        let word = await bench.ask().word
        #expect(word.hasPrefix("unavailable 127.0.0.1:1 answered 404 (application/json)"))
        #expect(word.hasSuffix("which is not Apple's form"))
        #expect(bench.calls("refused") == 1)
    }

    @Test func `keeps no control characters of a message and not all of a long one`() async {
        let bench = Bench { _, _ in
            .error(4_000_000, message: "a\\u001b[31m\\n" + String(repeating: "x", count: 9999))
        }
        let word = await bench.ask().word
        #expect(word.hasPrefix("refused 400 4000000 a[31mxxx"))
        #expect(word.utf8.count < 250)
    }

    @Test(arguments: [4_040_002, 4_040_004, 4_040_006, 5_000_001])
    func `repeats what Apple calls retryable`(code: Int) async {
        let bench = Bench { _, number in number < 5 ? .error(code) : .answer(200) }
        #expect(await bench.ask().word == "answered {}")
        #expect(bench.apple.requests.count == 5)
    }

    @Test func `gives up after five attempts and says on what`() async {
        let bench = Bench { _, _ in .error(4_040_002, message: "Account not found") }
        let word = await bench.ask().word
        #expect(
            word == "unavailable Apple answered 404 4040002: Account not found (5 attempts)")
        #expect(bench.apple.requests.count == 5)
        #expect(bench.clock.elapsed > .zero)
    }

    @Test(arguments: [500, 502, 503, 504])
    func `repeats a server fault without a code`(status: Int) async {
        let bench = Bench { _, number in number < 3 ? .answer(status, "x") : .answer(200) }
        #expect(await bench.ask().word == "answered {}")
        #expect(bench.calls("server_error") == 2)
        #expect(bench.calls("ok") == 1)
    }

    @Test(arguments: [4_000_002, 4_040_003])
    func `ends the run when Apple says that the settings are wrong`(code: Int) async {
        let bench = Bench { _, _ in .error(code) }
        let word = await bench.ask().word
        #expect(word.hasPrefix("misconfigured "))
        #expect(word.contains("\(code)") && word.contains("com.example.app"))
        #expect(await bench.ask(.transactionInfo).word == word)
        #expect(bench.apple.requests.count == 1)
    }

    @Test func `is counted once for each attempt, by endpoint and result`() async {
        let bench = Bench { _, number in
            switch number {
            case 1: .error(4_040_010)
            case 2: .error(5_000_001)
            case 4: .error(4_000_006)
            case 5: .answer(429)
            default: .answer(200)
            }
        }
        for _ in 0..<4 { _ = await bench.ask() }
        bench.requests.countUndecodable(.subscriptionStatuses)
        _ = await bench.ask(.transactionInfo)
        let counts = bench.requests.callCounts().map { "\($0.endpoint) \($0.result) \($0.calls)" }
        #expect(
            counts == [
                "subscription_statuses ok 1", "subscription_statuses not_found 1",
                "subscription_statuses rate_limited 1", "subscription_statuses server_error 1",
                "subscription_statuses undecodable 1", "subscription_statuses refused 1",
                "transaction_info ok 1",
            ])
    }
}
