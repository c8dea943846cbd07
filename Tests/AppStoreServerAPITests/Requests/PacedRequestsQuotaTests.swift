import AppStoreServerAPI
import HTTPTransport
import Subscriptions
import Synchronization
import Testing

@Suite struct `A call within the quota` {
    private static func limited(_ retryAfter: String?) -> HTTPResponse {
        .answer(429, "", headers: retryAfter.map { [("retry-after", $0)] } ?? [])
    }

    @Test(arguments: [
        ("1795144644000", 20), ("1795144644", 20), ("20", 20),
        ("Fri, 20 Nov 2026 03:17:24 GMT", 20), ("1826680624000", 3600),
    ])
    func `waits as Retry-After says`(value: String, seconds: Int) async {
        let bench = Bench { _, number in number == 1 ? Self.limited(value) : .answer(200) }
        #expect(await bench.ask().word == "answered {}")
        #expect(bench.clock.elapsed >= .seconds(seconds))
        #expect(bench.clock.elapsed < .seconds(seconds + 1))
        #expect(bench.calls("rate_limited") == 1)
    }

    @Test(arguments: [nil, "garbage", "1795144600000", "0"])
    func `waits a little when Retry-After says nothing of use`(value: String?) async {
        let bench = Bench { _, number in number == 1 ? Self.limited(value) : .answer(200) }
        #expect(await bench.ask().word == "answered {}")
        #expect(bench.clock.elapsed >= .seconds(1))
        #expect(bench.clock.elapsed <= .seconds(2))
    }

    @Test(arguments: [
        ("1795144644000", 20), ("1795144644", 20), ("20", 20),
        ("Fri, 20 Nov 2026 03:17:24 GMT", 20), ("1826680624000", 3600),
    ])
    func `waits as a server says that is down`(value: String, seconds: Int) async {
        let bench = Bench { _, number in
            number == 1 ? .answer(503, "", headers: [("retry-after", value)]) : .answer(200)
        }
        #expect(await bench.ask().word == "answered {}")
        #expect(bench.clock.elapsed >= .seconds(seconds))
        #expect(bench.clock.elapsed < .seconds(seconds + 21))
        #expect(bench.calls("server_error") == 1)
    }

    @Test func `is not made again when a server that is down says later than the deadline`()
        async
    {
        let bench = Bench(deadline: .seconds(60)) { _, _ in
            .answer(503, "", headers: [("retry-after", "600")])
        }
        #expect(await bench.ask().word == "deadline")
        #expect(await bench.ask().word == "deadline")
        #expect(bench.apple.requests.count == 1)
        #expect(bench.clock.elapsed < .seconds(60))
    }

    @Test func `is past its deadline by its turn, but by the hour's limit past the quota`() async {
        let slow = Bench(ratePerSecond: 0.01, deadline: .seconds(10)) { _, _ in .answer(200) }
        #expect(await slow.ask().word == "answered {}")
        #expect(await slow.ask().word == "deadline")
        #expect(slow.apple.requests.count == 1)
    }

    @Test func `waits together with all others of its endpoint and with no other`() async {
        let bench = Bench(ratePerSecond: 50) { _, number in
            number == 1 ? Self.limited("100") : .answer(200)
        }
        _ = await bench.ask()
        #expect(bench.clock.elapsed >= .seconds(100))
        let limited = Bench(ratePerSecond: 50, deadline: .seconds(10)) { _, _ in
            Self.limited("100")
        }
        #expect(await limited.ask().word == "past deadline 2026-11-20T03:18:44.000Z")
        #expect(await limited.ask().word == "past deadline 2026-11-20T03:18:44.000Z")
        #expect(limited.apple.requests.count == 1)
        #expect(await limited.ask(.transactionInfo).word.hasPrefix("past deadline"))
        #expect(limited.apple.requests.count == 2)
    }

    @Test func `loses nobody when a whole crowd is refused at once`() async {
        let clock = JumpingClock()
        let apple = ScriptedApple { _, _ in
            clock.elapsed < .seconds(20) ? Self.limited("1795144644000") : .answer(200)
        }
        let bench = Bench(apple: apple, clock: clock)
        let outcomes = await bench.crowd(200)
        #expect(outcomes.allSatisfy { $0.word == "answered {}" })
        #expect(bench.calls("rate_limited") <= 32)
    }

    @Test func `is rate limited in the end when refusals do not stop`() async {
        let bench = Bench { _, _ in Self.limited("1") }
        #expect(await bench.ask().word == "rateLimited")
        #expect(bench.apple.requests.count == 5)
    }

