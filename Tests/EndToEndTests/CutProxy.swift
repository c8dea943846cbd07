import Foundation
import TestSupport
import Testing

/// A proxy on a TCP port before a server's socket, which can be cut.
final class CutProxy {
    let port: Int
    private let socket: String
    private var running: BuiltExecutable.Running

    init(to socket: String) throws {
        self.socket = socket
        (running, port) = try Self.start(to: socket, 0)
    }

    deinit { cut() }

    /// Leaves what is sent in either direction where it is.
    func freeze() { running.send(signal: SIGSTOP) }

    /// Resets all connections, and refuses new ones.
    func cut() {
        running.send(signal: SIGKILL)
        _ = running.wait()
    }

    /// Forwards again, on the same port.
    func restart() throws { (running, _) = try Self.start(to: socket, port) }

    private static func start(
        to socket: String, _ port: Int
    ) throws -> (BuiltExecutable.Running, Int) {
        let running = try BuiltExecutable("env", in: URL(fileURLWithPath: "/usr/bin")).start(
            ["python3", ProgramNight.programs + "/cut_proxy.py", socket, "\(port)"])
        while !running.outputSoFar.contains("\n"), running.process.isRunning { usleep(5000) }
        let words = running.outputSoFar.trimmingCharacters(in: .newlines)
        return (running, try #require(Int(words), "the proxy did not start"))
    }
}
