import Subscriptions

extension World {
    /// Records the notification that Apple sends about a chain, with its present state, and those
    /// about the family members who share the purchase.
    mutating func notify(
        _ event: NotificationEvent, chain index: Int, period: Int? = nil, at moment: Timestamp
    ) {
        record(event, chain: index, period: period, at: moment)
        guard chains[index].firstFollower >= 0 else { return }
        mirror(chain: index)
        notifyFamily(event, leader: index, period: period, at: moment)
    }

    /// Records a notification about one chain; none is sent about a deleted account.
    mutating func record(
        _ event: NotificationEvent, chain index: Int, period: Int? = nil, at moment: Timestamp
    ) {
        guard moment >= notificationsSince, !accounts[Int(chains[index].account)].isDeleted else {
            return
        }
        let place = period ?? chains[index].transactions.count - 1
        let known = chains[index].transactions.indices.contains(place)
        notifications.append(
            NotificationRecord(
                date: moment, chain: Int32(index), transaction: known ? Int16(place) : -1,
                event: event, status: UInt8(chains[index].phase.status),
                delivery: delivery(chain: index, at: moment, event: event),
                failure: UInt8(
                    truncatingIfNeeded: SeededRandom.mixed(UInt64(index) &+ seed) % 3),
                repetition: repetition(of: event, chain: index, at: moment),
                transactionAsSent: known
                    ? StatedTransaction(chains[index].transactions[place]) : nil,
                streakStart: chains[index].streakStart, renewal: chains[index].renewal))
        deliverLater(notifications[notifications.count - 1])
    }

    /// Records a notification about an account and none of its purchases.
    mutating func record(
        _ event: NotificationEvent, about subject: NotificationSubject, at moment: Timestamp
    ) {
        guard moment >= notificationsSince else { return }
        var record = NotificationRecord(
            date: moment, chain: -1, transaction: -1, event: event, status: 0, delivery: .atOnce,
            streakStart: moment, renewal: RenewalState(renewalDate: moment, nextProduct: 0))
        record.repetition = repetition(of: event, chain: -1, at: moment)
        subjects[record.key] = subject
        notifications.append(record)
        deliverLater(record)
    }

    /// Queues a new notification for delivery if there is an address.
    mutating func deliverLater(_ record: NotificationRecord) {
        guard let deliveredSince, record.date >= deliveredSince else { return }
        undeliveredNotifications.append(record.key)
    }

    /// How many notifications of this event the chain already has at this moment; they are among the
    /// last ones.
    private func repetition(
        of event: NotificationEvent, chain: Int, at moment: Timestamp
    ) -> UInt8 {
        let same = notifications.suffix(16).filter {
            $0.date == moment && Int($0.chain) == chain && $0.event == event
        }
        return UInt8(truncatingIfNeeded: same.count)
    }

    /// The planned delivery, derived from the notification alone, so that it does not depend on how the
    /// clock was moved.
    private func delivery(
        chain: Int, at moment: Timestamp, event: NotificationEvent
    ) -> NotificationRecord.Delivery {
        guard rates.lateDelivery + rates.lostDelivery + rates.repeatedDelivery > 0 else {
            return .atOnce
        }
        var random = SeededRandom(
            seed: seed ^ UInt64(bitPattern: moment.unixMilliseconds),
            stream: UInt64(chain) * 64 + UInt64(event.rawValue))
        if random.chance(rates.lostDelivery) { return .never }
        guard random.chance(rates.lateDelivery) else {
            return random.chance(rates.repeatedDelivery) ? .twice : .atOnce
        }
        return NotificationRecord.Delivery(failedAttempts: UInt8(random.integer(in: 1...3)))
    }
}
