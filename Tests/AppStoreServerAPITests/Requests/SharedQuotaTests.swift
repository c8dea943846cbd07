import AppStoreServerAPI
import HTTPTransport
import Subscriptions
import Synchronization
import Testing

/// Several processes that enter their calls in the same books; each `Bench` is one.
@Suite struct `A quota that processes share` {
    private let clock = JumpingClock()

    private func books(_ limit: Int) -> SharedBooks {
        SharedBooks(limit: limit, now: wallClock)
    }

    private var wallClock: @Sendable () -> Timestamp {
        { [clock] in
            Timestamp(unixMilliseconds: Bench.now + Int64(clock.elapsed / .milliseconds(1)))
        }
    }

    private func process(
        _ books: any QuotaBook, rate: Double = 1000, deadline: Duration? = nil,
        earlier: [Endpoint: QuotaRefusal] = [:], heard: Heard = Heard(),
        script: @escaping ScriptedApple.Script = { _, _ in .answer(200) }
    ) -> Bench {
        Bench(
            apple: ScriptedApple(script), clock: clock, ratePerSecond: rate, deadline: deadline,
            book: books, earlierRefusals: earlier, hearAll: { heard.add($0) })
    }

    /// What was told.
    private final class Heard: Sendable {
        private let notices = Mutex<[PacingNotice]>([])
        func add(_ notice: PacingNotice) { notices.withLock { $0.append(notice) } }
        var all: [PacingNotice] { notices.withLock { $0 } }
        var waits: [PacingWait] {
            all.compactMap { if case .wait(let wait) = $0.event { wait } else { nil } }
        }
    }

