import AppStoreServerAPI
import HTTPTransport
import Testing

@Suite struct `A call that somebody else answers` {
    private static let page =
        "<html><head><title>Access &amp; more\u{1B}[31m</title></head>"
        + "<body>denied by \"policy\"</body></html>"

    private static func foreign(_ status: Int) -> HTTPResponse {
        .answer(status, page, headers: [("content-type", "text/html; charset=utf-8")])
    }

    @Test(arguments: [400, 403, 404, 407, 451])
    func `ends soon for all, and names what came and from whom`(status: Int) async {
        let bench = Bench { _, _ in Self.foreign(status) }
        let words = await bench.ask(ids: Array(1...5000))
        #expect(words.values.allSatisfy { $0.hasPrefix("unavailable ") })
        #expect(bench.apple.requests.count < 100)
        #expect(bench.clock.elapsed < .seconds(5))
        let why = bench.requests.givenUp(.subscriptionStatuses)
        #expect(
            why == "127.0.0.1:1 answered \(status) (text/html; charset=utf-8) "
                + "\"Access &amp; more [31m denied by 'policy'\", which is not Apple's form")
    }

    @Test func `leaves single questions without an answer where others get theirs`() async {
        let bench = Bench { request, _ in
            request.id.isMultiple(of: 4) ? Self.foreign(403) : .answer(200)
        }
        let words = await bench.ask(ids: Array(1...1000))
        #expect(words.count { $0.value == "answered {}" } == 750)
        #expect(words.count { $0.value.hasPrefix("unavailable ") } == 250)
        #expect(bench.requests.givenUp(.subscriptionStatuses) == nil)
        #expect(bench.clock.elapsed < .seconds(60))
    }

    @Test func `is waited for when Apple answered before`() async {
        let clock = JumpingClock()
        let apple = ScriptedApple { _, number in
            (200..<230).contains(number) ? Self.foreign(403) : .answer(200)
        }
        let bench = Bench(apple: apple, clock: clock)
        let words = await bench.ask(ids: Array(1...1000))
        #expect(words.count { $0.value == "answered {}" } > 960)
        #expect(bench.requests.givenUp(.subscriptionStatuses) == nil)
    }

    @Test func `quotes nothing of a page that shows the request with its token`() async {
        let bench = Bench { _, _ in
            .answer(403, "blocked: Authorization: Bearer token-1", headers: [])
        }
        let word = await bench.ask().word
        #expect(word.contains("answered 403") && !word.contains("token-1"))
    }

    @Test func `says whose fault a 502 of a proxy is`() async {
        let bench = Bench { _, _ in Self.foreign(502) }
        let word = await bench.ask().word
        #expect(word.hasPrefix("unavailable 127.0.0.1:1 answered 502 (text/html; charset=utf-8)"))
    }
}
