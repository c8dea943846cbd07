import Synchronization

/// Apple's rate limits: the requests to each endpoint and environment are counted per hour, and those
/// above the limit are refused until the hour ends.
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
        var perWindow = Dictionary(
            uniqueKeysWithValues: Endpoint.allCases.map { ($0, $0.requestsPerHour) })
        var windowMilliseconds = CivilCalendar.millisecondsPerHour
        /// The share of every limit that the app's other servers have used when a window begins.
        var usedPortion = 0.0
        var windows: [Key: Window] = [:]
    }

    private let initial: LimitsText?
    private let state = Mutex(State())

    /// `changes`: how the limits of the start differ from Apple's.
    init(changes: LimitsText? = nil) {
        initial = changes
        reset()
    }

    /// Counts a request.
    ///
    /// Above the limit, returns when the window ends (UNIX milliseconds).
    func refusal(
        _ endpoint: Endpoint, environment: SimulatedEnvironment, unixMilliseconds now: Int64
    ) -> Int64? {
        state.withLock { state in
            guard var limit = state.perWindow[endpoint] else { return nil }
            if environment == .sandbox { limit = max(1, limit / 10) }
            limit -= Int(Double(limit) * state.usedPortion)
            let key = Key(endpoint: endpoint, environment: environment)
            var window = state.windows[key] ?? Window(start: now)
            if now - window.start >= state.windowMilliseconds { window = Window(start: now) }
            window.count += 1
            state.windows[key] = window
            return window.count > limit ? window.start + state.windowMilliseconds : nil
        }
    }

    /// Restores the limits of the start and resets the counters.
    func reset() {
        state.withLock { $0 = State() }
        if let initial { apply(initial) }
    }

    /// Replaces limits and resets the counters.
    func apply(_ text: LimitsText) {
        state.withLock { state in
            state.windows = [:]
            if let seconds = text.windowSeconds {
                state.windowMilliseconds = Int64(seconds * 1000)
            }
            if let portion = text.usedPortion { state.usedPortion = portion }
            for (endpoint, limit) in text.perWindow {
                state.perWindow[endpoint] = limit < 0 ? nil : limit
            }
        }
    }
}

/// Limits in a fault plan or control call: requests per window by endpoint (-1: no limit), the window's
/// length, and the share that the app's other servers have used.
struct LimitsText: Decodable, Sendable {
    var perWindow: [Endpoint: Int] = [:]
    var windowSeconds: Double?
    var usedPortion: Double?

    init(from decoder: any Decoder) throws {
        let names = Endpoint.allCases.map(\.rawValue)
        let keys = try StrictKeys(decoder, allowed: names + ["window_seconds", "used", "all"])
        windowSeconds = try keys.number("window_seconds", in: 0.001...86_400.0)
        usedPortion = try keys.number("used", in: 0.0...1.0)
        let all = try keys.number("all", in: -1...Int.max)
        for endpoint in Endpoint.allCases {
            perWindow[endpoint] = try keys.number(endpoint.rawValue, in: -1...Int.max) ?? all
        }
    }
}
