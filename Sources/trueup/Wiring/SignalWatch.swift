import Dispatch
import Glibc
import ReconciliationRun

/// Turns SIGINT and SIGTERM into a request to stop; a second one ends the process at once.
final class SignalWatch {
    private var sources: [any DispatchSourceSignal] = []

    init(stop: StopRequest, tell: @escaping @Sendable (String) -> Void) {
        let queue = DispatchQueue(label: "trueup.signals")
        for number in [SIGINT, SIGTERM] {
            // The source sees the signal only when the default action is off.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                if stop.signal != nil { _exit(128 + number) }
                tell("stopping: finishing what is under way and keeping a checkpoint")
                stop.request(signal: number)
            }
            source.activate()
            sources.append(source)
        }
    }

    deinit {
        for source in sources { source.cancel() }
        for number in [SIGINT, SIGTERM] { signal(number, SIG_DFL) }
    }
}
