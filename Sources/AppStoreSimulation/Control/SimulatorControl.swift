import FoundationEssentials
import Subscriptions
import Synchronization

/// The control calls, with which tests direct a running simulator.
struct SimulatorControl: Sendable {
    static let bodyLimitBytes = 4 * 1024 * 1024
    /// The call that waits for the app's server.
    private static let retentionRequest = ["_simulator", "retention", "request"]

    let services: [AppStoreService]
    let logs: [SimulatedEnvironment: RequestLog]
    let faults: FaultPlan
    let limits: RequestLimits
    let clock: SimulatedClock
    let sender: NotificationSender
    /// `nil` without an OCSP responder.
    let ocsp: OCSPListener?
    let listeners: [StoreListener]
    let ports: ListeningPorts
    /// `nil` without `--keep`.
    let journal: WorldJournal?
    let token: ClientToken
    let factory: WorldFactory

    /// Answers a control call and waits for its consequences: deliveries, opened and closed ports.
    func answer(_ request: ServiceRequest) async -> ServiceAnswer {
        if request.method == "POST", request.path == Self.retentionRequest {
            return await requestRetention(request)
        }
        let answer = answerAtOnce(request)
        if request.path.last == "advance", answer.status == 200 {
            let text = try? decode(AdvanceText.self, request, form: "")
            await sender.deliverDue(waitingAtMost: text?.waitSeconds ?? 0)
        }
        if ["ocsp", "reset"].contains(request.path.last) { await ocsp?.follow() }
        if ["faults", "reset"].contains(request.path.last) {
            for listener in listeners { try? await listener.follow() }
        }
        return answer
    }

    /// Answers a control call without waiting, and records it in the journal.
    func answerAtOnce(_ request: ServiceRequest) -> ServiceAnswer {
        var moment = clock.now
        let answer = perform(request, at: &moment)
        if answer.status == 200 { journal?.note(control: request, at: moment) }
        return answer
    }

    /// `moment`: when the call changed the world.
    private func perform(_ request: ServiceRequest, at moment: inout Timestamp) -> ServiceAnswer {
        if request.path == [""], request.method == "GET" { return page() }
        guard request.path.first == "_simulator" else { return .noSuchControl(request) }
        let names = Array(request.path.dropFirst())
        do throws(SimulatorError) {
            if names.first == "customers" {
                return try customers(names.dropFirst(), request, at: &moment)
            }
            let call = names.joined(separator: "/")
            switch (request.method, call) {
            case ("GET", "log"): return try log(request)
            case ("GET", "log/requests"): return try requests(request)
            case ("GET", "notifications"): return try notifications(request)
            default: _ = try ControlQuery(request)
            }
            switch (request.method, call) {
            case ("GET", "health"): return health()
            case ("POST", "log/reset"):
                for log in logs.values { log.reset() }
                ocsp?.service.resetCounts()
                return .ok
            case ("GET", "token"): return try freshToken()
            case ("GET", "faults"): return faultReport()
            case ("POST", "faults"): return try setFaults(request)
            case ("POST", "limits"): return try setLimits(request)
            case ("GET", "table"):
                return table { CompanyTable(rows: CompanyTable.exactRows(of: $0, app: $1)).csv }
            case ("GET", "purchases"): return table { CompanyTable.purchases(of: $0, app: $1) }
            case ("POST", "advance"): return try advance(request)
            case ("GET", "clock"): return clockReport()
            case ("POST", "clock"): return try setClock(request)
            case ("POST", "reset"): return try reset(request)
            case ("POST", "app"): return try setApp(request)
            case ("POST", "notifications"): return try setAddress(request)
            case ("POST", "retention"): return try setRetentionAddress(request)
            case ("POST", "retention/review"): return try review(request)
            case ("POST", "retention/request"):
                throw .badOption("Only a network connection waits for the app's server.")
            case ("GET", "ocsp"): return try revocationService().report()
            case ("POST", "ocsp"): return try setRevocation(request)
            default: return .noSuchControl(request)
            }
        } catch {
            return .refusedControl(error.description)
        }
    }