    @Test func `slows down after a refusal`() async {
        let bench = Bench(ratePerSecond: 10) { _, number in
            number == 1 ? Self.limited("1") : .answer(200)
        }
        for _ in 0..<51 { _ = await bench.ask() }
        #expect(bench.clock.elapsed > .seconds(9))
    }

    @Test func `keeps to the rate`() async {
        let bench = Bench(ratePerSecond: 10) { _, _ in .answer(200) }
        _ = await bench.crowd(101)
        #expect(bench.clock.elapsed == .seconds(10))
    }

    @Test func `keeps to the bound of requests in flight`() async {
        let inFlight = Mutex((now: 0, most: 0))
        let bench = Bench(ratePerSecond: 100_000, concurrencyLimit: 4) { _, _ in
            inFlight.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            for _ in 0..<20 { await Task.yield() }
            inFlight.withLock { $0.now -= 1 }
            return .answer(200)
        }
        #expect(await bench.crowd(200).allSatisfy { $0.word == "answered {}" })
        #expect(inFlight.withLock { $0.most } == 4)
        #expect(inFlight.withLock { $0.now } == 0)
    }

    @Test func `retries only a small part of many calls`() async {
        let bench = Bench { _, number in number.isMultiple(of: 3) ? .error(5_000_001) : .answer(200)
        }
        for _ in 0..<2000 { _ = await bench.ask() }
        #expect(bench.apple.requests.count <= 2000 + 50 + 200)
        #expect(bench.apple.requests.count > 2100)
    }

    @Test func `does not wait past the deadline for a retry`() async {
        let bench = Bench(deadline: .milliseconds(1)) { _, _ in .answer(503, "") }
        #expect(await bench.ask().word.hasPrefix("unavailable"))
        #expect(bench.clock.elapsed <= .milliseconds(1))
    }

    @Test func `is not made when its turn comes after the deadline`() async {
        let bench = Bench(ratePerSecond: 1, concurrencyLimit: 100, deadline: .seconds(5)) { _, _ in
            .answer(200)
        }
        let words = await bench.crowd(20).map(\.word)
        #expect(words.count { $0 == "answered {}" } == 6)
        #expect(words.count { $0 == "deadline" } == 14)
    }

    @Test func `leaves the queue when its task is cancelled, and the queue goes on`() async throws {
        let (arrivals, arrival) = AsyncStream<Void>.makeStream()
        let (releases, release) = AsyncStream<Void>.makeStream()
        let bench = Bench(concurrencyLimit: 1) { _, number in
            arrival.yield()
            if number == 1 { for await _ in releases { break } }
            return .answer(200)
        }
        let first = Task { await bench.ask().word }
        for await _ in arrivals { break }
        let second = Task { await bench.ask().word }
        let third = Task { await bench.ask().word }
        second.cancel()
        #expect(await second.value == "cancelled")
        release.yield()
        #expect(await first.value == "answered {}")
        #expect(await third.value == "answered {}")
        #expect(bench.apple.requests.count == 2)
    }

    @Test func `ends when its task is cancelled in a wait or in the transfer`() async {
        let (stream, sleepers) = AsyncStream<Void>.makeStream()
        let requests = PacedRequests(
            app: AppIdentity(bundleID: "b", environment: .sandbox), keyID: "k",
            baseURL: "https://127.0.0.1", transport: ScriptedApple { _, _ in Self.limited("60") },
            tokens: NumberedTokens(), rates: .uniform(requestsPerSecond: 10),
            clock: StoppedClock(sleepers: sleepers), wallClock: { Timestamp(unixMilliseconds: 0) })
        let task = Task {
            try await requests.send(APIRequest(endpoint: .transactionInfo, path: "/x"))
        }
        for await _ in stream { break }
        task.cancel()
        await #expect(throws: RunStop.cancelled) { try await task.value }
        let cut = Bench { _, _ throws(HTTPTransportError) in throw .cancelled }
        #expect(await cut.ask().word == "cancelled")
    }

    @Test func `has Apple's documented limits`() {
        let production = QuotaRates.documented(environment: .production, share: 0.5)
        let sandbox = QuotaRates.documented(environment: .sandbox, share: 0.5)
        for endpoint in Endpoint.allCases where endpoint != .refundHistory {
            #expect(production.perSecond(of: endpoint) == 25)
            #expect(sandbox.perSecond(of: endpoint) == 2.5)
        }
        #expect(production.perSecond(of: .refundHistory) == 5)
        #expect(sandbox.perSecond(of: .refundHistory) == 0.5)
        #expect(QuotaRates.uniform(requestsPerSecond: 25).perSecond(of: .refundHistory) == 10)
        #expect(QuotaRates.uniform(requestsPerSecond: 3).perSecond(of: .refundHistory) == 3)
    }
}
