import AppStoreServerAPI
import HTTPTransport
import JSONWebSignature
import Subscriptions
import Testing

@Suite struct `A call that Apple denies` {
    @Test func `is repeated once with a new token`() async {
        let bench = Bench { _, number in
            number == 1 ? .answer(401, "Unauthenticated") : .answer(200)
        }
        #expect(await bench.ask().word == "answered {}")
        let tokens = bench.apple.requests.compactMap { $0.headers.last?.value }
        #expect(tokens == ["Bearer token-1", "Bearer token-2"])
        #expect(bench.calls("unauthorized") == 1)
    }

    @Test func `makes its new token when it starts, however long it waited for its turn`()
        async throws
    {
        let clock = JumpingClock()
        let tokens = TimedTokens(clock: clock)
        let apple = ScriptedApple { _, number in number == 1 ? .answer(401, "") : .answer(200) }
        let requests = PacedRequests(
            app: AppIdentity(bundleID: "b", environment: .sandbox), keyID: "k",
            baseURL: "https://127.0.0.1", transport: apple, tokens: tokens,
            rates: .uniform(requestsPerSecond: 0.001), clock: clock,
            wallClock: { Timestamp(unixMilliseconds: 0) })
        _ = try await requests.send(APIRequest(endpoint: .transactionInfo, path: "/x"))
        let sent = apple.requests.compactMap { $0.headers.last?.value }
        #expect(sent == ["Bearer made at 0", "Bearer made at 1000"])
    }

    @Test func `may be repeated with a new token as often as tokens age`() async {
        let bench = Bench { request, number in
            // Each token is good for ten requests, the refused one included.
            request.headers.last?.value == "Bearer token-\(number / 10 + 1)"
                ? .answer(200) : .answer(401)
        }
        for _ in 0..<50 { #expect(await bench.ask().word == "answered {}") }
        #expect(bench.tokens.issued == 6)
        #expect(bench.calls("unauthorized") == 5)
    }

    @Test func `ends the run when a new token does not help, and nobody asks again`() async {
        let bench = Bench { _, _ in .answer(401, "") }
        let outcomes = await bench.crowd(5000)
        #expect(outcomes.allSatisfy { $0.word.hasPrefix("denied ") })
        #expect(Set(outcomes.map(\.word)).count == 1)
        #expect(bench.apple.requests.count <= 64)
        #expect(bench.tokens.issued == 2)
    }

    @Test func `names the key, the app and what is likely`() async {
        let production = await Bench { _, _ in .answer(401, "") }.ask().word
        #expect(production.contains("2X9R4HXF34") && production.contains("com.example.app"))
        #expect(production.contains("revoked") && production.contains("production release"))
        #expect(!production.contains("token-"))
        let sandbox = await Bench(environment: .sandbox) { _, _ in .answer(401, "") }.ask().word
        #expect(sandbox.contains("revoked") && !sandbox.contains("production release"))
    }

    @Test(arguments: [
        ("Fri, 20 Nov 2026 03:07:04 GMT", "600 seconds ahead of"),
        ("Fri, 20 Nov 2026 03:27:04 GMT", "600 seconds behind"),
    ])
    func `names a wrong clock by the date of the answer`(date: String, part: String) async {
        let bench = Bench { _, _ in .answer(401, "", headers: [("date", date)]) }
        let word = await bench.ask().word
        #expect(word.contains(part))
        #expect(!word.contains("revoked"))
    }

    @Test(arguments: [
        ("Fri, 20 Nov 2026 03:07:04 GMT", ["600 seconds ahead of"]),
        ("Fri, 20 Nov 2026 03:27:04 GMT", ["600 seconds behind"]),
        ("Fri, 20 Nov 2026 03:17:34 GMT", []), ("yesterday", []),
    ])
    func `a wrong clock is remarked on although Apple answers`(
        date: String, parts: [String]
    ) async {
        let bench = Bench { _, _ in .answer(200, headers: [("date", date)]) }
        _ = await bench.ask()
        let remarks = bench.requests.remarks()
        #expect(remarks.count == parts.count)
        for (remark, part) in zip(remarks, parts) { #expect(remark.contains(part), "\(remark)") }
    }

    @Test func `an old answer out of a cache does not put the clock in doubt`() async {
        let bench = Bench { _, number in
            .answer(
                200,
                headers: [("date", "Fri, 20 Nov 2026 03:\(number == 2 ? 17 : 10):04 GMT")])
        }
        for _ in 1...3 { _ = await bench.ask() }
        #expect(bench.requests.remarks() == [])
    }

    @Test func `does not blame a clock that is right`() async {
        let bench = Bench { _, _ in
            .answer(401, "", headers: [("date", "Fri, 20 Nov 2026 03:17:34 GMT")])
        }
        let word = await bench.ask().word
        #expect(!word.contains("clock") && word.contains("revoked"))
    }

    @Test func `ends the run when no token can be signed`() async {
        struct NoTokens: AuthorizationTokens {
            func current() throws(JSONWebSignatureError) -> String {
                throw JSONWebSignatureError(.key, "the key is not P-256")
            }
            func renewed(after rejected: String) throws(JSONWebSignatureError) -> String {
                try current()
            }
        }
        let requests = PacedRequests(
            app: AppIdentity(bundleID: "b", environment: .sandbox), keyID: "k",
            baseURL: "https://127.0.0.1", transport: ScriptedApple { _, _ in .answer(200) },
            tokens: NoTokens(), rates: .uniform(requestsPerSecond: 10), clock: JumpingClock(),
            wallClock: { Timestamp(unixMilliseconds: 0) })
        await #expect(
            throws: RunStop.denied("The key could not sign a token: the key is not P-256.")
        ) {
            try await requests.send(APIRequest(endpoint: .transactionInfo, path: "/x"))
        }
    }
}

/// Tokens that say when they were made, in seconds of a clock.
private struct TimedTokens: AuthorizationTokens {
    let clock: JumpingClock

    func current() -> String { "made at \(clock.elapsed.components.seconds)" }

    func renewed(after rejected: String) -> String { current() }
}
