import Subscriptions
import Synchronization

/// What tests ask of a running simulator, beside the App Store's own API.
final class SimulatorControl: Sendable {
    static let bodyLimitBytes = 4 * 1024 * 1024

    let services: [AppStoreService]
    let logs: [SimulatedEnvironment: RequestLog]

    init(services: [AppStoreService], logs: [SimulatedEnvironment: RequestLog]) {
        self.services = services
        self.logs = logs
    }

    func answer(_ request: ServiceRequest) -> ServiceAnswer {
        guard request.path.first == "_simulator" else { return .noSuchPath }
        switch (request.method, request.path.dropFirst().joined(separator: "/")) {
        case ("GET", "health"): return health()
        case ("GET", "log"): return log(request)
        case ("POST", "log/reset"):
            for log in logs.values { log.reset() }
            return .json { _ in }
        default: return .noSuchPath
        }
    }

    private func health() -> ServiceAnswer {
        .json { json in
            json.field("status", "ok")
            for service in self.services {
                json.key(service.environment.rawValue.lowercased())
                let counts = service.world.withLock { world in
                    (world.accounts.count, world.chains.count, world.notifications.count, world.now)
                }
                json.object { json in
                    json.field("customers", counts.0)
                    json.field("purchases", counts.1)
                    json.field("notifications", counts.2)
                    json.field("now", service.clock.now.rfc3339)
                }
            }
        }
    }

    /// The production log, or the sandbox's with `?environment=Sandbox`.
    private func log(_ request: ServiceRequest) -> ServiceAnswer {
        let name = request.value("environment") ?? SimulatedEnvironment.production.rawValue
        guard let environment = SimulatedEnvironment(rawValue: name),
            let log = logs[environment]
        else { return .noSuchPath }
        return .json { log.snapshot.write(into: &$0) }
    }
}
