import Subscriptions

/// The delivery attempts of one environment: those to be made and those in flight.
struct DeliveryQueue: Sendable {
    /// How many attempts are made at the same time by default.
    static let defaultConcurrency = 8

    var receiver: (any NotificationReceiver)?
    var concurrency = defaultConcurrency
    var isOrdered = true
    private(set) var inFlight = 0
    private var attempts = DueAttempts()
    private var busy: Set<Int32> = []
    /// Due attempts of purchases that already have one in flight.
    private var waiting: [Int32: [DueAttempt]] = [:]

    mutating func add(_ attempt: DueAttempt) { attempts.insert(attempt) }

    /// Removes the attempts that have not begun.
    mutating func clear() {
        attempts = DueAttempts()
        waiting = [:]
    }

    /// Whether nothing is in flight and nothing is due.
    func isIdle(at now: Timestamp) -> Bool {
        guard inFlight == 0 else { return false }
        return receiver == nil || (attempts.first.map { $0.due > now } ?? true)
    }

    /// Takes the next attempt that may begin.
    mutating func begin(at now: Timestamp) -> DueAttempt? {
        guard receiver != nil, inFlight < concurrency else { return nil }
        while let next = attempts.first, next.due <= now {
            _ = attempts.removeFirst()
            if isOrdered, next.key.chain >= 0 {
                guard busy.insert(next.key.chain).inserted else {
                    waiting[next.key.chain, default: []].append(next)
                    continue
                }
            }
            inFlight += 1
            return next
        }
        return nil
    }

    mutating func end(_ attempt: DueAttempt) {
        inFlight -= 1
        busy.remove(attempt.key.chain)
        for next in waiting.removeValue(forKey: attempt.key.chain) ?? [] { attempts.insert(next) }
    }
}

/// The address that receives notifications.
protocol NotificationReceiver: Sendable {
    /// Posts a body and returns the result: 0 for success, otherwise an index into `Delivery.failures`
    /// plus one.
    func post(_ body: [UInt8]) async -> UInt8
}

extension NotificationRecord.Delivery {
    /// The result for one of Apple's names of failures.
    static func outcome(_ name: String) -> UInt8 {
        UInt8((failures.firstIndex(of: name) ?? failures.count - 1) + 1)
    }

    /// The result for a status: 200 to 206 is success; redirects are not followed.
    static func outcome(ofStatus status: Int) -> UInt8 {
        (200...206).contains(status) ? 0 : outcome("UNSUCCESSFUL_HTTP_RESPONSE_CODE")
    }
}

/// An attempt to deliver a notification, with the moment at which it is due.
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

/// A heap of attempts, ordered by the time they are due.
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
