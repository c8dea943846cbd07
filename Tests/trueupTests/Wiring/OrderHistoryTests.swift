import SubscriptionStore
import Subscriptions
import Testing
import trueup

@Suite struct `What a report says of pauses and throttles` {
    private let start = Timestamp(unixMilliseconds: 1_795_144_624_000)

    private func pause(_ second: Int64) -> RunOrders.Order {
        RunOrders.Order(since: start.adding(milliseconds: second * 1000), by: "ops@host")
    }

    private var orders: RunOrders { RunOrders(runID: "r", process: 1) }

    @Test func `since when, until when and by whom`() {
        var history = OrderHistory()
        history.add(pause(0), until: start.adding(milliseconds: 60_000))
        history.add(
            RunOrders.Order(requestsPerSecond: 2.5, since: start, by: "ops@host"),
            until: start.adding(milliseconds: 90_000))
        let (from, minute) = (start.rfc3339, start.adding(milliseconds: 60_000).rfc3339)
        let later = start.adding(milliseconds: 90_000).rfc3339
        #expect(
            history.sentences(stillHolding: orders) == [
                "Paused from \(from) to \(minute) by ops@host: the run did not ask Apple "
                    + "meanwhile, and max_duration continued to count.",
                "Throttled to 2.5 requests a second from \(from) to \(later) by ops@host.",
            ])
    }

    @Test func `what still holds when the run ends lasts until then`() {
        var holding = orders
        holding.pause = pause(5)
        let said = OrderHistory().sentences(stillHolding: holding)
        #expect(said.count == 1)
        #expect(said.first?.contains("to the run's end by ops@host") == true)
        #expect(OrderHistory().sentences(stillHolding: orders).isEmpty)
    }

    @Test func `many orders take a bounded part of it`() {
        var history = OrderHistory()
        for second in 0..<50 {
            history.add(pause(Int64(second)), until: start.adding(milliseconds: 100_000))
        }
        let said = history.sentences(stillHolding: orders)
        #expect(said.count == OrderHistory.mostShown + 1)
        #expect(said.last == "run.log.jsonl has 40 more pauses and throttles.")
    }

    @Test func `who gave it cannot write to the terminal`() {
        var history = OrderHistory()
        history.add(RunOrders.Order(since: start, by: "a\u{1B}[2Jb"), until: start)
        #expect(history.sentences(stillHolding: orders).allSatisfy { !$0.contains("\u{1B}") })
    }
}
