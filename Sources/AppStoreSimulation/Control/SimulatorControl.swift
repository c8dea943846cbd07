import FoundationEssentials
import Subscriptions
import Synchronization

/// What tests ask of a running simulator, beside the App Store's own API.
struct SimulatorControl: Sendable {
    static let bodyLimitBytes = 4 * 1024 * 1024

    let services: [AppStoreService]
    let logs: [SimulatedEnvironment: RequestLog]
    let faults: FaultPlan
    let limits: RequestLimits
    let clock: SimulatedClock
    let courier: NotificationCourier
    /// `nil` where no revocation service was asked for.
    let ocsp: OCSPListener?
    let token: ClientToken

    /// Answers a control call; after a move of the clock, what became due is also delivered.
    func answer(_ request: ServiceRequest) async -> ServiceAnswer {
        let answer = answerAtOnce(request)
        if request.path.last == "advance" { await courier.deliverDue() }
        if request.path.last == "ocsp" { await ocsp?.follow() }
        return answer
    }

    /// Answers a control call; notifications are delivered later, if at all.
    func answerAtOnce(_ request: ServiceRequest) -> ServiceAnswer {
        guard request.path.first == "_simulator" else { return .noSuchPath }
        do throws(SimulatorError) {
            switch (request.method, request.path.dropFirst().joined(separator: "/")) {
            case ("GET", "health"): return health()
            case ("GET", "log"): return log(request)
            case ("POST", "log/reset"):
                for log in logs.values { log.reset() }
                ocsp?.service.resetCounts()
                return .json { $0.field("status", "ok") }
            case ("GET", "token"): return try freshToken()
            case ("GET", "faults"): return faultReport()
            case ("POST", "faults"): return try setFaults(request)
            case ("POST", "limits"): return try setLimits(request)
            case ("GET", "customers"): return customers()
            case ("POST", "advance"): return try advance(request)
            case ("POST", "app"): return try setApp(request)
            case ("POST", "notifications"): return try setAddress(request)
            case ("GET", "ocsp"): return ocsp?.service.report() ?? .noSuchPath
            case ("POST", "ocsp"): return try setRevocation(request)
            default: return .noSuchPath
            }
        } catch {
            return .refusedControl(error.description)
        }
    }

    private func health() -> ServiceAnswer {
        .json { json in
            json.field("status", "ok")
            json.field("now", clock.now.rfc3339)
            for service in services {
                json.key(service.environment.rawValue.lowercased())
                let counts = service.world.state.withLock { world in
                    (world.accounts.count, world.chains.count, world.notifications.count)
                }
                json.object { json in
                    json.field("customers", counts.0)
                    json.field("purchases", counts.1)
                    json.field("notifications", counts.2)
                }
            }
        }
    }

    /// The production log, or the sandbox's with `?environment=Sandbox`.
    private func log(_ request: ServiceRequest) -> ServiceAnswer {
        let name = request.value("environment") ?? SimulatedEnvironment.production.rawValue
        guard let environment = SimulatedEnvironment(rawValue: name), let log = logs[environment]
        else { return .noSuchPath }
        return .json { log.snapshot.write(into: &$0) }
    }

    /// The scenario's customers: what they bought, under which ids, and where it stands.
    private func customers() -> ServiceAnswer {
        .json { json in
            json.key("customers")
            json.array { json in
                for service in services {
                    service.world.state.withLock { world in
                        world.advance(to: clock.now)
                        world.writeScripted(into: &json)
                    }
                }
            }
        }
    }

    private func freshToken() throws(SimulatorError) -> ServiceAnswer {
        guard let text = try? token.make(unixSeconds: SimulatedClock.realSeconds) else {
            throw .badOption("The client's key cannot sign.")
        }
        return ServiceAnswer(
            status: 200, contentType: "text/plain;charset=UTF-8", body: Array(text.utf8))
    }

