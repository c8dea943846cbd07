import Subscriptions

/// Which notification: places in the growing list move, this does not.
struct NotificationKey: Hashable, Sendable {
    let date: Timestamp
    let chain: Int32
    let event: NotificationEvent
    let repetition: UInt8

    fileprivate var order: (Timestamp, Int32, UInt8, UInt8) {
        (date, chain, event.rawValue, repetition)
    }
}

extension NotificationRecord {
    var key: NotificationKey {
        NotificationKey(date: date, chain: chain, event: event, repetition: repetition)
    }
}

extension World {
    /// The place of a notification in the sorted list, or `nil` where it does not exist (any more).
    func place(of key: NotificationKey) -> Int? {
        var low = 0
        var high = notifications.count
        while low < high {
            let middle = (low + high) / 2
            if notifications[middle].order < key.order { low = middle + 1 } else { high = middle }
        }
        guard low < notifications.count, notifications[low].key == key else { return nil }
        return low
    }

    /// Hands over the notifications that were made since the last call and are to be delivered.
    mutating func takeFreshNotifications() -> [NotificationKey] {
        let fresh = freshNotifications
        freshNotifications.removeAll(keepingCapacity: fresh.count < 4096)
        return fresh
    }
}
