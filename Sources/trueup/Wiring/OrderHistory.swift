package import SubscriptionStore
package import Subscriptions

/// What people ordered of a run, from when to when: for its report.
package struct OrderHistory: Sendable {
    /// How many orders have a sentence of their own.
    package static let told = 10

    private var sentences: [String] = []
    private var untold = 0

    package init() {}

    /// Takes note of an order that holds no longer.
    package mutating func add(_ ended: RunOrders.Pause, until end: Timestamp) {
        add(Self.sentence(ended, until: end.rfc3339))
    }

    /// Takes note of an order that holds no longer.
    package mutating func add(_ ended: RunOrders.Throttle, until end: Timestamp) {
        add(Self.sentence(ended, until: end.rfc3339))
    }

    /// In the order of their ends, those that still hold last.
    package func sentences(stillHolding orders: RunOrders) -> [String] {
        var all = sentences
        if untold > 0 { all.append("\(untold) more pauses and throttles stand in run.log.jsonl.") }
        let end = "the run's end"
        if let pause = orders.pause { all.append(Self.sentence(pause, until: end)) }
        if let throttle = orders.throttle { all.append(Self.sentence(throttle, until: end)) }
        return all
    }

    private mutating func add(_ sentence: String) {
        guard sentences.count < Self.told else {
            untold &+= 1
            return
        }
        sentences.append(sentence)
    }

    private static func sentence(_ pause: RunOrders.Pause, until end: String) -> String {
        "Paused from \(pause.since.rfc3339) to \(end) by \(PlainText.of(pause.by)): Apple was not "
            + "asked meanwhile, and max_duration went on."
    }

    private static func sentence(_ throttle: RunOrders.Throttle, until end: String) -> String {
        "Throttled to \(throttle.requestsPerSecond) requests a second from "
            + "\(throttle.since.rfc3339) to \(end) by \(PlainText.of(throttle.by))."
    }
}
