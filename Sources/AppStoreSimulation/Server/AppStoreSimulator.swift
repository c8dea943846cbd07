import Crypto
import FoundationEssentials
import Hummingbird
import HummingbirdHTTP2
import HummingbirdTLS
import Logging
import Subscriptions
import SwiftASN1
import Synchronization
import X509

/// A simulated App Store on loopback: two HTTPS listeners (production and sandbox), a plain one for
/// control calls, and on demand another one for the revocation of its certificates.
package struct AppStoreSimulator: Sendable {
    private let settings: SimulatorSettings
    private let doors: [SimulatedEnvironment: FrontDoor]
    private let logs: [SimulatedEnvironment: RequestLog]
    private let tls: TLSIdentity
    private let control: SimulatorControl
    private let courier: NotificationCourier
    private let ocsp: OCSPListener?
    private let scenario: Scenario?
    /// What a client needs to know; the addresses are empty until the simulator listens.
    package let report: SimulatorReport

    /// Makes keys, certificates, worlds and files; nothing listens yet.
    package init(settings: SimulatorSettings) throws(SimulatorError) {
        self.settings = settings
        let scenario = try settings.scenario.map { text throws(SimulatorError) in
            try Scenario.read(text)
        }
        self.scenario = scenario
        let clock = SimulatedClock(fixed: settings.now ?? scenario?.now)
        let clientKey = P256.Signing.PrivateKey()
        let chain: SigningChain
        let signers: FlawedSigners
        let signingRootPEM: String
        let ocspPort = try settings.ocsp.map { _ throws(SimulatorError) in
            try ReservedPort(settings.ocspPort)
        }
        do {
            let authority =
                try ocspPort.map {
                    try SigningChain.Authority.make(
                        around: clock.now, ocspAddress: "http://127.0.0.1:\($0.number)")
                } ?? SigningChain.Authority.make(around: clock.now)
            chain = try authority.issue(around: clock.now)
            signers = FlawedSigners(chain: chain, authority: authority, around: clock.now)
            signingRootPEM =
                PEMDocument(type: "CERTIFICATE", derBytes: chain.certificates[2]).pemString + "\n"
            tls = try TLSIdentity.make(now: Date())
            ocsp = ocspPort.map {
                OCSPListener(
                    port: $0,
                    service: OCSPService(mode: settings.ocsp ?? .good, authority: authority),
                    logger: Self.quietLogger)
            }
        } catch {
            throw .certificates(reason: "\(error)")
        }
        let folder = try SimulatorFolder.write(
            at: settings.folder, tlsRootPEM: tls.rootPEM, signingRootPEM: signingRootPEM,
            clientKey: clientKey, keyID: settings.app.keyID)
        var report = SimulatorReport()
        report.tlsRootFile = folder.tlsRootFile
        report.signingRootFile = folder.signingRootFile
        report.keyFile = folder.keyFile
        report.app = settings.app
        report.ocsp = ocsp?.address

        var production = try Self.world(
            .production, settings: settings, scenario: scenario, now: clock.now)
        if let drift = settings.drift {
            let table = CompanyTable.make(
                of: &production, app: settings.app, rate: drift, kinds: settings.driftKinds,
                seed: settings.seed)
            let files = try table.write(into: settings.folder)
            report.tableFile = files.table
            report.plantedFile = files.planted
        }
        let sandbox = try Self.world(
            .sandbox, settings: settings, scenario: scenario, now: clock.now)
        let tokens = TokenCheck(
            app: settings.app, key: clientKey.publicKey,
            unixSeconds: { SimulatedClock.realSeconds })
        let signer = PayloadSigner(chain: chain)
        let switches = StoreSwitches()
        let services = [
            SimulatedEnvironment.production: AppStoreService(
                world: production, app: settings.app, signer: signer, clock: clock, tokens: tokens,
                switches: switches),
            .sandbox: AppStoreService(
                world: sandbox, app: settings.app, signer: signer, clock: clock, tokens: tokens,
                switches: switches),
        ]
        let logs = [
            SimulatedEnvironment.production: RequestLog(), .sandbox: RequestLog(),
        ]
        let faults = FaultPlan()
        let limits = RequestLimits()
        if let plan = settings.faults {
            let text = try FaultPlanText.read(plan)
            faults.replace(with: try text.rules())
            if let changes = text.limits { limits.apply(changes) }
        }
        doors = services.mapValues {
            FrontDoor(service: $0, faults: faults, limits: limits, signers: signers)
        }
        self.logs = logs
        courier = NotificationCourier(
            services: SimulatedEnvironment.allCases.compactMap { services[$0] }, clock: clock)
        control = SimulatorControl(
            services: SimulatedEnvironment.allCases.compactMap { services[$0] }, logs: logs,
            faults: faults, limits: limits, clock: clock, courier: courier, ocsp: ocsp,
            token: ClientToken(app: settings.app, key: clientKey))
        self.report = report
    }

    private static func world(
        _ environment: SimulatedEnvironment, settings: SimulatorSettings, scenario: Scenario?,
        now: Timestamp
    ) throws(SimulatorError) -> World {
        let isProduction = environment == .production
        var world = World(
            environment: environment, seed: settings.seed &+ (isProduction ? 0 : 1), now: now,
            rates: scenario?.population?.rates ?? LifeRates())
        if let days = scenario?.graceDays { world.graceDays = days }
        let scripted = scenario.map { $0.population?.customers ?? 0 }
        let count = settings.customers ?? scripted ?? 2000
        world.populate(customers: isProduction ? count : max(20, count / 20))
        if let scenario { try world.play(scenario) }
        return world
    }

    /// Answers a request without a network.
    package func answer(
        _ request: ServiceRequest, in environment: SimulatedEnvironment = .production
    ) -> ServiceAnswer {
        doors[environment]?.outcome(request).answer ?? .noSuchPath
    }

    /// What the scenario's file expects of its customers and does not hold, in sentences.
    package func unmetExpectations() -> [String] {
        guard let scenario else { return [] }
        return SimulatedEnvironment.allCases.flatMap { environment in
            doors[environment]?.service.world.state.withLock {
                $0.unmetExpectations(of: scenario)
            } ?? []
        }
    }

    /// Answers a control call without a network.
    package func answerControl(_ request: ServiceRequest) -> ServiceAnswer {
        control.answerAtOnce(request)
    }

    /// Listens until the task is cancelled.
    ///
    /// `whenReady`: called once, when all listeners are up.
    package func run(
        whenReady: @escaping @Sendable (SimulatorReport) -> Void
    ) async throws(SimulatorError) {
        let ports = ListeningPorts(report: report, whenReady: whenReady)
        await ocsp?.follow()
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                if let ocsp { group.addTask { await ocsp.run() } }
                for environment in SimulatedEnvironment.allCases {
                    guard let application = try application(environment, ports: ports) else {
                        continue
                    }
                    group.addTask { try await application.run() }
                }
                let control = controlApplication(ports: ports)
                group.addTask { try await control.run() }
                group.addTask {
                    while true {
                        try await Task.sleep(for: .milliseconds(200))
                        await courier.deliverDue()
                    }
                }
                try await group.next()
                group.cancelAll()
            }
        } catch is CancellationError {
            return
        } catch {
            throw .cannotListen(reason: "\(error)")
        }
    }

    private func application(
        _ environment: SimulatedEnvironment, ports: ListeningPorts
    ) throws -> Application<AppStoreResponder>? {
        guard let door = doors[environment], let log = logs[environment] else { return nil }
        let isProduction = environment == .production
        return Application(
            responder: AppStoreResponder(door: door, log: log),
            server: settings.offersHTTP2
                ? try AppleLikeChannel.builder(tls)
                : try .tls(tlsConfiguration: try TLSListener.configuration(tls)),
            configuration: .init(
                address: .hostname(
                    "127.0.0.1", port: isProduction ? settings.port : settings.sandboxPort),
                serverName: "daiquiri/5"),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? 0
                ports.note(isProduction ? .production(port) : .sandbox(port))
            },
            logger: Self.quietLogger)
    }

    private func controlApplication(ports: ListeningPorts) -> Application<ControlResponder> {
        Application(
            responder: ControlResponder(control: control),
            configuration: .init(address: .hostname("127.0.0.1", port: settings.controlPort)),
            onServerRunning: { channel in ports.note(.control(channel.localAddress?.port ?? 0)) },
            logger: Self.quietLogger)
    }

    private static let quietLogger: Logger = {
        var logger = Logger(label: "appstore-simulator")
        logger.logLevel = .critical
        return logger
    }()
}
