package import Foundation
import HTTPTransport
import Synchronization

/// `appstore-simulator` as a child process, stopped with its owner.
package final class RunningSimulator: @unchecked Sendable {
    /// The READY line.
    package struct Ready: Decodable, Sendable {
        package var endpoint: String
        package var sandboxEndpoint: String
        package var control: String
        package var caFile: String
        package var rootFile: String
        package var keyFile: String
        package var keyID: String
        package var connectKeyFile: String
        package var connectKeyID: String
        package var vendorNumber: String
        package var issuerID: String
        package var bundleID: String
        package var appAppleID: Int64
        package var tableFile: String?
        package var plantedFile: String?
        package var purchasesFile: String?
        package var plantedPurchasesFile: String?

        private enum CodingKeys: String, CodingKey {
            case endpoint
            case sandboxEndpoint = "sandbox_endpoint"
            case control
            case caFile = "ca_file"
            case rootFile = "root_file"
            case keyFile = "key_file"
            case keyID = "key_id"
            case connectKeyFile = "connect_key_file"
            case connectKeyID = "connect_key_id"
            case vendorNumber = "vendor_number"
            case issuerID = "issuer_id"
            case bundleID = "bundle_id"
            case appAppleID = "app_apple_id"
            case tableFile = "table_file"
            case plantedFile = "planted_file"
            case purchasesFile = "purchases_file"
            case plantedPurchasesFile = "planted_purchases_file"
        }
    }

    package let ready: Ready
    private let running: BuiltExecutable.Running

    private static let startPatienceSeconds = 60.0

    package init(
        _ arguments: [String],
        executable: BuiltExecutable = BuiltExecutable("appstore-simulator")
    ) throws {
        running = try executable.start(arguments)
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
        let endpoint = environment == "sandbox" ? ready.sandboxEndpoint : ready.endpoint
        return """
              - bundle_id: \(ready.bundleID)
                app_apple_id: \(ready.appAppleID)
                environment: \(environment)
                issuer_id: \(ready.issuerID)
                key_id: \(ready.keyID)
                key_file: \(ready.keyFile)
                endpoint: \(endpoint)
                ca_file: \(ready.caFile)
                trusted_roots: [\(ready.rootFile)]
                requests_per_second: 5000

            """ + extra.map { "    \($0)\n" }.joined()
    }

    /// Calls the control port and returns the body.
    @discardableResult
    package func control(
        _ path: String, method: String = "GET", body: String? = nil
    ) async throws -> Data {
        let request = HTTPRequest(
            method: method, url: ready.control + path,
            headers: body == nil ? [] : [("Content-Type", "application/json")],
            body: body.map { Array($0.utf8) })
        // A simulator that gets no turn on a busy machine is not dead.
        var settings = CurlTransport.Settings()
        settings.totalTimeoutMilliseconds = 180_000
        // A table of some hundred thousand rows is one answer.
        settings.bodyLimitBytes = 512 * 1_048_576
        let transport = try CurlTransport(settings)
        let response = try await transport.send(request)
        await transport.shutdown()
        guard response.status == 200 else { throw ControlRefused(path: path) }
        return Data(response.body)
    }

    package struct ControlRefused: Error {
        package let path: String
    }
}
