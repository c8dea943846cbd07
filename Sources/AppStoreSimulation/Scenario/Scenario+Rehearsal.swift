import Subscriptions

extension Scenario {
    /// Lives through all steps, those of the future too, in a world without anybody else: a step that
    /// cannot happen is refused when the file is read and not when its time comes.
    ///
    /// Scripted lives take no decisions by chance, so they go there as they will go later.
    func rehearse(seed: UInt64, now: Timestamp) throws(SimulatorError) {
        for environment in SimulatedEnvironment.allCases {
            var world = World(environment: environment, seed: seed, now: now, rates: LifeRates())
            if let graceDays { world.graceDays = graceDays }
            try world.play(self)
            while let last = world.pendingSteps.last {
                world.advance(to: last.date)
                if let reason = world.skippedSteps.first { throw .badOption(reason) }
            }
        }
    }
}
