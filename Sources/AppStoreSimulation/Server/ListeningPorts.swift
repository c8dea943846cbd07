import Synchronization

/// Collects the ports as the listeners come up and tells when all are.
final class ListeningPorts: Sendable {
    enum Listener: Sendable {
        case production(Int)
        case sandbox(Int)
        case control(Int)
    }

    private struct State {
        var report: SimulatorReport
        var isAnnounced = false
    }

    private let state: Mutex<State>
    /// As addresses name it.
    private let host: String
    private let whenReady: @Sendable (SimulatorReport) -> Void

    init(
        report: SimulatorReport, host: String,
        whenReady: @escaping @Sendable (SimulatorReport) -> Void
    ) {
        state = Mutex(State(report: report))
        self.host = host
        self.whenReady = whenReady
    }

    var current: SimulatorReport { state.withLock { $0.report } }

    /// A listener that is opened anew changes nothing.
    func note(_ listener: Listener) {
        let complete = state.withLock { state -> SimulatorReport? in
            switch listener {
            case .production(let port): state.report.endpoint = "https://\(host):\(port)"
            case .sandbox(let port): state.report.sandboxEndpoint = "https://\(host):\(port)"
            case .control(let port): state.report.control = "http://\(host):\(port)"
            }
            guard !state.isAnnounced, !state.report.endpoint.isEmpty,
                !state.report.sandboxEndpoint.isEmpty, !state.report.control.isEmpty
            else { return nil }
            state.isAnnounced = true
            return state.report
        }
        if let complete { whenReady(complete) }
    }
}
