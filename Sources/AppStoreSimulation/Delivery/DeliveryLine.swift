import Subscriptions

/// What is to be delivered of one environment, and what is under way.
struct DeliveryLine: Sendable {
    /// So many attempts are under way at once unless said.
    static let usualConcurrency = 8

    var receiver: (any NotificationReceiver)?
    var concurrency = usualConcurrency
    var isOrdered = true
    private(set) var inFlight = 0
    private var attempts = DueAttempts()
    private var busy: Set<Int32> = []
    /// Attempts of purchases that have one under way.
    private var waiting: [Int32: [DueAttempt]] = [:]

    mutating func add(_ attempt: DueAttempt) { attempts.insert(attempt) }

    /// Forgets what is still to be delivered.
    mutating func clear() {
        attempts = DueAttempts()
        waiting = [:]
    }

    /// Whether nothing is under way and nothing is due.
    func isIdle(at now: Timestamp) -> Bool {
        guard inFlight == 0 else { return false }
        return receiver == nil || (attempts.first.map { $0.due > now } ?? true)
    }

    /// The next attempt that may begin.
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

/// Whoever receives notifications at an address.
protocol NotificationReceiver: Sendable {
    /// Posts a body and returns what came of it: 0 for success, or else one more than an index into
    /// `Delivery.failures`.
    func post(_ body: [UInt8]) async -> UInt8
}

extension NotificationRecord.Delivery {
    /// The outcome that stands for one of Apple's failures.
    static func outcome(_ name: String) -> UInt8 {
        UInt8((failures.firstIndex(of: name) ?? failures.count - 1) + 1)
    }

    /// Success is a status from 200 to 206; a redirect is not followed.
    static func outcome(ofStatus status: Int) -> UInt8 {
        (200...206).contains(status) ? 0 : outcome("UNSUCCESSFUL_HTTP_RESPONSE_CODE")
    }
}
