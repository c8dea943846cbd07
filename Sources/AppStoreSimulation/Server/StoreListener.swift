import Hummingbird
import Synchronization

/// The listener of one environment, which can be closed and opened while everything else runs.
actor StoreListener {
    /// A closed listener's last answers may take so long to end: two seconds.
    private static let closingChecks = 100
    private static let checkMilliseconds = 20

    private nonisolated let port: ReservedPort
    private let server: StoreServer
    private var serving: Serving?

    init(_ server: StoreServer, port: ReservedPort) {
        self.server = server
        self.port = port
    }

    /// Opens or closes the port as the fault plan demands; returns when that is done.
    func follow() async throws {
        if server.isRefused { await close() } else { try await open() }
    }

    private func open() async throws {
        if let serving {
            // A server that ended by itself could not listen.
            if case .failure(let error)? = serving.outcome { throw error }
            return
        }
        let (opened, signal) = AsyncStream<Void>.makeStream()
        let application = try server.application(port: port.number) { signal.finish() }
        let serving = Serving(application) { signal.finish() }
        self.serving = serving
        for await _ in opened {}
        if case .failure(let error)? = serving.outcome { throw error }
    }

    private func close() async {
        guard let serving else { return }
        self.serving = nil
        serving.cancel()
        for _ in 0..<Self.closingChecks where serving.outcome == nil {
            try? await Task.sleep(for: .milliseconds(Self.checkMilliseconds))
        }
    }

    /// Serves until the task is cancelled.
    func run() async throws {
        defer { serving?.cancel() }
        try await follow()
        server.announce(port: port.number)
        while !Task.isCancelled {
            try await Task.sleep(for: .milliseconds(100))
            try await follow()
        }
    }
}

/// A server that runs, or has ended.
private final class Serving: Sendable {
    private let task = Mutex<Task<Void, Never>?>(nil)
    private let ended = Mutex<Result<Void, any Error>?>(nil)

    init(_ application: Application<AppStoreResponder>, whenEnded: @escaping @Sendable () -> Void) {
        let running = Task {
            do {
                try await application.run()
                ended.withLock { $0 = .success(()) }
            } catch {
                ended.withLock { $0 = .failure(error) }
            }
            whenEnded()
        }
        task.withLock { $0 = running }
    }

    var outcome: Result<Void, any Error>? { ended.withLock { $0 } }

    func cancel() { task.withLock { $0?.cancel() } }
}
