import Subscriptions

/// The body of `advance`, which moves the clock.
struct AdvanceText: Decodable {
    var milliseconds: Double
    var to: Timestamp?
    /// How long the call waits for deliveries that became due; they continue in any case.
    var waitSeconds: Double

    private static let longestWaitSeconds = 10.0

    init(from decoder: any Decoder) throws {
        let keys = try StrictKeys(
            decoder, allowed: ["days", "hours", "seconds", "to", "wait_seconds"])
        let limit = 1e12
        let days = try keys.number("days", in: 0...limit)
        let hours = try keys.number("hours", in: 0...limit)
        let seconds = try keys.number("seconds", in: 0...limit)
        milliseconds =
            (days ?? 0) * 86_400_000 + (hours ?? 0) * 3_600_000 + (seconds ?? 0) * 1000
        if let text = try keys.value(String.self, "to") {
            guard let moment = Timestamp(rfc3339: text) else {
                throw keys.refused(
                    "\"to\" must be a time such as 2026-12-31T00:00:00Z.", at: "to")
            }
            to = moment
        }
        waitSeconds =
            try keys.number("wait_seconds", in: 0...3600.0) ?? Self.longestWaitSeconds
        guard days != nil || hours != nil || seconds != nil || to != nil else {
            throw keys.refused("it names none of days, hours, seconds and to.")
        }
    }
}

/// The body of `app`, which changes the settings in App Store Connect.
struct AppText: Decodable {
    var released: Bool?
    var notificationAddress: Bool?

    init(from decoder: any Decoder) throws {
        let keys = try StrictKeys(decoder, allowed: ["released", "notification_address"])
        released = try keys.value(Bool.self, "released")
        notificationAddress = try keys.value(Bool.self, "notification_address")
    }
}

/// The body of `notifications`, which sets the address of notifications.
struct AddressText: Decodable {
    var address: String?
    /// Whose notifications; `nil` for both environments.
    var environment: SimulatedEnvironment?
    /// How many attempts are made at the same time.
    var concurrency: Int?
    /// Whether the notifications of one purchase are sent one after the other.
    var isOrdered: Bool

    init(from decoder: any Decoder) throws {
        let keys = try StrictKeys(
            decoder, allowed: ["address", "environment", "concurrency", "ordered"])
        guard keys.names.contains("address") else {
            throw keys.refused("it lacks its \"address\", which may be null.")
        }
        address = try keys.value(String.self, "address")
        environment = try keys.environment()
        concurrency = try keys.number("concurrency", in: 1...64)
        isOrdered = try keys.value(Bool.self, "ordered") ?? true
    }
}

/// The body of `clock`: how fast the world's clock runs, and how far the server's clock differs from
/// the client's.
struct ClockText: Decodable {
    var speed: Double?
    var skewSeconds: Double?

    private static let furthestSkewSeconds = 86_400.0

    init(from decoder: any Decoder) throws {
        let keys = try StrictKeys(decoder, allowed: ["speed", "skew_seconds"])
        speed = try keys.number("speed", in: 0...SimulatedClock.fastest)
        skewSeconds = try keys.number(
            "skew_seconds", in: -Self.furthestSkewSeconds...Self.furthestSkewSeconds)
        guard speed != nil || skewSeconds != nil else {
            throw keys.refused("it names neither speed nor skew_seconds.")
        }
    }
}
