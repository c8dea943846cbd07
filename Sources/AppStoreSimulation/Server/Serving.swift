import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle
import Synchronization

/// A running server, and its result once it has ended.
///
/// It is not ended by cancelling its task: the library would then drop a connection that it had
/// accepted and not yet begun to serve, and a dropped one ends the process
/// (github.com/swift-server/swift-http-server/issues/137). Its connections are cancelled one by one.
final class Serving: Sendable {
    /// How long answers in flight are waited for.
    private static let longestAnswer: Duration = .seconds(2)
    /// After this the task is cancelled all the same.
    private static let longestEnding: Duration = .seconds(60)

    private let group: ServiceGroup
    private let connections: OpenConnections
    private let running = Mutex<Task<Void, Never>?>(nil)
    private let ended = Mutex<Result<Void, any Error>?>(nil)

    /// Begins to serve.
    ///
    /// - Parameters:
    ///   - application: Whose server serves these connections.
    ///   - connections: Those that are open.
    ///   - whenEnded: Called once.
    init(
        _ application: some ApplicationProtocol, _ connections: OpenConnections,
        whenEnded: @escaping @Sendable () -> Void = {}
    ) {
        self.connections = connections
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
    func beginEnding() { Task { await end() } }

    /// The same, and returns when it has ended.
    func end() async {
        await group.triggerGracefulShutdown()
        let cancelling = Task {
            try await Task.sleep(for: Self.longestAnswer)
            connections.cancel()
        }
        await running.withLock { $0 }?.value
        cancelling.cancel()
    }

    /// Serves until the server fails or the task is cancelled.
    static func run(
        _ application: some ApplicationProtocol, _ connections: OpenConnections
    ) async throws {
        let serving = Serving(application, connections)
        await withTaskCancellationHandler {
            await serving.running.withLock { $0 }?.value
        } onCancel: {
            serving.beginEnding()
        }
        try serving.outcome?.get()
    }
}

/// The connections that a server has begun to serve.
final class OpenConnections: Sendable {
    private struct Tasks {
        var areCancelled = false
        var begun = 0
        var open: [Int: Task<Void, Never>] = [:]
    }

    private let tasks = Mutex(Tasks())

    /// Serves a connection; returns when it has ended.
    func serve(_ connection: @escaping @Sendable () async -> Void) async {
        let task = Task { await connection() }
        let number = tasks.withLock { tasks in
            tasks.begun &+= 1
            tasks.open[tasks.begun] = task
            if tasks.areCancelled { task.cancel() }
            return tasks.begun
        }
        await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        tasks.withLock { _ = $0.open.removeValue(forKey: number) }
    }

    /// Cancels those that are open, and those that begin later.
    func cancel() {
        tasks.withLock { tasks in
            tasks.areCancelled = true
            for task in tasks.open.values { task.cancel() }
        }
    }

    /// Plain HTTP/1.1 over these connections.
    var http1: HTTPServerBuilder {
        HTTPServerBuilder { responder in
            HTTPChannel(base: HTTP1Channel(responder: responder), connections: self)
        }
    }
}

private struct HTTPChannel: ServerChildChannel {
    let base: HTTP1Channel
    let connections: OpenConnections

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        base.setup(channel: channel, logger: logger)
    }

    func handle(value: HTTP1Channel.Value, logger: Logger) async {
        await connections.serve { await base.handle(value: value, logger: logger) }
    }
}
