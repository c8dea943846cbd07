import Dispatch
import Foundation

/// Turns SIGINT and SIGTERM into a call, so that the simulator ends cleanly.
final class InterruptSignals {
    private let sources: [any DispatchSourceSignal]

    init(_ interrupted: @escaping @Sendable () -> Void) {
        sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler(handler: interrupted)
            source.resume()
            return source
        }
    }

    func cancel() {
        for source in sources { source.cancel() }
    }
}
