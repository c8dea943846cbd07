import Subscriptions

extension AppStoreSimulator {
    /// Refuses to go on with a world that other options made.
    static func check(
        _ kept: KeptStore, against settings: SimulatorSettings
    ) throws(SimulatorError) {
        if let option = kept.origin.difference(from: KeptStore.Origin(settings)) {
            throw .badOption(
                "\(settings.folder) keeps a world that was made with another \(option). "
                    + "Start with the same options, or take another --folder.")
        }
        if let now = settings.now, !kept.isClockFixed || now.unixMilliseconds != kept.start {
            throw .badOption(
                "\(settings.folder) keeps a world that was made with another --now. "
                    + "Start with the same options, or take another --folder.")
        }
    }

    /// Makes the calls of earlier starts again, each at its moment.
    func replay(_ entries: [WorldJournal.Entry]) {
        guard !entries.isEmpty else { return }
        for entry in entries {
            clock.stand(at: Timestamp(unixMilliseconds: entry.at))
            advanceWorlds()
            if let milliseconds = entry.aheadMilliseconds {
                clock.setAhead(milliseconds: milliseconds)
            }
            guard let door = entry.door, let method = entry.method, let target = entry.target else {
                continue
            }
            let body = Array((entry.body ?? "").utf8)
            if let environment = SimulatedEnvironment(rawValue: door) {
                let token = (try? self.token.make(unixSeconds: SimulatedClock.realSeconds)) ?? ""
                _ = answerUnfaulted(
                    ServiceRequest(
                        method: method, target: target, authorization: "Bearer " + token,
                        body: body), in: environment)
            } else {
                _ = answerControl(ServiceRequest(method: method, target: target, body: body))
            }
        }
        clock.goOn()
        advanceWorlds()
    }
}
