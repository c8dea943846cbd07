import Subscriptions

/// Creates the worlds of a start, and the same ones again for each reset.
struct WorldFactory: Sendable {
    let settings: SimulatorSettings
    let catalogue: Catalogue
    let scenario: Scenario?
    /// A company's own table, with which the store agrees.
    let given: GivenTable?
    /// The moment of the first start.
    let start: Timestamp

    /// The world of an environment and, where the settings ask for it, the company's table of it.
    func world(
        _ environment: SimulatedEnvironment
    ) throws(SimulatorError) -> (world: World, table: CompanyTable?) {
        let isProduction = environment == .production
        var world = try emptyWorld(environment)
        if let given { try world.add(given.rows(in: environment)) }
        let scripted = scenario.map { $0.population?.customers ?? 0 }
        let count = settings.customers ?? scripted ?? (given == nil ? 2000 : 0)
        world.populate(customers: isProduction ? count : max(20, count / 20))
        if let scenario { try world.play(scenario.customers) }
        guard isProduction, let drift = settings.drift else { return (world, nil) }
        let table = CompanyTable.make(
            of: &world, app: settings.app, rate: drift, kinds: settings.driftKinds,
            seed: settings.seed)
        return (world, table)
    }

    private func emptyWorld(_ environment: SimulatedEnvironment) throws(SimulatorError) -> World {
        let isProduction = environment == .production
        var world = World(
            environment: environment, catalogue: catalogue,
            pace: isProduction ? .production : Pace(monthMinutes: settings.sandboxMonthMinutes),
            seed: settings.seed &+ (isProduction ? 0 : 1), now: start,
            rates: scenario?.population?.rates ?? LifeRates(),
            given: try given.map { given throws(SimulatorError) in
                try GivenIdentifiers(given.rows(in: environment), in: environment)
            } ?? GivenIdentifiers())
        if let days = scenario?.graceDays { world.graceDays = days }
        return world
    }

    /// Performs all steps of the scenario, future ones included, in worlds of their own: a step that
    /// cannot happen is refused when the file is read and not when it becomes due.
    ///
    /// Nothing about scripted customers is random, so the steps will later have the same results.
    func rehearse() throws(SimulatorError) {
        guard let scenario else { return }
        for environment in SimulatedEnvironment.allCases {
            var world = try emptyWorld(environment)
            try world.play(scenario.customers)
            while let last = world.pendingSteps.last {
                world.advance(to: last.date)
                if let reason = world.skippedSteps.first { throw .badOption(reason) }
            }
        }
    }
}
