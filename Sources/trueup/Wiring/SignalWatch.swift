import Dispatch
import Glibc
import PostgresDatabase
import ReconciliationRun

/// Turns SIGHUP, SIGINT and SIGTERM into a request to stop; a second one ends the process at once.
///
/// What is under way may be the end of a run over millions of rows, or its report. A process that is
/// killed at any moment loses nothing, so one that does not end by itself soon is ended.
///
/// A hang-up that was ignored before stays so: `nohup` asks for that.
final class SignalWatch {
    /// How long after a signal the process ends at the latest.
    private static let patience = DispatchTimeInterval.milliseconds(4500)

    private var sources: [any DispatchSourceSignal] = []
    private var watched: [Int32] = []

    init(stop: StopRequest, say: @escaping @Sendable (String) -> Void) {
        let queue = DispatchQueue(label: "trueup.signals")
        for number in [SIGHUP, SIGINT, SIGTERM] {
            if number == SIGHUP, Self.isIgnored(number) { continue }
            watched.append(number)
            // The source sees the signal only when the default action is off.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                if stop.signal != nil { _exit(128 + number) }
                say("stopping: finishing what is under way and keeping a checkpoint")
                // First: what is waited for there keeps the run from noticing the request.
                ServerPatience.ofProcess.stop()
                stop.request(signal: number)
                queue.asyncAfter(deadline: .now() + Self.patience) {
                    say(
                        "stopped before the report of this run was complete: what was written is "
                            + "kept, and the next run of the job goes on from there and reports it")
                    _exit(128 + number)
                }
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
        for number in watched { signal(number, SIG_DFL) }
        watched = []
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        let before = signal(number, SIG_DFL)
        guard unsafe unsafeBitCast(before, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
        else { return false }
        signal(number, SIG_IGN)
        return true
    }
}
