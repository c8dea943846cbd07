import Subscriptions
import Synchronization

/// The clock, and the way back to the start.
extension SimulatorControl {
    /// Moves the clock forward and runs every event that is due by then.
    func advance(_ request: ServiceRequest) throws(SimulatorError) -> ServiceAnswer {
        let text = try decode(
            AdvanceText.self, request, form: #"{"days": 30} or {"to": "2026-12-31T00:00:00Z"}"#)
        var milliseconds = text.milliseconds
        if let to = text.to { milliseconds += Double(to.milliseconds(since: clock.now)) }
        guard milliseconds >= 0, milliseconds < 100 * 366 * 86_400_000.0 else {
            throw .badOption("The clock moves forward only, by at most a hundred years.")
        }
        let before = clock.now
        clock.advance(milliseconds: Int64(milliseconds))
        journal?.note(clock: clock.reading, at: before)
        for service in services {
            service.world.state.withLock { $0.advance(to: clock.now) }
        }
        return health()
    }

    func clockReport() -> ServiceAnswer {
        let real = SimulatedClock.realNow
        return .json { json in
            json.field("now", clock.time(atReal: real).rfc3339)
            json.field("real", real.rfc3339)
            json.key("speed")
            json.number(Self.plain(clock.reading.speed))
            json.key("skew_seconds")
            json.number(Self.plain(Double(clock.skewMilliseconds) / 1000))
        }
    }

    /// The number's text, without ".0".
    private static func plain(_ number: Double) -> String {
        let text = "\(number)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    /// Changes the speed of the world's clock, or the difference between server and client.
    func setClock(_ request: ServiceRequest) throws(SimulatorError) -> ServiceAnswer {
        let text = try decode(ClockText.self, request, form: #"{"speed": 60}"#)
        if let speed = text.speed {
            let before = clock.now
            clock.run(atSpeed: speed)
            journal?.note(clock: clock.reading, at: before)
        }
        if let seconds = text.skewSeconds {
            clock.setSkew(milliseconds: Int64((seconds * 1000).rounded()))
        }
        return clockReport()
    }

    /// Makes everything as it was at the start, except keys, certificates and ports.
    func reset(_ request: ServiceRequest) throws(SimulatorError) -> ServiceAnswer {
        guard request.body.isEmpty || request.body.elementsEqual("{}".utf8) else {
            throw .badOption("\"reset\" takes no body: it is of everything.")
        }
        // Both environments share the settings of retention messaging.
        try services.first?.retention.reset()
        clock.reset()
        sender.reset()
        for service in services {
            let world = try factory.world(service.environment).world
            service.world.state.withLock { $0 = world }
            service.connectSettings.state.withLock { $0 = AppStoreConnectSettings.State() }
        }
        for log in logs.values { log.reset() }
        faults.reset()
        limits.reset()
        ocsp?.service.restart()
        journal?.clear()
        if let speed = factory.settings.clockSpeed, speed != 1 || factory.settings.now != nil {
            journal?.note(clock: clock.reading, at: clock.now)
        }
        return health()
    }
}