    @Test func `counts the calls of processes that came before`() async {
        let books = books(7)
        for _ in 1...7 {
            let process = process(books, rate: 1)
            #expect(await process.ask().word == "answered {}")
            await process.requests.end()
        }
        let heard = Heard()
        let last = process(books, rate: 1, deadline: .seconds(60), heard: heard)
        #expect(await last.ask().word.hasPrefix("past deadline 2026-11-20T04:17:"))
        #expect(last.apple.requests.isEmpty)
        #expect(heard.waits.map(\.isPastDeadline) == [true])
        #expect(
            heard.all.first?.sentence
                == "subscription_statuses of com.example.app (Production): this hour's share of the "
                + "quota is used up: this and earlier runs have made all 7 calls that it allows. The "
                + "next call is possible at 2026-11-20T04:17:10.000Z, after this run's deadline.")
        // Another endpoint has an hour of its own.
        #expect(await last.ask(.transactionInfo).word == "answered {}")
    }

    @Test func `goes on by itself when the hour has room again, and says when`() async throws {
        let books = books(7)
        let first = process(books)
        _ = await first.crowd(7)
        await first.requests.end()
        let heard = Heard()
        let second = process(books, heard: heard)
        let start = clock.elapsed
        #expect(await second.crowd(7).allSatisfy { $0.word == "answered {}" })
        let waited = clock.elapsed - start
        #expect(waited >= .seconds(3600) && waited < .seconds(3620))
        let wait = try #require(heard.waits.first)
        #expect(heard.waits.count == 1)
        #expect(wait.reason == .quotaUsedUp(callsPerHour: 7))
        #expect(wait.until <= wallClock())
        #expect(wait.sentence.hasSuffix("The run waits until \(wait.until.rfc3339)."))
    }

    @Test func `books seconds and not calls, and gives the rest back`() async {
        let books = books(1_000_000)
        let process = process(books, rate: 50)
        _ = await process.crowd(1001)
        // Twenty seconds of calls: one booking a second, and one more for each new bucket.
        #expect(books.bookings <= 30)
        #expect(books.booked >= 1001)
        await process.requests.end()
        #expect(books.booked == 1001)
    }

    @Test func `is used to 99 % by an even pace, without a word`() async {
        let books = books(5 * 3600)
        let heard = Heard()
        let process = process(books, rate: 5, heard: heard)
        for _ in 0..<(5 * 7200) { _ = await process.ask() }
        #expect(clock.elapsed < .seconds(7200) * 1.01)
        #expect(heard.waits.isEmpty, "\(heard.waits)")
    }

    @Test func `counts what a killed process had booked as made`() async {
        let books = books(100)
        let killed = process(books, rate: 50)
        #expect(await killed.ask().word == "answered {}")
        #expect(books.booked == 50)
        let next = process(books, rate: 50, deadline: .seconds(60))
        let words = await next.crowd(60).map(\.word)
        #expect(words.count { $0 == "answered {}" } == 50)
    }

    @Test func `makes no call that cannot be booked`() async {
        let broken = SharedBooks(limit: 7, failure: QuotaBookFailure("disk full"), now: wallClock)
        let process = process(broken)
        #expect(await process.ask().word.contains("disk full"))
        #expect(process.apple.requests.isEmpty)
    }

    @Test func `ends the run where nobody knows what other workers have booked`() async {
        let gone = QuotaBookFailure(endingWith: .unavailable("No server."))
        let process = process(SharedBooks(limit: 7, failure: gone, now: wallClock))
        #expect(await process.ask().word == "store No server.")
        #expect(await process.ask().word == "store No server.")
        #expect(process.apple.requests.isEmpty)
    }

    @Test func `is told once where many wait, and holds when some are cancelled`() async {
        let books = books(10)
        let heard = Heard()
        let process = process(books, heard: heard)
        let words = await process.crowd(40).map(\.word)
        #expect(words.allSatisfy { $0 == "answered {}" })
        // Ten an hour: three waits, and each is told once.
        #expect(heard.waits.count == 3, "\(heard.waits)")
        let cancelled = Task { await process.ask().word }
        cancelled.cancel()
        _ = await cancelled.value
        #expect(books.booked >= 40)
    }

    @Test(arguments: 0..<8)
    func `is never exceeded in any hour by processes that are killed`(round: Int) async {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        let limit = [7, 50, 200][round % 3]
        let books = books(limit)
        let sent = Mutex<[Duration]>([])
        // One call at a time: this clock jumps as soon as somebody sleeps, and then a call that another
        // task is just about to make would come from the past.
        while clock.elapsed < .seconds(3 * 3600) || sent.withLock({ $0.count }) <= limit {
            let processes = (0..<Int.random(in: 1...3, using: &generator)).map { _ in
                process(books, rate: [0.5, 5, 100][Int.random(in: 0..<3, using: &generator)]) {
                    [clock] _, _ in
                    sent.withLock { $0.append(clock.elapsed) }
                    return .answer(200)
                }
            }
            for _ in 0..<Int.random(in: 1...(limit / 2 + 2), using: &generator) {
                _ = await processes[Int.random(in: 0..<processes.count, using: &generator)].ask()
            }
            // Every second one is killed before it gives anything back.
            for process in processes where Bool.random(using: &generator) {
                await process.requests.end()
            }
            try? await clock.sleep(
                until: clock.now.advanced(
                    by: .seconds(Int.random(in: 0...900, using: &generator))), tolerance: nil)
        }
        let times = sent.withLock { $0.sorted() }
        let breach = times.indices.dropFirst(limit).first {
            times[$0] - times[$0 - limit] <= .seconds(3600)
        }
        #expect(breach == nil, "seed \(seed)")
    }

    @Test func `keeps a 429 for processes that come later, and they obey it`() async throws {
        let books = books(1_000_000)
        let heard = Heard()
        let refused = process(books, rate: 10, deadline: .seconds(60), heard: heard) { _, _ in
            .answer(429, "", headers: [("retry-after", "600")])
        }
        #expect(await refused.ask().word == "past deadline 2026-11-20T03:27:04.000Z")
        #expect(heard.waits.map(\.isPastDeadline) == [true])
        let kept = try #require(books.refusals[.subscriptionStatuses])
        #expect(kept.resumesAt.unixMilliseconds == Bench.now + 600_000)
        #expect(kept.rateShare == 0.5)
        let later = Heard()
        let next = process(books, rate: 10, earlier: books.refusals, heard: later)
        #expect(await next.ask().word == "answered {}")
        #expect(clock.elapsed >= .seconds(600))
        #expect(
            later.all.first?.sentence
                == "subscription_statuses of com.example.app (Production): Apple answered 429: its "
                + "quota is used up. The run waits until 2026-11-20T03:27:04.000Z.")
        let rates = later.all.compactMap { notice -> Double? in
            if case .rate(let perSecond, _) = notice.event { perSecond } else { nil }
        }
        #expect(rates == [5])
    }

    @Test func `stops a process that already runs when another one is answered 429`() async throws {
        let books = books(1_000_000)
        let heard = Heard()
        let other = process(books, rate: 10, heard: heard)
        #expect(await other.ask().word == "answered {}")
        let refused = process(books, rate: 10, deadline: .seconds(60)) { _, _ in
            .answer(429, "", headers: [("retry-after", "600")])
        }
        #expect(await refused.ask().word.hasPrefix("past deadline"))
        // What it had booked may still be made within its bucket of five seconds.
        try await clock.sleep(until: clock.now.advanced(by: .seconds(5)), tolerance: nil)
        #expect(await other.ask().word == "answered {}")
        #expect(clock.elapsed >= .seconds(600) && clock.elapsed < .seconds(601))
        #expect(heard.waits.map(\.reason) == [.rateLimited])
        // It goes on at the reduced rate, like the one that was refused.
        let rates = heard.all.compactMap { notice -> Double? in
            if case .rate(let perSecond, _) = notice.event { perSecond } else { nil }
        }
        #expect(rates == [5])
        // Another endpoint was never stopped.
        #expect(await other.ask(.transactionInfo).word == "answered {}")
    }

    @Test func `never waits longer than an hour for what an earlier process noted`() async {
        let future = QuotaRefusal(
            resumesAt: Timestamp(unixMilliseconds: .max), rateShare: .nan)
        let process = process(books(10), earlier: [.subscriptionStatuses: future])
        #expect(await process.ask().word == "answered {}")
        #expect(clock.elapsed <= .seconds(3601))
        let past = QuotaRefusal(resumesAt: Timestamp(unixMilliseconds: .min), rateShare: 0.5)
        let start = clock.elapsed
        let second = self.process(books(10), earlier: [.subscriptionStatuses: past])
        #expect(await second.ask().word == "answered {}")
        #expect(clock.elapsed == start)
    }
}
