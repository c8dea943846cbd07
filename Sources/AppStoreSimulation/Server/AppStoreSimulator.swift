import Crypto
import Hummingbird
import Logging
import Subscriptions
import Synchronization

/// A simulated App Store: two HTTPS listeners (production and sandbox), a plain HTTP listener for
/// control calls, and optionally an OCSP responder for its signing certificates.
package struct AppStoreSimulator: Sendable {
    private let settings: SimulatorSettings
    private let gateways: [SimulatedEnvironment: APIGateway]
    private let address: NetworkAddress
    private let listeners: [StoreListener]
    private let ports = ListeningPorts()
    private let control: SimulatorControl
    private let sender: NotificationSender
    private let ocsp: OCSPListener?
    private let scenario: Scenario?
    let clock: SimulatedClock
    let token: ClientToken
    /// What a client needs to know; the addresses are empty until the simulator listens.
    package let report: SimulatorReport

    /// Creates keys, certificates, worlds and files; nothing listens yet.
    package init(settings given: SimulatorSettings) throws(SimulatorError) {
        var settings = given
        var catalogue = try settings.catalogue.map { text throws(SimulatorError) in
            try CatalogueText.read(text)
        }
        let given = try settings.table.map { text throws(SimulatorError) in
            try GivenTable.read(text)
        }
        if let given { catalogue = try given.catalogue(catalogue) }
        if let catalogue {
            settings.app.bundleID = catalogue.bundleID
            settings.app.appAppleID = catalogue.appAppleID
        }
        self.settings = settings
        let scenario = try settings.scenario.map { text throws(SimulatorError) in
            try Scenario.read(text, catalogue: catalogue ?? .standard)
        }
        self.scenario = scenario
        guard let address = NetworkAddress(settings.bindAddress) else {
            throw .badOption("\(settings.bindAddress) is not an IP address.")
        }
        self.address = address
        let saved = settings.keeps ? try SavedSimulator.read(from: settings.folder) : nil
        if let saved { try Self.check(saved, against: settings) }
        var fixed = settings.now ?? scenario?.now
        if let saved { fixed = saved.isClockFixed ? Timestamp(unixMilliseconds: saved.start) : nil }
        let clock = SimulatedClock(
            start: fixed, speed: settings.clockSpeed ?? (fixed == nil ? 1 : 0))
        self.clock = clock
        let start = saved.map { Timestamp(unixMilliseconds: $0.start) } ?? clock.now
        let factory = WorldFactory(
            settings: settings, catalogue: catalogue ?? .standard, scenario: scenario,
            given: given, start: start)
        try factory.rehearse()
        let ocspPort = try settings.ocsp.map { _ throws(SimulatorError) in
            try ReservedPort(settings.ocspPort == 0 ? saved?.ocspPort ?? 0 : settings.ocspPort)
        }
        let keys = try Self.keys(
            saved, around: start, settings: settings,
            hosts: settings.hosts + (address.isWildcard ? [] : [address.text]),
            ocspPort: ocspPort)
        let leafDays = settings.leafDays.map(Int64.init) ?? SigningChain.Authority.leafDays
        let intermediates = IntermediateRotation(
            first: keys.authority, start: start, days: settings.intermediateDays.map(Int64.init),
            leafDays: leafDays)
        let leaves = LeafRotation(
            first: keys.chain, intermediates: intermediates, start: start, days: leafDays)
        ocsp = ocspPort.map {
            OCSPListener(
                port: $0,
                service: OCSPService(mode: settings.ocsp ?? .good, intermediates: intermediates))
        }
        var report = try Self.writtenFiles(keys, settings: settings)
        report.ocsp = ocsp?.address
        let services = try Self.services(
            keys, leaves: leaves, settings: settings, factory: factory, clock: clock,
            report: &report)
        let plan = try settings.faults.map { text throws(SimulatorError) in
            try FaultPlanText.read(text)
        }
        let faults = FaultPlan(plan?.rules ?? [])
        let limits = RequestLimits(changes: plan?.limits)
        let journal = settings.keeps ? WorldJournal(folder: settings.folder) : nil
        let signers = FlawedSigners(chain: keys.chain, authority: keys.authority, around: start)
        var gateways: [SimulatedEnvironment: APIGateway] = [:]
        var logs: [SimulatedEnvironment: RequestLog] = [:]
        var listeners: [StoreListener] = []
        for service in services {
            let gateway = APIGateway(
                service: service, faults: faults, limits: limits, signers: signers,
                journal: journal)
            let log = RequestLog()
            let isProduction = service.environment == .production
            let port = try ReservedPort(
                isProduction ? settings.port : settings.sandboxPort, on: address)
            let server = StoreServer(
                environment: service.environment,
                responder: AppStoreResponder(gateway: gateway, log: log), address: address,
                tls: keys.tls, offersHTTP2: settings.offersHTTP2, clock: clock, faults: faults,
                ports: ports)
            gateways[service.environment] = gateway
            logs[service.environment] = log
            listeners.append(StoreListener(server, port: port))
        }
        self.gateways = gateways
        self.listeners = listeners
        sender = NotificationSender(services: services, clock: clock)
        token = ClientToken(app: settings.app, key: keys.client)
        control = SimulatorControl(
            services: services, logs: logs, faults: faults, limits: limits, clock: clock,
            sender: sender, ocsp: ocsp, listeners: listeners, ports: ports,
            journal: journal, token: token, factory: factory)
        self.report = report
        if let journal {
            replay(try journal.entries())
            if saved == nil {
                try SavedSimulator(
                    origin: SavedSimulator.Origin(settings), start: start.unixMilliseconds,
                    isClockFixed: fixed != nil, ocspPort: ocspPort?.number, keys: keys
                ).write(to: settings.folder)
            }
            try journal.begin()
            if saved == nil, settings.clockSpeed != nil {
                journal.note(clock: clock.reading, at: start)
            }
        }
    }

    private static func keys(
        _ saved: SavedSimulator?, around start: Timestamp, settings: SimulatorSettings,
        hosts: [String], ocspPort: ReservedPort?
    ) throws(SimulatorError) -> SimulatorKeys {
        do {
            if let saved { return try SimulatorKeys(saved.keys, hosts: hosts) }
            return try SimulatorKeys.make(
                around: start, leafDays: settings.leafDays.map(Int64.init),
                intermediateDays: settings.intermediateDays.map(Int64.init), hosts: hosts,
                ocspAddress: ocspPort.map { "http://127.0.0.1:\($0.number)" })
        } catch {
            throw .certificates(reason: "\(error)")
        }
    }

    /// Writes the files that a client needs.
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
            keys: keys, app: settings.app)
        var report = SimulatorReport()
        report.tlsRootFile = folder.tlsRootFile
        report.signingRootFile = folder.signingRootFile
        report.keyFile = folder.keyFile
        report.connectKeyFile = folder.connectKeyFile
        report.app = settings.app
        return report
    }

    /// The API services of both environments over new worlds; also writes the company's table of this
    /// moment.
    private static func services(
        _ keys: SimulatorKeys, leaves: LeafRotation, settings: SimulatorSettings,
        factory: WorldFactory, clock: SimulatedClock, report: inout SimulatorReport
    ) throws(SimulatorError) -> [AppStoreService] {
        let tokens = TokenCheck(
            ofAPI: settings.app, key: keys.client.publicKey,
            unixSeconds: { clock.serverSeconds })
        let connectTokens = TokenCheck(
            ofAppStoreConnect: settings.app, key: keys.connect.publicKey,
            unixSeconds: { clock.serverSeconds })
        let connectSettings = AppStoreConnectSettings()
        let retention = try RetentionMessaging(
            file: settings.keeps ? RetentionFile(folder: settings.folder) : nil)
        report.rows = factory.given?.rows.count
        var services: [AppStoreService] = []
        var unmet: [String] = []
        for environment in SimulatedEnvironment.allCases {
            let (world, table) = try factory.world(environment)
            if let scenario = factory.scenario { unmet += world.unmetExpectations(of: scenario) }
            if factory.given != nil {
                report.rowsGoneOn = (report.rowsGoneOn ?? 0) + world.rowsGoneOn
            }
            if let files = try table?.write(into: settings.folder) {
                report.tableFile = files.table
                report.plantedFile = files.planted
                report.purchasesFile = files.purchases
                report.plantedPurchasesFile = files.plantedPurchases
            }
            if environment == .production, let folder = settings.revenueCatExport {
                try RevenueCatExport(of: world).write(into: folder)
            }
            if environment == .production, let folder = settings.salesReports {
                try SalesReports(of: world, vendor: settings.app.vendorNumber).write(
                    into: folder)
            }
            services.append(
                AppStoreService(
                    world: world, app: settings.app, leaves: leaves, clock: clock, tokens: tokens,
                    connectTokens: connectTokens, connectSettings: connectSettings,
                    retention: retention))
        }
        guard unmet.isEmpty else {
            throw .badOption(
                "The scenario expects what is not so: " + unmet.joined(separator: "; ") + ".")
        }
        return services
    }

    /// Answers a request without a network.
    package func answer(
        _ request: ServiceRequest, in environment: SimulatedEnvironment = .production
    ) -> ServiceAnswer {
        gateways[environment]?.outcome(request).answer ?? .noSuchPath
    }

    /// Answers a request without limits and faults.
    func answerUnfaulted(
        _ request: ServiceRequest, in environment: SimulatedEnvironment
    ) -> ServiceAnswer {
        gateways[environment]?.service.answer(request) ?? .noSuchPath
    }

    /// Runs every event that is due by now.
    func advanceWorlds() {
        for gateway in gateways.values {
            gateway.service.world.state.withLock { $0.advance(to: clock.now) }
        }
    }

    /// The expectations of the scenario that are not met, one sentence each.
    package func unmetExpectations() -> [String] {
        guard let scenario else { return [] }
        return SimulatedEnvironment.allCases.flatMap { environment in
            gateways[environment]?.service.world.state.withLock {
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
        ports.expectListeners(report: report, host: address.urlHost, whenReady: whenReady)
        await ocsp?.follow()
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                if let ocsp { group.addTask { await ocsp.run() } }
                for listener in listeners { group.addTask { try await listener.run() } }
                let connections = OpenConnections()
                let control = controlApplication(connections)
                group.addTask { try await Serving.run(control, connections) }
                group.addTask {
                    while true {
                        try await Task.sleep(for: .milliseconds(100))
                        sender.deliverDue()
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

    private func controlApplication(
        _ connections: OpenConnections
    ) -> Application<ControlResponder> {
        Application(
            responder: ControlResponder(control: control), server: connections.http1,
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
