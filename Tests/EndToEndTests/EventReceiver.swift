import Foundation
import Synchronization
import TestSupport
import Testing

/// A company's receiver of events: it remembers what it was sent, and answers as a test says.
final class EventReceiver: Sendable {
    struct Received: Sendable {
        /// Header names in lower case.
        var headers: [String: String]
        var body: String

        func message() throws -> [String: Any] {
            let object = try JSONSerialization.jsonObject(with: Data(body.utf8))
            return try #require(object as? [String: Any])
        }
    }

    private final class State: Sendable {
        let received = Mutex<[Received]>([])
        let status = Mutex("200 OK")
        let hangs = Mutex(false)
    }

    private let state = State()
    private let server: LoopbackServer

    init() throws {
        let state = state
        server = try LoopbackServer { connection in
            while let request = connection.request() {
                state.received.withLock { $0.append(Self.parse(request)) }
                if state.hangs.withLock({ $0 }) { return connection.waitForEnd() }
                connection.respond("", status: state.status.withLock { $0 })
            }
        }
    }

    var url: String { server.url + "/hooks/trueup" }

    /// Everything that came so far, in its order.
    var received: [Received] { state.received.withLock { $0 } }

    func answer(_ status: String) { state.status.withLock { $0 = status } }

    /// From now on it takes a request and never answers.
    func hang(_ isHanging: Bool = true) { state.hangs.withLock { $0 = isHanging } }

    func forget() { state.received.withLock { $0 = [] } }

    private static func parse(_ request: String) -> Received {
        let parts = request.components(separatedBy: "\r\n\r\n")
        var headers: [String: String] = [:]
        for line in parts[0].components(separatedBy: "\r\n").dropFirst() {
            let pieces = line.components(separatedBy: ": ")
            headers[pieces[0].lowercased()] = pieces.dropFirst().joined(separator: ": ")
        }
        return Received(
            headers: headers, body: parts.dropFirst().joined(separator: "\r\n\r\n"))
    }
}
