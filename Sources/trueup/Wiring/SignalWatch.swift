import Dispatch
import Glibc
import ReconciliationRun

/// Turns SIGINT and SIGTERM into a request to stop; a second one ends the process at once.
final class SignalWatch {
    private var sources: [any DispatchSourceSignal] = []

    init(stop: StopRequest, say: @escaping @Sendable (String) -> Void) {
        let queue = DispatchQueue(label: "trueup.signals")
        for number in [SIGINT, SIGTERM] {
            // The source sees the signal only when the default action is off.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                if stop.signal != nil { _exit(128 + number) }
                say("stopping: finishing what is under way and keeping a checkpoint")
                stop.request(signal: number)
            }
            source.activate()
            sources.append(source)
        }
    }

    deinit { end() }

    /// Lets the signals end the process again.
    func end() {
        guard !sources.isEmpty else { return }
        for source in sources { source.cancel() }
        sources = []
        for number in [SIGINT, SIGTERM] { signal(number, SIG_DFL) }
    }
}
