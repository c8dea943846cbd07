import Testing

@testable import AppStoreSimulation

/// Listeners that close and open again while clients go on connecting, as in an outage.
@Suite(.serialized, .enabled(if: CurlCommand.isInstalled, "curl is missing"))
struct `A listener that closes` {
    @Test func `does so while clients connect, and serves them again when it opens`() async throws {
        let client = try SimulatorClient(customers: 0) { $0.ocsp = .good }
        try await client.whileListening { report in
            let responder = try #require(report.ocsp)
            // Each request on a connection of its own, until the responder was closed often enough.
            async let asked = CurlCommand.run([
                "--silent", "--parallel", "--parallel-max", "40", "--header", "Connection: close",
                "--max-time", "20", "--output", "/dev/null", responder + "/[1-2000]",
            ])
            for _ in 0..<12 {
                for mode in ["absent", "good"] {
                    let set = try await CurlCommand.run([
                        "--silent", "--fail", "--data", #"{"mode": "\#(mode)"}"#,
                        report.control + "/_simulator/ocsp",
                    ])
                    try #require(set.status == 0, "\(set.output)")
                }
            }
            _ = try await asked
            let again = try await CurlCommand.run([
                "--silent", "--output", "/dev/null", "--write-out", "%{http_code}", responder + "/",
            ])
            #expect(again.status == 0 && again.output != "000", "\(again.output)")
        }
    }
}

struct `The connections of a server` {
    @Test(.timeLimit(.minutes(30)))
    func `are cancelled where they are open, and where they begin later`() async {
        let connections = OpenConnections()
        let (begun, signal) = AsyncStream<Void>.makeStream()
        async let open: Void = connections.serve {
            signal.finish()
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(60)) }
        }
        for await _ in begun {}
        connections.cancel()
        await open
        await connections.serve {
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(60)) }
        }
    }
}
