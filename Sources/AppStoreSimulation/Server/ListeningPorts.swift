import Synchronization

/// Collects the ports as the listeners come up and tells when all are.
final class ListeningPorts: Sendable {
    enum Listener: Sendable {
        case production(Int)
        case sandbox(Int)
        case control(Int)
    }

    private let report: Mutex<SimulatorReport>
    private let whenReady: @Sendable (SimulatorReport) -> Void

    init(report: SimulatorReport, whenReady: @escaping @Sendable (SimulatorReport) -> Void) {
        self.report = Mutex(report)
        self.whenReady = whenReady
    }

    func note(_ listener: Listener) {
        let complete = report.withLock { report -> SimulatorReport? in
            switch listener {
            case .production(let port): report.endpoint = "https://127.0.0.1:\(port)"
            case .sandbox(let port): report.sandboxEndpoint = "https://127.0.0.1:\(port)"
            case .control(let port): report.control = "http://127.0.0.1:\(port)"
            }
            let isComplete =
                !report.endpoint.isEmpty && !report.sandboxEndpoint.isEmpty
                && !report.control.isEmpty
            return isComplete ? report : nil
        }
        if let complete { whenReady(complete) }
    }
}
