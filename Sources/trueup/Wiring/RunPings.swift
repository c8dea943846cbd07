import HTTPTransport
import Subscriptions

/// Calls the addresses of the settings when a run begins and when it has ended.
///
/// None of it changes a run or holds it up: each call has a few seconds, runs beside the work, and is
/// made once. What could not be reached is said in a warning at the end. In a rehearsal only addresses
/// of this machine are called: it must not be taken for a night.
struct RunPings: Sendable {
    private let settings: PingSettings
    private let transport: CurlTransport?
    private let started: Task<String?, Never>?

    /// How long a call may take; the last one is the most that the end of a run is delayed.
    private static let limitMilliseconds = 5_000

    /// Says that a run has begun.
    ///
    /// - Parameters:
    ///   - settings: Whom.
    ///   - isRehearsal: Whether an app asks a server on this machine instead of Apple.
    init(_ settings: PingSettings, isRehearsal: Bool) {
        let settings = isRehearsal ? settings.onThisMachine : settings
        self.settings = settings
        guard settings != PingSettings() else {
            transport = nil
            started = nil
            return
        }
        var options = CurlTransport.Settings()
        options.userAgent = "trueup/" + ToolVersion.current
        options.totalTimeoutMilliseconds = Self.limitMilliseconds
        options.connectTimeoutMilliseconds = Self.limitMilliseconds
        options.bodyLimitBytes = 1 << 20
        let transport = try? CurlTransport(options)
        self.transport = transport
        started = settings.start.map { url in Task { await Self.call(url, over: transport) } }
    }

    /// Says how the run has ended.
    ///
    /// - Returns: What could not be reached, in sentences.
    func end(with status: ExitStatus) async -> [String] {
        let last = status == .ok ? settings.success : settings.failure
        var problems = [await started?.value]
        if let last { problems.append(await Self.call(last, over: transport)) }
        await transport?.shutdown()
        return problems.compactMap(\.self)
    }

    private static func call(_ url: WebhookURL, over transport: CurlTransport?) async -> String? {
        // Its path is a secret: only the origin is shown.
        let failed = "the ping to \(url) failed: "
        guard let transport else { return failed + "no connection could be prepared" }
        let request = HTTPRequest(method: "GET", url: url.text, headers: [])
        do throws(HTTPTransportError) {
            let response = try await transport.send(request)
            return (200..<300).contains(response.status)
                ? nil : failed + "it answered \(response.status)"
        } catch {
            return failed + "\(error)"
        }
    }
}
