import Crypto
import Hummingbird
import Logging
import Subscriptions
import Synchronization

/// A simulated App Store on loopback: two HTTPS listeners (production and sandbox), a plain one for
/// control calls, and on demand another one for the revocation of its certificates.
package struct AppStoreSimulator: Sendable {
    private let settings: SimulatorSettings
    private let doors: [SimulatedEnvironment: FrontDoor]
    private let address: NetworkAddress
    private let listeners: [StoreListener]
    private let announcement = Announcement()
    private let control: SimulatorControl
    private let courier: NotificationCourier
    private let ocsp: OCSPListener?
    private let scenario: Scenario?
    let clock: SimulatedClock
    let token: ClientToken
    /// What a client needs to know; the addresses are empty until the simulator listens.
    package let report: SimulatorReport

    /// Makes keys, certificates, worlds and files; nothing listens yet.
    package init(settings: SimulatorSettings) throws(SimulatorError) {
        self.settings = settings
        let scenario = try settings.scenario.map { text throws(SimulatorError) in
            try Scenario.read(text)
        }
        self.scenario = scenario
        guard let address = NetworkAddress(settings.bindAddress) else {
            throw .badOption("\(settings.bindAddress) is not an IP address.")
        }
        self.address = address
        let kept = settings.keeps ? try KeptStore.read(from: settings.folder) : nil
        if let kept { try Self.check(kept, against: settings) }
        var fixed = settings.now ?? scenario?.now
        if let kept { fixed = kept.isClockFixed ? Timestamp(unixMilliseconds: kept.start) : nil }
        let clock = SimulatedClock(fixed: fixed)
        self.clock = clock
        let start = kept.map { Timestamp(unixMilliseconds: $0.start) } ?? clock.now
        try scenario?.rehearse(seed: settings.seed, now: start)
        let ocspPort = try settings.ocsp.map { _ throws(SimulatorError) in
            try ReservedPort(settings.ocspPort == 0 ? kept?.ocspPort ?? 0 : settings.ocspPort)
        }
        let keys = try Self.keys(
            kept, around: start, hosts: settings.hosts + (address.isWildcard ? [] : [address.text]),
            ocspPort: ocspPort)
        ocsp = ocspPort.map {
            OCSPListener(
                port: $0,
                service: OCSPService(mode: settings.ocsp ?? .good, authority: keys.authority),
                logger: Self.quietLogger)
        }
        var report = try Self.writtenFiles(keys, settings: settings)
        report.ocsp = ocsp?.address
        let services = try Self.services(
            keys, settings: settings, scenario: scenario, start: start, clock: clock,
            report: &report)
        let faults = FaultPlan()
        let limits = RequestLimits()
        if let plan = settings.faults {
            let text = try FaultPlanText.read(plan)
            faults.replace(with: text.rules)
            if let changes = text.limits { limits.apply(changes) }
        }
        let journal = settings.keeps ? WorldJournal(folder: settings.folder) : nil
        let signers = FlawedSigners(chain: keys.chain, authority: keys.authority, around: start)
        var doors: [SimulatedEnvironment: FrontDoor] = [:]
        var logs: [SimulatedEnvironment: RequestLog] = [:]
        var listeners: [StoreListener] = []
        for service in services {
            let door = FrontDoor(
                service: service, faults: faults, limits: limits, signers: signers,
                journal: journal)
            let log = RequestLog()
            let isProduction = service.environment == .production
            let port = try ReservedPort(
                isProduction ? settings.port : settings.sandboxPort, on: address)
            let server = StoreServer(
                environment: service.environment,
                responder: AppStoreResponder(door: door, log: log), address: address,
                tls: keys.tls, offersHTTP2: settings.offersHTTP2, faults: faults,
                announcement: announcement)
            doors[service.environment] = door
            logs[service.environment] = log
            listeners.append(StoreListener(server, port: port))
        }
        self.doors = doors
        self.listeners = listeners
        courier = NotificationCourier(services: services, clock: clock)
        token = ClientToken(app: settings.app, key: keys.client)
        control = SimulatorControl(
            services: services, logs: logs, faults: faults, limits: limits, clock: clock,
            courier: courier, ocsp: ocsp, listeners: listeners, announcement: announcement,
            journal: journal, token: token)
        self.report = report
        if let journal {
            replay(try journal.entries())
            if kept == nil {
                try KeptStore(
                    origin: KeptStore.Origin(settings), start: start.unixMilliseconds,
                    isClockFixed: fixed != nil, ocspPort: ocspPort?.number, keys: keys
                ).write(to: settings.folder)
            }
            try journal.begin()
        }
    }

    private static func keys(
        _ kept: KeptStore?, around start: Timestamp, hosts: [String], ocspPort: ReservedPort?
    ) throws(SimulatorError) -> SimulatorKeys {
        do {
            if let kept { return try SimulatorKeys(kept.keys, hosts: hosts) }
            return try SimulatorKeys.make(
                around: start, hosts: hosts,
                ocspAddress: ocspPort.map { "http://127.0.0.1:\($0.number)" })
        } catch {
            throw .certificates(reason: "\(error)")
        }
    }

    /// Writes what a client needs to be given.
    private static func writtenFiles(
        _ keys: SimulatorKeys, settings: SimulatorSettings
    ) throws(SimulatorError) -> SimulatorReport {
        let tlsRootPEM: String
        do {
            tlsRootPEM = try keys.tls.rootPEM
        } catch {
            throw .certificates(reason: "\(error)")
        }
        let folder = try SimulatorFolder.write(
            at: settings.folder, tlsRootPEM: tlsRootPEM, signingRootPEM: keys.signingRootPEM,
            clientKey: keys.client, keyID: settings.app.keyID)
        var report = SimulatorReport()
        report.tlsRootFile = folder.tlsRootFile
        report.signingRootFile = folder.signingRootFile
        report.keyFile = folder.keyFile
        report.app = settings.app
        return report
    }

    /// The stores of both environments over their worlds; a company's table is of the first moment.
    private static func services(
        _ keys: SimulatorKeys, settings: SimulatorSettings, scenario: Scenario?, start: Timestamp,
        clock: SimulatedClock, report: inout SimulatorReport
    ) throws(SimulatorError) -> [AppStoreService] {
        let tokens = TokenCheck(
            app: settings.app, key: keys.client.publicKey,
            unixSeconds: { SimulatedClock.realSeconds })
        let signer = PayloadSigner(chain: keys.chain)
        let switches = StoreSwitches()
        var services: [AppStoreService] = []
        var unmet: [String] = []
        for environment in SimulatedEnvironment.allCases {
            var world = try world(environment, settings: settings, scenario: scenario, now: start)
            if let scenario { unmet += world.unmetExpectations(of: scenario) }
            if environment == .production, let drift = settings.drift {
                let table = CompanyTable.make(
                    of: &world, app: settings.app, rate: drift, kinds: settings.driftKinds,
                    seed: settings.seed)
                let files = try table.write(into: settings.folder)
                report.tableFile = files.table
                report.plantedFile = files.planted
            }
            services.append(
                AppStoreService(
                    world: world, app: settings.app, signer: signer, clock: clock, tokens: tokens,
                    switches: switches))
        }
        guard unmet.isEmpty else {
            throw .badOption(
                "The scenario expects what is not so: " + unmet.joined(separator: "; ") + ".")
        }
        return services
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

    /// Answers a request whatever faults are in force.
    func answerUnfaulted(
        _ request: ServiceRequest, in environment: SimulatedEnvironment
    ) -> ServiceAnswer {
        doors[environment]?.service.answer(request) ?? .noSuchPath
    }

    /// Lets everything happen that is due by now.
    func advanceWorlds() {
        for door in doors.values {
            door.service.world.state.withLock { $0.advance(to: clock.now) }
        }
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
        let ports = ListeningPorts(report: report, host: address.urlHost, whenReady: whenReady)
        announcement.ports.withLock { $0 = ports }
        await ocsp?.follow()
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                if let ocsp { group.addTask { await ocsp.run() } }
                for listener in listeners { group.addTask { try await listener.run() } }
                let control = controlApplication(ports: ports)
                group.addTask { try await control.run() }
                group.addTask {
                    while true {
                        try await Task.sleep(for: .milliseconds(100))
                        courier.deliverDue()
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

    private func controlApplication(ports: ListeningPorts) -> Application<ControlResponder> {
        Application(
            responder: ControlResponder(control: control),
            configuration: .init(address: .hostname(address.text, port: settings.controlPort)),
            onServerRunning: { channel in ports.note(.control(channel.localAddress?.port ?? 0)) },
            logger: Self.quietLogger)
    }

    static let quietLogger: Logger = {
        var logger = Logger(label: "appstore-simulator")
        logger.logLevel = .critical
        return logger
    }()
}
