import AppStoreSimulation
package import ArgumentParser
import Dispatch
import Foundation
import Subscriptions

/// Serves a simulated App Store on loopback until it is interrupted.
@main
package struct AppStoreSimulatorCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "appstore-simulator",
        abstract:
            "A fake App Store Server over HTTPS on loopback, for tests, demos and rehearsals.",
        discussion: """
            Serves Apple's App Store Server API for one app with a population of customers made \
            from a seed: production and sandbox over HTTPS (HTTP/2 and HTTP/1.1), and control \
            calls over plain HTTP under /_simulator/. It listens on 127.0.0.1 only.

            When all listeners are up it prints one line, READY {json}, with endpoint, \
            sandbox_endpoint, control, ca_file, root_file, key_file, key_id, issuer_id, bundle_id \
            and app_apple_id (with --drift also table_file and planted_file, with --ocsp also \
            ocsp), and serves until SIGINT or SIGTERM. Exit status: 0 stopped, 64 bad arguments, 65 a bad file, 69 could not listen, \
            73 could not write its files.
            """)

    @Option(
        help: ArgumentHelp(
            "Where the client's files are written: TLS root, signing root, private key.",
            discussion: "Default: a new folder for temporary files."))
    var folder: String?

    @Option(help: "Port of the production API; 0 takes a free one.")
    var port = 0

    @Option(help: "Port of the sandbox API; 0 takes a free one.")
    var sandboxPort = 0

    @Option(help: "Port of the control calls; 0 takes a free one.")
    var controlPort = 0

    @Flag(
        name: .customLong("no-http2"),
        help: "Offer HTTP/1.1 alone, as behind some proxies; Apple offers HTTP/2 too.")
    var withoutHTTP2 = false

    @Option(
        help: ArgumentHelp(
            "Also run a revocation service (OCSP), which the signing certificates name.",
            discussion: "For example good, revoked, unknown, late, absent: see docs/simulator.md.",
            valueName: "mode"))
    var ocsp: OCSPMode?

    @Option(help: "Port of the revocation service; 0 takes a free one.")
    var ocspPort = 0

    @Option(help: "Seed of the world; the same seed makes the same world.")
    var seed: UInt64 = 1

    @Option(
        help: ArgumentHelp(
            "Customers of the production world; the sandbox has a twentieth.",
            discussion: "Default: 2000, or what the scenario says."))
    var customers: Int?

    @Option(
        help: ArgumentHelp(
            "Scripted customers and a population with rates (YAML); see docs/simulator.md.",
            valueName: "file"))
    var scenario: String?

    @Option(
        help: ArgumentHelp(
            "A plan of faults and limits (YAML or JSON); see docs/simulator.md.", valueName: "file")
    )
    var faults: String?

    @Option(
        help: ArgumentHelp(
            "Also write a company's table with this share of its rows planted wrong (0 to 1).",
            discussion: "0 writes an exact table.", valueName: "rate"))
    var drift: Double?

    @Option(
        help: ArgumentHelp(
            "Plant only these kinds of drift, separated by commas.",
            discussion: "Default: every kind in turn; docs/simulator.md names them.",
            valueName: "kind,…"))
    var driftKinds: String?

    @Option(
        help: ArgumentHelp(
            "Where the world's clock stands still, for example 2026-11-20T03:00:00Z.",
            discussion: "Default: the real time, running.", valueName: "time"))
    var now: String?

    package init() {}

    package func validate() throws {
        for (name, value) in [
            ("--port", port), ("--sandbox-port", sandboxPort), ("--control-port", controlPort),
            ("--ocsp-port", ocspPort),
        ] where !(0...65_535).contains(value) {
            throw ValidationError("\(name) must be from 0 to 65535.")
        }
        if let customers, !(0...1_000_000).contains(customers) {
            throw ValidationError("--customers must be from 0 to 1000000.")
        }
        if let drift, !(0...1).contains(drift) {
            throw ValidationError("--drift must be from 0 to 1.")
        }
        _ = try plantedKinds()
        if let now, Timestamp(rfc3339: now) == nil {
            throw ValidationError("--now must be a time such as 2026-11-20T03:00:00Z.")
        }
    }

    private func plantedKinds() throws -> [DriftKind] {
        guard let driftKinds else { return DriftKind.allCases }
        return try driftKinds.split(separator: ",").map { name in
            guard let kind = DriftKind(rawValue: String(name)) else {
                let known = DriftKind.allCases.map(\.rawValue).joined(separator: ", ")
                throw ValidationError("--drift-kinds: \(name) is not one of \(known).")
            }
            return kind
        }
    }

    package func run() async throws {
        var settings = SimulatorSettings(folder: folder ?? Self.newTemporaryFolder())
        settings.port = port
        settings.sandboxPort = sandboxPort
        settings.controlPort = controlPort
        settings.offersHTTP2 = !withoutHTTP2
        settings.ocsp = ocsp
        settings.ocspPort = ocspPort
        settings.seed = seed
        settings.customers = customers
        settings.drift = drift
        settings.driftKinds = try plantedKinds()
        settings.now = now.flatMap { Timestamp(rfc3339: $0) }
        do {
            settings.scenario = try scenario.map { path throws(SimulatorError) in
                try Self.text(ofFile: path)
            }
            settings.faults = try faults.map { path throws(SimulatorError) in
                try Self.text(ofFile: path)
            }
            let simulator = try AppStoreSimulator(settings: settings)
            let serving = Task {
                try await simulator.run { Self.announce($0) }
            }
            let signals = InterruptSignals {
                serving.cancel()
                // A client that keeps its connection open must not keep the simulator alive.
                DispatchQueue.global().asyncAfter(deadline: .now() + 0.5) { Foundation.exit(0) }
            }
            try await serving.value
            signals.cancel()
        } catch let error as SimulatorError {
            try? FileHandle.standardError.write(contentsOf: Data("\(error)\n".utf8))
            throw ExitCode(Self.exitStatus(of: error))
        }
    }

    private static func exitStatus(of error: SimulatorError) -> Int32 {
        switch error {
        case .badOption, .cannotRead: 65
        case .cannotListen: 69
        case .certificates: 70
        case .cannotWrite: 73
        }
    }

    private static func text(ofFile path: String) throws(SimulatorError) -> String {
        do {
            return try String(contentsOfFile: path, encoding: .utf8)
        } catch {
            throw .cannotRead(path: path, reason: "it is missing or not text")
        }
    }

    /// One line, written at once: whoever started the simulator waits for it.
    private static func announce(_ report: SimulatorReport) {
        try? FileHandle.standardOutput.write(contentsOf: Data("READY \(report.json)\n".utf8))
    }

    private static func newTemporaryFolder() -> String {
        FileManager.default.temporaryDirectory.path
            + "/appstore-simulator-\(UUID().uuidString.lowercased())"
    }
}

extension OCSPMode: ExpressibleByArgument {}
