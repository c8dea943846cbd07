import Subscriptions

/// Continuing where an earlier start with `--keep` stopped.
extension AppStoreSimulator {
    /// Refuses to continue a world that was created with other options.
    static func check(
        _ saved: SavedSimulator, against settings: SimulatorSettings
    ) throws(SimulatorError) {
        if let option = saved.origin.difference(from: SavedSimulator.Origin(settings)) {
            throw .badOption(
                "\(settings.folder) keeps a world that was made with another \(option). "
                    + "Start with the same options, or take another --folder.")
        }
        if let now = settings.now, !saved.isClockFixed || now.unixMilliseconds != saved.start {
            throw .badOption(
                "\(settings.folder) keeps a world that was made with another --now. "
                    + "Start with the same options, or take another --folder.")
        }
    }

    /// Replays the calls of earlier starts, each at its moment.
    func replay(_ entries: [WorldJournal.Entry]) {
        guard !entries.isEmpty else { return }
        for entry in entries {
            clock.replay(at: Timestamp(unixMilliseconds: entry.at))
            advanceWorlds()
            if let reading = entry.clock { clock.set(reading) }
            if let milliseconds = entry.aheadMilliseconds {
                clock.reset()
                clock.advance(milliseconds: milliseconds)
            }
            guard let receiver = entry.receiver, let method = entry.method,
                let target = entry.target
            else {
                continue
            }
            let body = Array((entry.body ?? "").utf8)
            if let environment = SimulatedEnvironment(rawValue: receiver) {
                let token = (try? self.token.make(unixSeconds: SimulatedClock.realSeconds)) ?? ""
                _ = answerUnfaulted(
                    ServiceRequest(
                        method: method, target: target, authorization: "Bearer " + token,
                        body: body), in: environment)
            } else {
                _ = answerControl(ServiceRequest(method: method, target: target, body: body))
            }
        }
        clock.endReplay()
        advanceWorlds()
    }
}
