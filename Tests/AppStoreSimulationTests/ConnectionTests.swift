import AppStoreSimulation
import Foundation
import Testing

/// The listeners, used by curl.
@Suite(.serialized) struct `Connections` {
    private static var hasCurl: Bool { CurlCommand.isInstalled }

    /// Sends a number of requests over one version of HTTP and returns the simulator's log.
    private func ask(
        _ count: Int, version: String, faults: [[String: Any]] = []
    ) async throws -> (log: [String: Any], output: String) {
        let client = try SimulatorClient(customers: 20, now: nil)
        _ = try client.control("POST", "/_simulator/faults", ["faults": faults])
        let token = try client.token()
        let output = try await client.whileListening { report in
            let file = FileManager.default.temporaryDirectory.path + "/curl-\(UUID().uuidString)"
            var lines = [
                "header = \"Authorization: Bearer \(token)\"", "cacert = \"\(report.tlsRootFile)\"",
            ]
            for _ in 0..<count {
                lines.append(
                    "url = \"\(report.endpoint)/inApps/v1/transactions/420001000000000\"")
                lines.append("output = \"/dev/null\"")
            }
            try lines.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
            defer { try? FileManager.default.removeItem(atPath: file) }
            return try await CurlCommand.run([
                version, "--silent", "--show-error", "--max-time", "900", "--config", file,
                "--write-out", "%{http_code} %{http_version}\\n",
            ]).output
        }
        return (try client.control("GET", "/_simulator/log").json, output)
    }

    @Test(.enabled(if: hasCurl, "curl is missing"), arguments: ["--http2", "--http1.1"])
    func `carry any number of requests each`(version: String) async throws {
        let (log, output) = try await ask(450, version: version)
        #expect(log["total"] as? Int == 450)
        #expect(log["connections"] as? Int == 1)
        #expect(log["distinct_tokens"] as? Int == 1)
        let name = version == "--http2" ? "HTTP/2" : "HTTP/1.1"
        #expect((log["protocols"] as? [String: Int]) == [name: 450])
        #expect(output.components(separatedBy: "\n").filter { $0.hasPrefix("200 ") }.count == 450)
    }

    @Test(.enabled(if: hasCurl, "curl is missing"), arguments: ["--http2", "--http1.1"])
    func `are torn in mid-body or dropped when a plan says so`(version: String) async throws {
        for fault in ["reset", "drop_connection"] {
            let (_, output) = try await ask(1, version: version, faults: [["fault": fault]])
            #expect(output.contains("curl: ("), "\(fault): \(output)")
        }
    }
}
