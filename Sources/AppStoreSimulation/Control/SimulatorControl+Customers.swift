import Subscriptions
import Synchronization

/// Customers at run time: listed, shown, added, and given a step.
extension SimulatorControl {
    /// `names`: the parts of the path behind `customers`.
    ///
    /// `moment`: when the call changed the world.
    func customers(
        _ names: ArraySlice<String>, _ request: ServiceRequest, at moment: inout Timestamp
    ) throws(SimulatorError) -> ServiceAnswer {
        switch (request.method, names.count) {
        case ("GET", 0): return try listed(request)
        case ("POST", 0): return try add(request, at: &moment)
        case ("GET", 1): return try truth(of: names.first ?? "", request)
        case ("POST", 2):
            return try perform(names.last ?? "", of: names.first ?? "", request, at: &moment)
        default: return .noSuchControl(request)
        }
    }

    /// The scripted customers, or those that the parameters ask for.
    private func listed(_ request: ServiceRequest) throws(SimulatorError) -> ServiceAnswer {
        let query = try ControlQuery(request, allowed: CustomerListing.parameters)
        let now = clock.now
        guard query.isEmpty else {
            let listing = try CustomerListing(query, catalogue: factory.catalogue)
            var json = JSONWriter(capacity: 12_000)
            var failure: SimulatorError?
            json.object { json in
                do throws(SimulatorError) {
                    try listing.write(of: services, now: now, into: &json)
                } catch {
                    failure = error
                }
            }
            if let failure { throw failure }
            return .json(json.bytes)
        }
        return .json { json in
            json.key("customers")
            json.array { json in
                for service in services {
                    service.world.state.withLock { world in
                        world.advance(to: now)
                        world.writeScripted(into: &json)
                    }
                }
            }
        }
    }

    /// Everything about one customer, unsigned.
    private func truth(
        of customer: String, _ request: ServiceRequest
    ) throws(SimulatorError) -> ServiceAnswer {
        let query = try ControlQuery(request, allowed: ["environment"])
        let (service, account, _) = try find(
            customer, query.choice(SimulatedEnvironment.self, "environment"))
        return truth(of: account, service)
    }

    private func truth(of account: Int, _ service: AppStoreService) -> ServiceAnswer {
        let world = service.world.state.withLock { world in
            world.advance(to: clock.now)
            return world
        }
        return .json { service.writeTruth(account: account, of: world, into: &$0) }
    }

    /// Adds a customer, with a life as in a scenario.
    private func add(
        _ request: ServiceRequest, at moment: inout Timestamp
    ) throws(SimulatorError) -> ServiceAnswer {
        _ = try ControlQuery(request)
        let customer = try decode(
            ScriptedCustomer.self, request,
            form: #"{"name": "eve", "life": [{"at": "-40d", "buy": "video.basic.monthly"}]}"#)
        guard UInt64(customer.name) == nil, !customer.name.isEmpty else {
            throw .badOption("A customer's name is neither empty nor a number, which is an id.")
        }
        guard customer.expectations.isEmpty else {
            throw .badOption("\"expect\" belongs to scenario files.")
        }
        guard let service = services.first(where: { $0.environment == customer.environment })
        else { return .noSuchPath }
        let result = service.world.state.withLock { world in
            world.advance(to: max(clock.now, world.now))
            return Self.outcome(in: &world) { world throws(SimulatorError) in
                try world.add(customer)
                return world.scripted.accounts[customer.name] ?? 0
            }
        }
        let (account, changed) = try result.get()
        moment = changed
        return truth(of: account, service)
    }

    /// Performs a step of a customer now.
    private func perform(
        _ step: String, of customer: String, _ request: ServiceRequest,
        at moment: inout Timestamp
    ) throws(SimulatorError) -> ServiceAnswer {
        let query = try ControlQuery(request, allowed: ["environment"])
        let call = try StepCall.read(
            request.body, step: step, catalogue: factory.catalogue)
        let (service, account, chain) = try find(
            customer, query.choice(SimulatedEnvironment.self, "environment"))
        guard chain == nil || call.purchase == nil else {
            throw .badOption(
                "The id \(customer) names the purchase already; \"of\" would name another one.")
        }
        let result = service.world.state.withLock { world in
            world.advance(to: max(clock.now, world.now))
            return Self.outcome(in: &world) { world throws(SimulatorError) in
                try world.perform(call, account: account, chain: chain)
                return account
            }
        }
        let changed = try result.get()
        moment = changed.moment
        return truth(of: account, service)
    }

    private static func outcome(
        in world: inout World, _ body: (inout World) throws(SimulatorError) -> Int
    ) -> Result<(account: Int, moment: Timestamp), SimulatorError> {
        do throws(SimulatorError) {
            return .success((try body(&world), world.now))
        } catch {
            return .failure(error)
        }
    }

    /// The customer with a name or id; a name that exists in both environments needs one named.
    func find(
        _ customer: String, _ environment: SimulatedEnvironment?
    ) throws(SimulatorError) -> (service: AppStoreService, account: Int, chain: Int?) {
        var found: [(service: AppStoreService, account: Int, chain: Int?)] = []
        for service in services where environment == nil || environment == service.environment {
            let place = service.world.state.withLock { world in
                world.advance(to: clock.now)
                return world.customer(named: customer)
            }
            if let place { found.append((service, place.account, place.chain)) }
        }
        guard let first = found.first else {
            throw .badOption(
                "There is no customer \"\(customer)\"; a customer is named by its name in the "
                    + "scenario, its appTransactionId or one of its transaction ids.")
        }
        guard found.count == 1 else {
            throw .badOption(
                "There is a \"\(customer)\" in Production and in Sandbox; name one by "
                    + "\"environment\".")
        }
        return first
    }
}
