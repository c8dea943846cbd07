import Hummingbird
import ServiceLifecycle
import Synchronization

/// A running server, and its result once it has ended.
///
/// It is not ended by cancelling its task: the library would then drop a connection that it had
/// accepted and not yet begun to serve, and a dropped one ends the process
/// (github.com/swift-server/swift-http-server/issues/137).
final class Serving: Sendable {
    /// How long answers in flight are waited for.
    private static let longestEnding: Duration = .seconds(2)

    private let group: ServiceGroup
    private let running = Mutex<Task<Void, Never>?>(nil)
    private let ended = Mutex<Result<Void, any Error>?>(nil)

    /// Begins to serve.
    init(_ application: some ApplicationProtocol, whenEnded: @escaping @Sendable () -> Void = {}) {
        var configuration = ServiceGroupConfiguration(
            services: [application], logger: AppStoreSimulator.quietLogger)
        configuration.maximumGracefulShutdownDuration = Self.longestEnding
        group = ServiceGroup(configuration: configuration)
        let task = Task {
            do {
                try await group.run()
                ended.withLock { $0 = .success(()) }
            } catch {
                ended.withLock { $0 = .failure(error) }
            }
            whenEnded()
        }
        running.withLock { $0 = task }
    }

    var outcome: Result<Void, any Error>? { ended.withLock { $0 } }

    /// Accepts no connection any more, and ends those that are open; does not wait for that.
    func beginEnding() { Task { await group.triggerGracefulShutdown() } }

    /// The same, and returns when it has ended.
    func end() async {
        await group.triggerGracefulShutdown()
        await running.withLock { $0 }?.value
    }

    /// Serves until the server fails or the task is cancelled.
    static func run(_ application: some ApplicationProtocol) async throws {
        let serving = Serving(application)
        await withTaskCancellationHandler {
            await serving.running.withLock { $0 }?.value
        } onCancel: {
            serving.beginEnding()
        }
        try serving.outcome?.get()
    }
}
