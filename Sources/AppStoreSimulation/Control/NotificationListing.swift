import Subscriptions
import Synchronization

/// What became of a notification; the raw values are the names in control calls.
package enum DeliveryResult: String, Sendable, CaseIterable {
    case atOnce = "at_once"
    case late
    case twice
    case never
    case pending
}

extension NotificationRecord {
    /// Results of attempts that the receiver may have got, although they failed for Apple.
    private static let lostAnswers: Set<String> = [
        "TIMED_OUT", "INVALID_RESPONSE", "PREMATURE_CLOSE",
    ]

    /// The attempts made in a world by now; none for a notification that waits for its first one.
    func attempts(in world: borrowing World) -> [(date: Timestamp, result: String)] {
        // Without an address, deliveries only seem to happen, as planned.
        if outcomes == nil, delivery != .never, let since = world.deliveredSince, date >= since {
            return []
        }
        return attempts(in: world.environment, until: world.now)
    }

    func result(in world: borrowing World) -> DeliveryResult {
        let attempts = attempts(in: world)
        let environment = world.environment
        guard attempts.last?.result == "SUCCESS" else {
            return attempts.count < environment.attemptDelays.count ? .pending : .never
        }
        guard attempts.count > 1 else { return .atOnce }
        let isRepeated =
            outcomes == nil
            ? delivery == .twice
            : attempts.dropLast().contains { Self.lostAnswers.contains($0.result) }
        return isRepeated ? .twice : .late
    }
}

/// A request for notifications by what became of them.
struct NotificationListing {
    static let parameters = ["delivery", "type", "environment", "since", "until", "limit"]
    private static let usualLimit = 100
    private static let highestLimit = 10_000

    private let result: DeliveryResult?
    private let type: String?
    private let environment: SimulatedEnvironment?
    private let since: Timestamp?
    private let until: Timestamp?
    private let limit: Int

    init(_ query: ControlQuery) throws(SimulatorError) {
        result = try query.choice(DeliveryResult.self, "delivery")
        type = query.text("type")
        if let type, !NotificationEvent.knownTypes.contains(type) {
            throw .badOption("No notification has the type \"\(type)\".")
        }
        environment = try query.choice(SimulatedEnvironment.self, "environment")
        since = try query.time("since")
        until = try query.time("until")
        limit = try query.integer("limit", in: 1...Self.highestLimit) ?? Self.usualLimit
    }

    /// Writes the notifications, oldest first in each environment, and how many there are of each
    /// result.
    func write(of services: [AppStoreService], now: Timestamp, into json: inout JSONWriter) {
        var counts: [DeliveryResult: Int] = [:]
        var left = limit
        json.key("notifications")
        json.array { json in
            for service in services where environment == nil || environment == service.environment {
                service.world.state.withLock { world in
                    world.advance(to: now)
                    let first = since.map { world.firstNotification(notBefore: $0) } ?? 0
                    for record in world.notifications[first...] {
                        guard record.date <= min(now, until ?? now) else { break }
                        guard type == nil || record.event.type == type else { continue }
                        let found = record.result(in: world)
                        counts[found, default: 0] += 1
                        guard result == nil || result == found, left > 0 else { continue }
                        left -= 1
                        json.object {
                            Self.write(record, of: world, encoder: service.encoder, into: &$0)
                        }
                    }
                }
            }
        }
        json.key("counts")
        json.object { json in
            for result in DeliveryResult.allCases {
                json.field(result.rawValue, counts[result] ?? 0)
            }
        }
    }

    /// Writes the members of one notification.
    static func write(
        _ record: NotificationRecord, of world: borrowing World, encoder: PayloadEncoder,
        into json: inout JSONWriter
    ) {
        json.field("name", record.event.name)
        json.field("uuid", encoder.notificationUUID(record))
        json.field("environment", world.environment.rawValue)
        json.field("at", record.date.rfc3339)
        if record.chain >= 0 {
            json.field(
                "original_transaction_id", world.originalTransactionID(chain: Int(record.chain)))
        }
        json.field("delivery", record.result(in: world).rawValue)
        AppStoreService.write(record.attempts(in: world), into: &json)
    }
}
