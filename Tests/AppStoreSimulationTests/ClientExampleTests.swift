import AppStoreSimulation
import Foundation
import Testing

/// The examples of `docs/simulator.md`: clients in several languages, each of which sees a refund.
///
/// Examples whose language is not installed are skipped; the one in Go is never run.
@Suite(.serialized) struct `An example of a client` {
    private static let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    private static let folder = here.appendingPathComponent("Clients").path

    private static var python: String {
        let root = here.deletingLastPathComponent().deletingLastPathComponent()
        let folder =
            ProcessInfo.processInfo.environment["PYTHON_PEER"]
            ?? root.appendingPathComponent(".build/python-peer").path
        return folder + "/bin/python"
    }

    private static func isInstalled(_ path: String) -> Bool {
        FileManager.default.isExecutableFile(atPath: path)
    }

    /// Runs an example against its own simulator and returns its output.
    private func run(
        _ program: String, _ arguments: [String], environment: String? = nil
    ) async throws -> [String] {
        let scenario = try String(contentsOfFile: Self.folder + "/refund.yaml", encoding: .utf8)
        let client = try SimulatorClient(customers: 0, now: nil) { $0.scenario = scenario }
        return try await client.whileListening { report in
            let variables = environment.map { [$0: report.tlsRootFile] } ?? [:]
            let client = try await ClientProcess.run(
                program, arguments, asking: report, adding: variables)
            return client.output.split(separator: "\n").map {
                $0.trimmingCharacters(in: .whitespaces)
            }
        }
    }

    @Test(.enabled(if: CurlCommand.isInstalled, "curl is missing"))
    func `with curl sees a refund`() async throws {
        let lines = try await run("/bin/sh", [Self.folder + "/refund.sh"])
        #expect(lines == ["status 1", "status 5"])
    }

    @Test(.enabled(if: isInstalled(python), "Apple's client is missing: see PythonPeer/prepare"))
    func `with Apple's Python client sees a refund`() async throws {
        let lines = try await run(
            Self.python, [Self.folder + "/refund.py"], environment: "REQUESTS_CA_BUNDLE")
        #expect(lines == ["status 1 None", "status 5 1"])
    }

    @Test(.enabled(if: isInstalled("/usr/bin/node"), "Node is missing"))
    func `with Node sees a refund`() async throws {
        let lines = try await run(
            "/usr/bin/node", [Self.folder + "/refund.mjs"], environment: "NODE_EXTRA_CA_CERTS")
        #expect(lines == ["status 1", "status 5 REFUND_FULL"])
    }

    @Test(.enabled(if: isInstalled("/usr/bin/java"), "Java is missing"))
    func `with Java sees a refund`() async throws {
        let lines = try await run("/usr/bin/java", [Self.folder + "/Refund.java"])
        #expect(lines == ["status 1", "status 5"])
    }
}
