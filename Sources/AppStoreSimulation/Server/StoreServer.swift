import Hummingbird
import Synchronization

/// Makes the web server of one environment, as often as it is opened.
struct StoreServer: Sendable {
    let environment: SimulatedEnvironment
    let responder: AppStoreResponder
    let address: NetworkAddress
    let tls: TLSAuthority
    let offersHTTP2: Bool
    let faults: FaultPlan
    let announcement: Announcement

    var isRefused: Bool { faults.refusesConnections(environment) }

    /// `whenOpen`: called when it listens.
    func application(
        port: Int, whenOpen: @escaping @Sendable () -> Void
    ) throws -> Application<AppStoreResponder> {
        let (faults, environment) = (faults, environment)
        return Application(
            responder: responder,
            server: try AppleLikeChannel.builder(tls, offersHTTP2: offersHTTP2) {
                faults.nextConnection(environment)
            },
            configuration: .init(
                address: .hostname(address.text, port: port), serverName: "daiquiri/5"),
            onServerRunning: { _ in whenOpen() },
            logger: AppStoreSimulator.quietLogger)
    }
}

extension StoreServer {
    /// Tells where the environment is, also while nobody listens there.
    func announce(port: Int) {
        announcement.note(environment == .production ? .production(port) : .sandbox(port))
    }
}

/// Where listeners tell that they are up, once somebody waits for it.
final class Announcement: Sendable {
    let ports = Mutex<ListeningPorts?>(nil)

    /// What was announced, as far as it is known.
    var report: SimulatorReport? { ports.withLock { $0 }?.current }

    func note(_ listener: ListeningPorts.Listener) {
        ports.withLock { $0 }?.note(listener)
    }
}
