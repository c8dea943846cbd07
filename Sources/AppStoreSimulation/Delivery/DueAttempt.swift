import Subscriptions

/// An attempt to deliver a notification that becomes due at a moment.
struct DueAttempt: Sendable {
    let due: Timestamp
    let key: NotificationKey

    fileprivate var order: (Timestamp, Timestamp, Int32, UInt8, UInt8) {
        (due, key.date, key.chain, key.event.rawValue, key.repetition)
    }

    static func precedes(_ left: DueAttempt, _ right: DueAttempt) -> Bool {
        left.order < right.order
    }
}

/// Attempts by the time they are due: the next one is found without a look at the others.
struct DueAttempts: Sendable {
    private var heap: [DueAttempt] = []

    var first: DueAttempt? { heap.first }

    mutating func insert(_ attempt: DueAttempt) {
        heap.append(attempt)
        var place = heap.count - 1
        while place > 0, DueAttempt.precedes(heap[place], heap[(place - 1) / 2]) {
            heap.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    mutating func removeFirst() -> DueAttempt? {
        guard let first = heap.first else { return nil }
        let last = heap.removeLast()
        guard !heap.isEmpty else { return first }
        heap[0] = last
        var place = 0
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2] where child < heap.count {
                if DueAttempt.precedes(heap[child], heap[least]) { least = child }
            }
            guard least != place else { return first }
            heap.swapAt(place, least)
            place = least
        }
    }
}
