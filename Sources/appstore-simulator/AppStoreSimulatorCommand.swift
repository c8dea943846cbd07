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
            calls over plain HTTP under /_simulator/, with the world on a page for people at /. \
            It listens on 127.0.0.1 unless --bind says otherwise.

            When all listeners are up it prints one line, READY {json}, with endpoint, \
            sandbox_endpoint, control, ca_file, root_file, key_file, key_id, issuer_id, bundle_id \
            and app_apple_id (with --drift also table_file, planted_file, purchases_file and \
            planted_purchases_file, with --ocsp also ocsp, with --table also rows and \
            rows_gone_on), and serves until SIGINT or SIGTERM. Exit status: 0 stopped, 64 bad \
            arguments, 65 a bad file, 69 could not listen, 73 could not write its files.
            """)

    @OptionGroup(title: "Where it listens") var listening: ListeningOptions
    @OptionGroup(title: "The world") var world: WorldOptions
    @OptionGroup(title: "Files") var files: FileOptions
    @OptionGroup(title: "What goes wrong") var wrong: FaultOptions
    @OptionGroup(title: "A company's table") var table: TableOptions

    package init() {}

    package static func main() async {
        HelpWidth.ensure()
        await main(nil)
    }

    package func run() async throws {
        do {
            let settings = try settings()
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

    private func settings() throws -> SimulatorSettings {
        var settings = SimulatorSettings(folder: files.folder ?? Self.newTemporaryFolder())
        settings.keeps = files.keep
        settings.bindAddress = listening.bind
        settings.hosts = listening.tlsNames
        settings.port = listening.port
        settings.sandboxPort = listening.sandboxPort
        settings.controlPort = listening.controlPort
        settings.offersHTTP2 = !listening.withoutHTTP2
        settings.seed = world.seed
        settings.customers = world.customers
        settings.table = try world.table.map { try Self.text(ofFile: $0) }
        settings.now = world.now.flatMap { Timestamp(rfc3339: $0) }
        settings.clockSpeed = world.speed
        settings.leafDays = world.leafDays
        settings.intermediateDays = world.intermediateDays
        settings.catalogue = try world.catalogue.map { try Self.text(ofFile: $0) }
        settings.sandboxMonthMinutes = world.sandboxMonth
        settings.scenario = try world.scenario.map { try Self.text(ofFile: $0) }
        settings.faults = try wrong.faults.map { try Self.text(ofFile: $0) }
        settings.ocsp = wrong.ocsp
        settings.ocspPort = wrong.ocspPort
        settings.drift = table.drift
        settings.driftKinds = try table.plantedKinds()
        settings.revenueCatExport = table.revenueCatExport
        settings.salesReports = table.salesReports
        return settings
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

    /// One line, written at once: the program that started the simulator waits for it.
    private static func announce(_ report: SimulatorReport) {
        if let goneOn = report.rowsGoneOn, goneOn > 0 {
            let text =
                "Of the \(report.rows ?? 0) rows of the table, \(goneOn) held a date that has passed: these "
                + "subscriptions have renewed or expired since.\n"
            try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
        }
        try? FileHandle.standardOutput.write(contentsOf: Data("READY \(report.json)\n".utf8))
    }

    private static func newTemporaryFolder() -> String {
        FileManager.default.temporaryDirectory.path
            + "/appstore-simulator-\(UUID().uuidString.lowercased())"
    }
}

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
