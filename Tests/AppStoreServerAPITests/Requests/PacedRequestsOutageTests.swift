import AppStoreServerAPI
import HTTPTransport
import Subscriptions
import Synchronization
import Testing

@Suite struct `A call in an outage` {
    /// Does not work for the first seconds.
    private func down(
        for seconds: Int, deadline: Duration? = nil,
        hear: @escaping @Sendable (OutageNotice) -> Void = { _ in }
    ) -> Bench {
        let clock = JumpingClock()
        let apple = ScriptedApple { _, _ in
            clock.elapsed < .seconds(seconds) ? .answer(503, "") : .answer(200)
        }
        return Bench(apple: apple, clock: clock, deadline: deadline, hear: hear)
    }

    @Test func `waits for the end of an outage of 90 seconds and puts off few`() async {
        let bench = down(for: 90)
        let words = await bench.ask(ids: Array(1...500))
        let lost = words.values.filter { $0 != "answered {}" }
        // They are asked again at the end of the run.
        #expect(lost.count < 80 && lost.allSatisfy { $0.contains("then put off for others") })
        #expect(bench.calls("server_error") < 80)
        #expect(bench.clock.elapsed < .seconds(180))
    }

    @Test func `waits as well when it worked before`() async {
        let clock = JumpingClock()
        let apple = ScriptedApple { _, _ in
            (Duration.seconds(10)..<Duration.seconds(100)).contains(clock.elapsed)
                ? .answer(503, "") : .answer(200)
        }
        let bench = Bench(apple: apple, clock: clock, ratePerSecond: 50)
        let words = await bench.ask(ids: Array(1...2000))
        let lost = words.values.filter { $0 != "answered {}" }
        // Those that failed twice before it was known; they are asked again at the end.
        #expect(lost.count < 32 && lost.allSatisfy { $0.contains("while others were answered") })
        #expect(bench.calls("server_error") < 80)
    }

    @Test func `says that it waits, until when, and that it goes on`() async {
        let heard = Mutex<[OutageNotice]>([])
        let bench = down(for: 5) { notice in heard.withLock { $0.append(notice) } }
        _ = await bench.ask(ids: Array(1...50))
        let notices = heard.withLock { $0 }
        guard case .waits(let until, let givesUpAt) = notices.first?.event,
            case .worksAgain = notices.last?.event
        else {
            Issue.record("nothing was said: \(notices)")
            return
        }
        #expect(givesUpAt.unixMilliseconds - Bench.now > 1_795_000)
        #expect((0..<5000).contains(until.unixMilliseconds - Bench.now))
        #expect(
            notices[0].sentence.hasPrefix(
                "subscription_statuses of com.example.app (Production) does not work: "
                    + "127.0.0.1:1 answered 503 (application/json)."))
        #expect(notices.count <= 5)
    }

    @Test func `is bounded, and given up after max_outage`() async {
        let bench = down(for: 99_999)
        let words = await bench.ask(ids: Array(1...2000))
        #expect(words.values.allSatisfy { $0.hasPrefix("unavailable ") })
        #expect(bench.apple.requests.count < 150)
        #expect(bench.clock.elapsed >= .seconds(1800))
        #expect(bench.clock.elapsed < .seconds(1900))
        let before = bench.apple.requests.count
        let word = await bench.ask().word
        #expect(word.contains("this run has given it up: 127.0.0.1:1 answered 503"))
        #expect(word.contains("max_outage"))
        #expect(bench.apple.requests.count == before)
        #expect(bench.requests.givenUp(.subscriptionStatuses) != nil)
    }

    @Test func `is given up at the deadline where that comes first`() async {
        let bench = down(for: 99_999, deadline: .seconds(60))
        let words = await bench.ask(ids: Array(1...2000))
        #expect(words.values.contains("deadline"))
        #expect(bench.clock.elapsed <= .seconds(60))
        #expect(bench.apple.requests.count < 100)
        #expect(bench.requests.givenUp(.subscriptionStatuses) == nil)
    }

    @Test(arguments: [20, 10])
    func `does not take a few bad ids for an outage`(every: Int) async {
        let heard = Mutex<[OutageNotice]>([])
        let apple = ScriptedApple { request, _ in
            request.id.isMultiple(of: every) ? .error(5_000_001) : .answer(200)
        }
        let bench = Bench(apple: apple, clock: JumpingClock()) { notice in
            heard.withLock { $0.append(notice) }
        }
        let words = await bench.ask(ids: Array(1...2000))
        for (id, word) in words {
            let expected = id.isMultiple(of: every) ? "unavailable" : "answered"
            #expect(word.hasPrefix(expected), "\(id)")
        }
        #expect(heard.withLock { $0 }.isEmpty)
        #expect(apple.requests.count < 2000 + 2 * 2000 / every + 100)
    }

    @Test(arguments: [40, 100])
    func `tries other ids when the first of a run all fail`(bad: Int) async {
        let apple = ScriptedApple { request, _ in
            request.id <= bad ? .error(5_000_001) : .answer(200)
        }
        let bench = Bench(apple: apple, clock: JumpingClock())
        let words = await bench.ask(ids: Array(1...2000))
        for (id, word) in words {
            #expect(word.hasPrefix(id <= bad ? "unavailable" : "answered"), "\(id): \(word)")
        }
        #expect(bench.requests.givenUp(.subscriptionStatuses) == nil)
        #expect(bench.clock.elapsed < .seconds(360))
        #expect(apple.requests.count < 2000 + bad + 50)
    }

    @Test(arguments: [3, 5, 25])
    func `is waited for by a small table, too`(rows: Int) async {
        let bench = down(for: 600)
        let words = await bench.ask(ids: Array(1...rows))
        #expect(words.values.contains("answered {}"), "\(words)")
        #expect(bench.apple.requests.count < 150)
    }

    @Test func `is not waited for by one row alone, which has its retry budget`() async {
        let bench = down(for: 600)
        for _ in 1...3 {
            let words = await bench.ask(ids: [1])
            #expect(words[1]?.hasPrefix("unavailable ") == true, "\(words)")
        }
        #expect(bench.clock.elapsed < .seconds(300))
    }

    @Test func `finds out by an answered question when only bad ids are left`() async {
        let heard = Mutex<[OutageNotice]>([])
        let apple = ScriptedApple { request, _ in
            request.id > 100 ? .error(5_000_001) : .answer(200)
        }
        let bench = Bench(apple: apple, clock: JumpingClock()) { notice in
            heard.withLock { $0.append(notice) }
        }
        let words = await bench.ask(ids: Array(1...500) + [7])
        #expect(words.count { $0.value.hasPrefix("unavailable ") } == 400)
        #expect(words[7] == "answered {}")
        #expect(heard.withLock { $0 }.isEmpty)
        #expect(bench.requests.givenUp(.subscriptionStatuses) == nil)
        // Two attempts each, and a check for every ten faults.
        let allowedRequests: Int = 100 + 2 * 400 + 150
        #expect(apple.requests.count < allowedRequests)
        #expect(bench.clock.elapsed < .seconds(60))
    }

    @Test func `does not take time-outs of single ids for an outage`() async {
        let clock = JumpingClock()
        let apple = ScriptedApple { request, _ throws(HTTPTransportError) in
            guard request.id.isMultiple(of: 10) else { return .answer(200) }
            throw .timedOut("no answer within 30 s")
        }
        let bench = Bench(apple: apple, clock: clock)
        let words = await bench.ask(ids: Array(1...1000))
        #expect(words.count { $0.value == "answered {}" } == 900)
        #expect(bench.requests.givenUp(.subscriptionStatuses) == nil)
    }
}
