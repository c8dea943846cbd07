import Synchronization

/// Apple's limits, enforced by the hour: requests of each endpoint and environment are counted in
/// windows, and one too many is refused until the window ends.
///
/// Source: App Store Server API, Identifying rate limits; the sandbox has a tenth.
final class RequestLimits: Sendable {
    private struct Key: Hashable {
        let endpoint: Endpoint
        let environment: SimulatedEnvironment
    }

    private struct Window {
        var start: Int64
        var count = 0
    }

    private struct State {
        var perWindow: [Endpoint: Int]
        var windowMilliseconds: Int64 = 3_600_000
        var windows: [Key: Window] = [:]
    }

    private let state = Mutex(State(perWindow: RequestLimits.apples))

    /// Requests per hour in production.
    private static let apples: [Endpoint: Int] = [
        .statuses: 180_000, .history: 180_000, .historyV1: 180_000, .transactionInfo: 180_000,
        .appTransactionInfo: 180_000, .notificationHistory: 180_000, .refundHistory: 36_000,
        .orderLookup: 36_000, .testNotification: 3_600, .testNotificationStatus: 3_600,
    ]

    /// Counts a request; the moment (UNIX milliseconds) to wait for when it is one too many.
    func refusal(
        _ endpoint: Endpoint, environment: SimulatedEnvironment, unixMilliseconds now: Int64
    ) -> Int64? {
        state.withLock { state in
            guard var limit = state.perWindow[endpoint] else { return nil }
            if environment == .sandbox { limit = max(1, limit / 10) }
            let key = Key(endpoint: endpoint, environment: environment)
            var window = state.windows[key] ?? Window(start: now)
            if now - window.start >= state.windowMilliseconds { window = Window(start: now) }
            window.count += 1
            state.windows[key] = window
            return window.count > limit ? window.start + state.windowMilliseconds : nil
        }
    }

    /// Replaces limits; counting begins anew.
    func apply(_ text: LimitsText) {
        state.withLock { state in
            state.windows = [:]
            if let seconds = text.windowSeconds {
                state.windowMilliseconds = Int64(seconds * 1000)
            }
            for (endpoint, limit) in text.perWindow {
                state.perWindow[endpoint] = limit < 0 ? nil : limit
            }
        }
    }
}

/// Limits as written: requests per window by endpoint name (-1: none), and the window's length.
struct LimitsText: Decodable, Sendable {
    var perWindow: [Endpoint: Int] = [:]
    var windowSeconds: Double?

    init(from decoder: any Decoder) throws {
        let names = Endpoint.allCases.map(\.rawValue)
        let keys = try StrictKeys(decoder, allowed: names + ["window_seconds", "all"])
        windowSeconds = try keys.value(Double.self, "window_seconds")
        if let windowSeconds, !(0.001...86_400).contains(windowSeconds) {
            throw SimulatorError.badOption("\"window_seconds\" must be from 0.001 to 86400.")
        }
        let all = try keys.value(Int.self, "all")
        for endpoint in Endpoint.allCases {
            perWindow[endpoint] = try keys.value(Int.self, endpoint.rawValue) ?? all
        }
    }
}
