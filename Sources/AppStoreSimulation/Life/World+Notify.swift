import Subscriptions

extension World {
    /// Records that Apple sends a notification, with the state as it is now.
    mutating func notify(
        _ event: NotificationEvent, chain index: Int, period: Int? = nil, at moment: Timestamp
    ) {
        guard moment >= notificationsSince else { return }
        let place = period ?? chains[index].transactions.count - 1
        notifications.append(
            NotificationRecord(
                date: moment, chain: Int32(index), transaction: Int32(place), event: event,
                status: UInt8(chains[index].phase.status),
                delivery: delivery(chain: index, at: moment, event: event),
                failure: UInt8(
                    truncatingIfNeeded: SeededRandom.mixed(UInt64(index) &+ seed) % 3),
                revocationDate: chains[index].transactions.indices.contains(place)
                    ? chains[index].transactions[place].revocationDate : nil,
                renewal: chains[index].renewal))
    }

    /// How delivery goes follows from the notification itself, not from a running sequence.
    private func delivery(
        chain: Int, at moment: Timestamp, event: NotificationEvent
    ) -> NotificationRecord.Delivery {
        guard rates.lateDelivery + rates.lostDelivery > 0 else { return .atOnce }
        var random = SeededRandom(
            seed: seed ^ UInt64(bitPattern: moment.unixMilliseconds),
            stream: UInt64(chain) * 64 + UInt64(event.rawValue))
        if random.chance(rates.lostDelivery) { return .never }
        guard random.chance(rates.lateDelivery) else { return .atOnce }
        return NotificationRecord.Delivery(failedAttempts: UInt8(random.integer(in: 1...3)))
    }
}
