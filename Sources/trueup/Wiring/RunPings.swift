import HTTPTransport
import Reports
import Subscriptions

/// Calls the addresses of the settings when a run begins and when it has ended.
///
/// None of it changes a run or holds it up: each call has a few seconds, runs beside the work, and is
/// made once. What could not be reached is said in a warning at the end. In a rehearsal only addresses
/// of this machine are called: it must not be taken for a night.
struct RunPings: Sendable {
    private let settings: PingSettings
    private let job: String
    /// What `{apps}` stands for.
    private let apps: String
    private let transport: CurlTransport?
    private let started: Task<String?, Never>?

    /// How long a call may take; the last one is the most that the end of a run is delayed.
    private static let limitMilliseconds = 5_000

    /// Says that a run has begun.
    ///
    /// - Parameter run: A whole run of a job, or of a worker's apps; others, such as a `check` by hand,
    ///   call nobody, or they would hide that a night is missing.
    init(of run: PreparedRun) {
        let isRehearsal = run.settings.apps.contains { $0.endpoint.isLoopback }
        var settings = isRehearsal ? run.settings.ping.onThisMachine : run.settings.ping
        if !run.isWholeRun { settings = PingSettings() }
        self.settings = settings
        job = run.header.job
        apps = MetricsFile.plain(appsAlone: run.header.appsAlone)
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
        started = settings.start.map { [job, apps] url in
            Task { await Self.call(url, of: job, for: apps, over: transport) }
        }
    }

    /// Says how the run has ended.
    ///
    /// - Parameter isWell: Whether it needs nobody.
    /// - Returns: What could not be reached, in sentences.
    func end(isWell: Bool) async -> [String] {
        let last = isWell ? settings.success : settings.failure
        var problems = [await started?.value]
        if let last { problems.append(await Self.call(last, of: job, for: apps, over: transport)) }
        await transport?.shutdown()
        return problems.compactMap(\.self)
    }

    private static func call(
        _ url: WebhookURL, of job: String, for apps: String, over transport: CurlTransport?
    ) async -> String? {
        // Its path is a secret: only the origin is shown.
        let failed = "the ping to \(url) failed: "
        guard let transport else { return failed + "no connection could be prepared" }
        let request = HTTPRequest(
            method: "GET",
            url: url.text.replacing("{job}", with: MetricsFile.plain(job))
                .replacing("{apps}", with: apps))
        do throws(HTTPTransportError) {
            let response = try await transport.send(request)
            return (200..<300).contains(response.status)
                ? nil : failed + "it answered \(response.status)"
        } catch {
            return failed + "\(error)"
        }
    }
}
