import Hummingbird

/// The listener of one environment, which fault plans can close and open again.
actor StoreListener {
    private nonisolated let port: ReservedPort
    private let server: StoreServer
    private var serving: Serving?

    init(_ server: StoreServer, port: ReservedPort) {
        self.server = server
        self.port = port
    }

    /// Opens or closes the port as the fault plan requires; returns when that is done.
    func follow() async throws {
        if server.isRefused { await close() } else { try await open() }
    }

    private func open() async throws {
        if let serving {
            // A server that ended without being cancelled could not listen.
            if case .failure(let error)? = serving.outcome { throw error }
            return
        }
        let (opened, signal) = AsyncStream<Void>.makeStream()
        let connections = OpenConnections()
        let application = try server.application(port: port.number, connections) {
            signal.finish()
        }
        let serving = Serving(application, connections) { signal.finish() }
        self.serving = serving
        for await _ in opened {}
        if case .failure(let error)? = serving.outcome { throw error }
    }

    private func close() async {
        guard let serving else { return }
        self.serving = nil
        await serving.end()
    }

    /// Serves until the task is cancelled.
    func run() async throws {
        defer { serving?.beginEnding() }
        try await follow()
        server.notePort(port.number)
        while !Task.isCancelled {
            try await Task.sleep(for: .milliseconds(100))
            try await follow()
        }
    }
}

/// Creates the web server of one environment each time it is opened.
struct StoreServer: Sendable {
    let environment: SimulatedEnvironment
    let responder: AppStoreResponder
    let address: NetworkAddress
    let tls: TLSAuthority
    let offersHTTP2: Bool
    let clock: SimulatedClock
    let faults: FaultPlan
    let ports: ListeningPorts

    var isRefused: Bool { faults.refusesConnections(environment) }

    /// `whenOpen`: called when it listens.
    func application(
        port: Int, _ connections: OpenConnections, whenOpen: @escaping @Sendable () -> Void
    ) throws -> Application<AppStoreResponder> {
        let (faults, environment) = (faults, environment)
        return Application(
            responder: responder,
            server: try HTTPSChannel.builder(
                tls, offersHTTP2: offersHTTP2, clock: clock, connections: connections
            ) {
                faults.nextConnection(environment)
            },
            configuration: .init(
                address: .hostname(address.text, port: port), serverName: "daiquiri/5"),
            onServerRunning: { _ in whenOpen() },
            logger: AppStoreSimulator.quietLogger)
    }

    /// Reports the environment's port, even while a fault keeps it closed.
    func notePort(_ port: Int) {
        ports.note(environment == .production ? .production(port) : .sandbox(port))
    }
}
