import EventDelivery
import Glibc
import HTTPTransport
import Reconciliation
import ReconciliationRun
import SubscriptionStore
import Subscriptions

/// Telling others of corrections, put together from the settings.
struct EventTelling {
    /// What a run spends on it at most: its report stands already, and people wait for its end.
    static let budgetOfRun = Duration.seconds(60)

    private let destination: any EventDestination
    private let transport: CurlTransport?

    /// - Parameters:
    ///   - tell: whom to tell.
    ///   - environment: of this process.
    ///   - wallClock: by which a receiver judges the age of a signature; never a rehearsal's.
    ///   - shows: is handed what a command prints.
    /// - Throws: 77 or 78 for a secret, a root or a command that cannot be used.
    init(
        _ tell: TellSettings, environment: [String: String],
        wallClock: @escaping @Sendable () -> Timestamp,
        shows: @escaping @Sendable (String) -> Void
    ) throws {
        let timeout = Duration.milliseconds(tell.timeoutMilliseconds)
        switch tell.destination {
        case .command(let words):
            try Self.checkCommand(words[0])
            transport = nil
            destination = CommandDestination(
                arguments: words, environment: environment, timeout: timeout, shows: shows)
        case .url(let url, let source):
            let secret = try TellSecret.load(
                source, minimumBytes: WebhookSignature.minimumSecretBytes,
                environment: environment)
            let transport = try Self.transport(for: tell)
            self.transport = transport
            destination = WebhookDestination(
                url: url.text, signature: WebhookSignature(secret: Array(secret.reveal().utf8)),
                transport: transport, timeout: timeout, wallClock: wallClock)
        }
    }

    /// Tells what is due; one process at a time does so for a database.
    ///
    /// - Parameters:
    ///   - store: what waits, and where it is noted.
    ///   - path: the store's file.
    ///   - budget: how long it may take.
    ///   - now: by which clock events are due.
    ///   - lockPatienceMilliseconds: how long to wait for another process that tells.
    /// - Returns: how many were told, and what waits.
    /// - Throws: `RunLockError.held` while another process tells; `StoreError`.
    func round(
        from store: SQLiteStore, at path: String, budget: Duration,
        now: @escaping @Sendable () -> Timestamp, lockPatienceMilliseconds: Int
    ) async throws -> DeliverySummary {
        let lock = try RunLock.acquire(
            forDatabaseAt: path, purpose: .telling,
            holder: RunningUser.lockHolder(doing: "tell"), now: now(),
            waitMilliseconds: lockPatienceMilliseconds)
        let stop = StopRequest()
        let watch = SignalWatch(stop: stop) { _ in }
        let summary = try await DeliveryRound(
            outbox: store, destination: destination, budget: budget, now: now,
            isStopped: { stop.signal != nil }
        ).run()
        await transport?.shutdown()
        withExtendedLifetime(watch) {}
        _ = consume lock
        return summary
    }

    private static func transport(for tell: TellSettings) throws -> CurlTransport {
        var settings = CurlTransport.Settings()
        settings.userAgent = "trueup/" + ToolVersion.current
        settings.caFile = tell.caFile
        settings.totalTimeoutMilliseconds = Int(tell.timeoutMilliseconds)
        settings.connectTimeoutMilliseconds = min(
            settings.connectTimeoutMilliseconds, settings.totalTimeoutMilliseconds)
        // What a receiver answers is not read, beyond its status.
        settings.bodyLimitBytes = 1 << 20
        do throws(HTTPTransportError) {
            return try CurlTransport(settings)
        } catch {
            throw CommandFailure(.config, "tell: \(error)")
        }
    }

    private static func checkCommand(_ path: String) throws(ConfigurationError) {
        guard unsafe access(path, X_OK) != 0 else { return }
        let missing = errno == ENOENT || errno == ENOTDIR
        throw ConfigurationError(
            file: path, key: "tell.command",
            problem: missing ? "does not exist" : "cannot be run: \(SettingsFile.reason(errno))",
            suggestion: missing
                ? "put the program there, or mend the path" : "run: chmod +x \(path)")
    }
}

extension TellSettings {
    /// Names what is told, and leaves out what is not.
    var naming: EventNaming {
        { [events] entry, row in
            let event = BillingEventRule.event(of: entry, leaving: row)
            return events.contains(event) ? event : nil
        }
    }
}
