import EventDelivery
import Glibc
import HTTPTransport
import ReconciliationRun
import SubscriptionStore
import Subscriptions

/// Delivers events to the receiver that the settings name.
struct EventNotifier {
    /// What a run spends on it at most: its report stands already, and people wait for its end.
    static let budgetOfRun = Duration.seconds(60)

    private let destination: any EventDestination
    private let transport: CurlTransport?

    /// - Parameters:
    ///   - settings: the receiver.
    ///   - isVerbose: whether what a command prints is shown.
    ///   - invocation: variables of this process, and the clock by which a receiver judges the age
    ///     of a signature; never a rehearsal's.
    /// - Throws: 77 or 78 for a secret, a root or a command that cannot be used.
    init(_ settings: NotifySettings, isVerbose: Bool, in invocation: Invocation) throws {
        let timeout = Duration.milliseconds(settings.timeoutMilliseconds)
        switch settings.destination {
        case .command(let words):
            try ProgramFile.check(words[0], key: "tell.command")
            transport = nil
            destination = CommandDestination(
                arguments: words, environment: invocation.environment, timeout: timeout,
                shows: { text in
                    guard isVerbose else { return }
                    // A command may write several lines, and colours.
                    let end = text.hasSuffix("\n") ? "" : "\n"
                    writeToStandardError(PlainText.ofLines(text) + end)
                })
        case .url(let url, let source):
            let secret = try NotifySecret.load(
                source, minimumBytes: WebhookSignature.minimumSecretBytes,
                environment: invocation.environment)
            let transport = try Self.transport(for: settings)
            self.transport = transport
            destination = WebhookDestination(
                url: url.text, signature: WebhookSignature(secret: Array(secret.reveal().utf8)),
                transport: transport, timeout: timeout, wallClock: invocation.now)
        }
    }

    /// Delivers what is due; one process at a time does so for a database.
    ///
    /// - Parameters:
    ///   - store: what waits, and where the outcome is noted.
    ///   - path: the store's file.
    ///   - budget: how long it may take.
    ///   - now: by which clock events are due.
    ///   - lockPatienceMilliseconds: how long to wait for another process that delivers.
    /// - Returns: how many were delivered, and what waits.
    /// - Throws: `RunLockError.held` while another process delivers; `StoreError`.
    func deliver(
        from store: SQLiteStore, at path: String, budget: Duration,
        now: @escaping @Sendable () -> Timestamp, lockPatienceMilliseconds: Int
    ) async throws -> DeliverySummary {
        let lock = try RunLock.acquire(
            forDatabaseAt: path, purpose: .telling,
            holder: RunningUser.lockHolder(doing: "tell"), now: now(),
            waitMilliseconds: lockPatienceMilliseconds)
        let stop = StopRequest()
        let signals = SignalWatch(stop: stop) { _ in }
        defer { signals.end() }
        let summary = try await OutboxDelivery(
            outbox: store, destination: destination, budget: budget, now: now,
            isStopped: { stop.signal != nil }
        ).run()
        _ = consume lock
        return summary
    }

    func shutdown() async {
        await transport?.shutdown()
    }

    private static func transport(for settings: NotifySettings) throws -> CurlTransport {
        var transport = CurlTransport.Settings()
        transport.userAgent = "trueup/" + ToolVersion.current
        transport.caFile = settings.caFile
        transport.totalTimeoutMilliseconds = Int(settings.timeoutMilliseconds)
        transport.connectTimeoutMilliseconds = min(
            transport.connectTimeoutMilliseconds, transport.totalTimeoutMilliseconds)
        // What a receiver answers is not read, beyond its status.
        transport.bodyLimitBytes = 1 << 20
        do throws(HTTPTransportError) {
            return try CurlTransport(transport)
        } catch {
            throw CommandFailure(.config, "tell: \(error)")
        }
    }
}

/// A program of the company's, before it is run.
enum ProgramFile {
    /// Refuses what cannot be run.
    ///
    /// - Parameters:
    ///   - path: The program.
    ///   - key: The setting that names it.
    /// - Throws: 78 with what to do.
    static func check(_ path: String, key: String) throws(ConfigurationError) {
        if FileSystemFacts.isNoFile(path) {
            throw ConfigurationError(
                file: path, key: key, problem: "is not a program's file",
                suggestion: "name the program itself")
        }
        guard unsafe access(path, X_OK) != 0 else { return }
        let missing = errno == ENOENT || errno == ENOTDIR
        throw ConfigurationError(
            file: path, key: key,
            problem: missing ? "does not exist" : "cannot be run: \(SettingsFile.reason(errno))",
            suggestion: missing
                ? "put the program there, or mend the path" : "run: chmod +x \(path)")
    }
}