    func health() -> ServiceAnswer {
        .json { json in
            json.field("status", "ok")
            json.field("now", clock.now.rfc3339)
            for service in services {
                json.key(service.environment.rawValue.lowercased())
                let (counts, skipped) = service.world.state.withLock { world in
                    (
                        (world.accounts.count, world.chains.count, world.notifications.count),
                        world.skippedSteps
                    )
                }
                json.object { json in
                    json.field("customers", counts.0)
                    json.field("purchases", counts.1)
                    json.field("notifications", counts.2)
                    if !skipped.isEmpty {
                        json.key("skipped_steps")
                        json.array { json in
                            for reason in skipped { json.string(reason) }
                        }
                    }
                }
            }
        }
    }

    /// What the production world has at this moment, as a company's table without a mistake.
    private func table(_ csv: (borrowing World, SimulatedApp) -> String) -> ServiceAnswer {
        let text = services.first { $0.environment == .production }.map { service in
            service.world.state.withLock { world in
                world.advance(to: clock.now)
                return csv(world, token.app)
            }
        }
        return ServiceAnswer(
            status: 200, contentType: "text/csv;charset=UTF-8", body: Array((text ?? "").utf8))
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

    /// Replaces the fault plan; a plan without rules ends all faults.
    private func setFaults(_ request: ServiceRequest) throws(SimulatorError) -> ServiceAnswer {
        let text = try FaultPlanText.read(String(decoding: request.body, as: UTF8.self))
        faults.replace(with: text.rules)
        if let limits = text.limits { self.limits.apply(limits) }
        return faultReport()
    }

    private func setLimits(_ request: ServiceRequest) throws(SimulatorError) -> ServiceAnswer {
        let limits = try decode(LimitsText.self, request, form: #"{"statuses": 100}"#)
        self.limits.apply(limits)
        return .ok
    }

    private func setApp(_ request: ServiceRequest) throws(SimulatorError) -> ServiceAnswer {
        let text = try decode(
            AppText.self, request, form: #"{"released": false, "notification_address": true}"#)
        for service in services {
            service.connectSettings.state.withLock { state in
                state.isReleased = text.released ?? state.isReleased
                state.hasNotificationAddress =
                    text.notificationAddress ?? state.hasNotificationAddress
            }
        }
        return .ok
    }

    /// Sets where notifications are sent from now on; `null` ends sending.
    private func setAddress(_ request: ServiceRequest) throws(SimulatorError) -> ServiceAnswer {
        let text = try decode(
            AddressText.self, request, form: #"{"address": "http://127.0.0.1:8080/apple"}"#)
        try sender.configure(text, since: clock.now)
        return .ok
    }

    /// Sets what the OCSP responder answers from now on.
    private func setRevocation(_ request: ServiceRequest) throws(SimulatorError) -> ServiceAnswer {
        let service = try revocationService()
        let change = try decode(OCSPChange.self, request, form: #"{"mode": "revoked"}"#)
        try service.apply(change)
        return service.report()
    }

    private func revocationService() throws(SimulatorError) -> OCSPService {
        guard let ocsp else {
            throw .badOption("Start the simulator with --ocsp MODE: certificates name its address.")
        }
        return ocsp.service
    }

    func decode<Value: Decodable>(
        _ type: Value.Type, _ request: ServiceRequest, form: String
    ) throws(SimulatorError) -> Value {
        do {
            let decoder = JSONDecoder()
            decoder.userInfo = StrictKeys.userInfo(factory.catalogue)
            return try decoder.decode(type, from: Data(request.body))
        } catch {
            throw .badOption(
                "The body must be JSON such as \(form): \(SimulatorError.sentence(of: error))")
        }
    }
}
