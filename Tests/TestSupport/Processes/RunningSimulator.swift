package import Foundation
import Synchronization

/// `appstore-simulator` as a child process, stopped with its owner.
package final class RunningSimulator: @unchecked Sendable {
    /// The READY line.
    package struct Ready: Decodable, Sendable {
        package var endpoint: String
        package var sandbox_endpoint: String
        package var control: String
        package var ca_file: String
        package var root_file: String
        package var key_file: String
        package var key_id: String
        package var issuer_id: String
        package var bundle_id: String
        package var app_apple_id: Int64
        package var table_file: String?
        package var planted_file: String?
    }

    package let ready: Ready
    private let running: BuiltExecutable.Running

    private static let startPatienceSeconds = 60.0

    package init(_ arguments: [String]) throws {
        running = try BuiltExecutable("appstore-simulator").start(arguments)
        let end = Date().addingTimeInterval(Self.startPatienceSeconds)
        var line: Substring?
        while line == nil, Date() < end, running.process.isRunning {
            usleep(20_000)
            line = running.outputSoFar.split(separator: "\n").first { $0.hasPrefix("READY ") }
        }
        guard let line else {
            running.send(signal: SIGKILL)
            throw DidNotStart(errors: running.wait().errors)
        }
        Self.endWithThisProcess(running.process.processIdentifier)
        ready = try JSONDecoder().decode(Ready.self, from: Data(line.dropFirst(6).utf8))
    }

    deinit {
        running.send(signal: SIGTERM)
        _ = running.wait()
    }

    /// A simulator that a suite keeps to the end has no owner that could stop it.
    private static func endWithThisProcess(_ number: pid_t) {
        _ = stopsAtExit
        running.withLock { $0.append(number) }
    }

    private static let running = Mutex<[pid_t]>([])
    private static let stopsAtExit: Bool = {
        atexit {
            for number in RunningSimulator.running.withLock({ $0 }) { kill(number, SIGKILL) }
        }
        return true
    }()

    package struct DidNotStart: Error {
        package let errors: String
    }

    /// An entry of `apps` in `trueup.yaml` for this simulator.
    package func appYAML(environment: String = "production", extra: [String] = []) -> String {
        let endpoint = environment == "sandbox" ? ready.sandbox_endpoint : ready.endpoint
        return """
              - bundle_id: \(ready.bundle_id)
                app_apple_id: \(ready.app_apple_id)
                environment: \(environment)
                issuer_id: \(ready.issuer_id)
                key_id: \(ready.key_id)
                key_file: \(ready.key_file)
                endpoint: \(endpoint)
                ca_file: \(ready.ca_file)
                trusted_roots: [\(ready.root_file)]
                requests_per_second: 5000

            """ + extra.map { "    \($0)\n" }.joined()
    }

    /// Calls the control port and returns the body.
    @discardableResult
    package func control(
        _ path: String, method: String = "GET", body: String? = nil
    ) throws -> Data {
        var arguments = ["-sS", "--fail-with-body", "-X", method, ready.control + path]
        if let body { arguments += ["-H", "Content-Type: application/json", "-d", body] }
        let curl = Process()
        curl.executableURL = URL(fileURLWithPath: "/usr/bin/curl")
        curl.arguments = arguments
        let output = Pipe()
        curl.standardOutput = output
        try curl.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        curl.waitUntilExit()
        guard curl.terminationStatus == 0 else {
            throw ControlRefused(answer: String(decoding: data, as: UTF8.self))
        }
        return data
    }

    package struct ControlRefused: Error {
        package let answer: String
    }
}
