import Synchronization

/// Collects the ports of the listeners, and reports them when all listeners are up.
final class ListeningPorts: Sendable {
    enum Listener: Sendable {
        case production(Int)
        case sandbox(Int)
        case control(Int)
    }

    private struct State {
        var report: SimulatorReport
        /// The host part of the URLs.
        var host: String
        /// Called once; `nil` afterwards.
        var whenReady: (@Sendable (SimulatorReport) -> Void)?
    }

    private let state = Mutex<State?>(nil)

    /// Ports that are noted before this call are ignored.
    ///
    /// `whenReady`: called once, when all listeners are up.
    func expectListeners(
        report: SimulatorReport, host: String,
        whenReady: @escaping @Sendable (SimulatorReport) -> Void
    ) {
        state.withLock { $0 = State(report: report, host: host, whenReady: whenReady) }
    }

    /// The report with the ports that are known so far; `nil` before the simulator runs.
    var report: SimulatorReport? { state.withLock { $0?.report } }

    /// Notes that a listener is up.
    func note(_ listener: Listener) {
        let ready = state.withLock { state -> (() -> Void)? in
            guard var known = state else { return nil }
            switch listener {
            case .production(let port): known.report.endpoint = "https://\(known.host):\(port)"
            case .sandbox(let port): known.report.sandboxEndpoint = "https://\(known.host):\(port)"
            case .control(let port): known.report.control = "http://\(known.host):\(port)"
            }
            let report = known.report
            let isComplete =
                !report.endpoint.isEmpty && !report.sandboxEndpoint.isEmpty
                && !report.control.isEmpty
            guard isComplete, let whenReady = known.whenReady else {
                state = known
                return nil
            }
            known.whenReady = nil
            state = known
            return { whenReady(report) }
        }
        ready?()
    }
}
