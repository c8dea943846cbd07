import Hummingbird
import Synchronization

/// The listener of the OCSP responder, which the mode `absent` closes.
actor OCSPListener {
    nonisolated let service: OCSPService
    private nonisolated let port: ReservedPort
    private var serving: Serving?

    init(port: ReservedPort, service: OCSPService) {
        self.port = port
        self.service = service
    }

    nonisolated var address: String { "http://127.0.0.1:\(port.number)" }

    /// Opens or closes the port as the mode requires; returns when that is done.
    func follow() async {
        let isAbsent = service.state.withLock { $0.mode == .absent }
        guard isAbsent else { return await open() }
        await serving?.end()
        serving = nil
    }

    private func open() async {
        guard serving == nil else { return }
        let (opened, signal) = AsyncStream<Void>.makeStream()
        let connections = OpenConnections()
        let application = Application(
            responder: OCSPResponder(service: service), server: connections.http1,
            configuration: .init(
                address: .hostname("127.0.0.1", port: port.number), reuseAddress: true),
            onServerRunning: { _ in signal.finish() }, logger: AppStoreSimulator.quietLogger)
        serving = Serving(application, connections) { signal.finish() }
        for await _ in opened {}
    }

    /// Serves until the task is cancelled.
    func run() async {
        await follow()
        while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
        serving?.beginEnding()
    }
}