    private func faultReport() -> ServiceAnswer {
        .json { json in
            json.key("faults")
            json.array { json in
                for rule in faults.report {
                    json.object { json in
                        json.field("fault", rule.name)
                        json.field("matched", rule.matched)
                        json.field("fired", rule.fired)
                    }
                }
            }
        }
    }

    /// Replaces the fault plan; one without rules ends all faults.
    private func setFaults(_ request: ServiceRequest) throws(SimulatorError) -> ServiceAnswer {
        let text = try FaultPlanText.read(String(decoding: request.body, as: UTF8.self))
        faults.replace(with: try text.rules())
        if let limits = text.limits { self.limits.apply(limits) }
        return faultReport()
    }

    private func setLimits(_ request: ServiceRequest) throws(SimulatorError) -> ServiceAnswer {
        let plan = "limits: " + String(decoding: request.body, as: UTF8.self)
        guard let limits = try FaultPlanText.read(plan).limits else {
            throw .badOption("The body must be an object of limits.")
        }
        self.limits.apply(limits)
        return .json { $0.field("status", "ok") }
    }

    private struct AdvanceText: Decodable {
        var days: Double?
        var hours: Double?
        var seconds: Double?
        var to: String?
    }

    /// Moves the clock forward and lets everything happen that is due until then.
    private func advance(_ request: ServiceRequest) throws(SimulatorError) -> ServiceAnswer {
        let text = try decode(
            AdvanceText.self, request, form: #"{"days": 30} or {"to": "2026-12-31T00:00:00Z"}"#)
        var milliseconds =
            (text.days ?? 0) * 86_400_000 + (text.hours ?? 0) * 3_600_000
            + (text.seconds ?? 0) * 1000
        if let to = text.to {
            guard let moment = Timestamp(rfc3339: to) else {
                throw .badOption("\"to\" must be a time such as 2026-12-31T00:00:00Z.")
            }
            milliseconds += Double(moment.milliseconds(since: clock.now))
        }
        guard milliseconds >= 0, milliseconds < 100 * 366 * 86_400_000.0 else {
            throw .badOption("The clock moves forward only, by at most a hundred years.")
        }
        clock.advance(milliseconds: Int64(milliseconds))
        for service in services {
            service.world.state.withLock { $0.advance(to: clock.now) }
        }
        return health()
    }

    private struct AppText: Decodable {
        var released: Bool?
        var notificationAddress: Bool?

        private enum CodingKeys: String, CodingKey {
            case released
            case notificationAddress = "notification_address"
        }
    }

    private func setApp(_ request: ServiceRequest) throws(SimulatorError) -> ServiceAnswer {
        let text = try decode(
            AppText.self, request, form: #"{"released": false, "notification_address": true}"#)
        for service in services {
            service.switches.state.withLock { state in
                state.isReleased = text.released ?? state.isReleased
                state.hasNotificationAddress =
                    text.notificationAddress ?? state.hasNotificationAddress
            }
        }
        return .json { $0.field("status", "ok") }
    }

    private struct AddressText: Decodable {
        var address: String?
    }

    /// Where notifications are sent from now on; without an address nothing is sent.
    private func setAddress(_ request: ServiceRequest) throws(SimulatorError) -> ServiceAnswer {
        let text = try decode(
            AddressText.self, request, form: #"{"address": "http://127.0.0.1:8080/apple"}"#)
        try courier.configure(address: text.address, since: clock.now)
        return .json { $0.field("status", "ok") }
    }

    /// What the revocation service answers from now on.
    private func setRevocation(_ request: ServiceRequest) throws(SimulatorError) -> ServiceAnswer {
        guard let ocsp else {
            throw .badOption("Start the simulator with --ocsp MODE: certificates name its address.")
        }
        let change = try decode(OCSPChange.self, request, form: #"{"mode": "revoked"}"#)
        try ocsp.service.apply(change)
        return ocsp.service.report()
    }

    private func decode<Value: Decodable>(
        _ type: Value.Type, _ request: ServiceRequest, form: String
    ) throws(SimulatorError) -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(request.body))
        } catch {
            throw .badOption("The body must be JSON such as \(form).")
        }
    }
}
