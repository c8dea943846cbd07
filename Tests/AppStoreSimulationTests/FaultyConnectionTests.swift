import AppStoreSimulation
import Foundation
import Testing

/// The connection faults of fault plans, as curl sees them.
@Suite(.serialized, .enabled(if: CurlCommand.isInstalled, "curl is missing"))
struct `Faulty connections` {
    private static let target = "/inApps/v1/transactions/420001000000000"

    /// Sends `count` requests with curl while the faults are in force.
    private func ask(
        _ faults: [[String: Any]], count: Int = 1, _ options: [String] = []
    ) async throws -> (status: Int32, output: String, log: [String: Any]) {
        let client = try SimulatorClient(customers: 5, now: nil)
        let token = try client.token()
        let plan = try JSONSerialization.data(withJSONObject: ["faults": faults])
        let (status, output) = try await client.whileListening { report in
            let set = try await CurlCommand.run([
                "--silent", "--fail", "-X", "POST", "--data",
                String(decoding: plan, as: UTF8.self), report.control + "/_simulator/faults",
            ])
            #expect(set.status == 0, "\(set.output)")
            var arguments = [
                "--silent", "--show-error", "--max-time", "20", "--cacert", report.tlsRootFile,
                "--header", "Authorization: Bearer \(token)",
                "--write-out", "%{http_code} %{http_version} %{size_download}\\n",
            ]
            for _ in 0..<count {
                arguments += ["--output", "/dev/null", report.endpoint + Self.target]
            }
            return try await CurlCommand.run(arguments + options)
        }
        return (status, output, try client.control("GET", "/_simulator/log").json)
    }

    private func codes(_ output: String) -> [String] {
        output.split(separator: "\n").map { String($0.prefix(3)) }
    }

    @Test(arguments: [
        ("tls_wrong_host", 60), ("tls_expired", 60), ("tls_not_yet_valid", 60),
        ("tls_foreign_ca", 60), ("tls_self_signed", 60), ("tls_old_version", 35),
        ("connection_refused", 7),
    ])
    func `fail before any request`(fault: String, status: Int32) async throws {
        let answer = try await ask([["fault": fault]], ["--tlsv1.2"])
        #expect(answer.status == status, "\(fault): \(answer.output)")
        #expect(answer.log["total"] as? Int == 0)
    }

    @Test func `name what is wrong with a certificate`() async throws {
        let host = try await ask([["fault": "tls_wrong_host"]])
        #expect(host.output.contains("subject name"), "\(host.output)")
        let expired = try await ask([["fault": "tls_expired"]])
        #expect(expired.output.contains("expired"), "\(expired.output)")
    }

    @Test func `stall or are reset`() async throws {
        let stalled = try await ask([["fault": "connection_stalled"]], ["--max-time", "1"])
        #expect(stalled.status == 28, "\(stalled.output)")
        let reset = try await ask([["fault": "connection_reset"]])
        #expect([7, 35, 56].contains(reset.status), "\(reset.output)")
    }

    @Test func `are faulty so many times and right afterwards`() async throws {
        let rule: [String: Any] = ["fault": "connection_reset", "count": 1]
        let answer = try await ask([rule], ["--retry", "2", "--retry-all-errors"])
        #expect(answer.status == 0 && codes(answer.output).last == "200", "\(answer.output)")
    }

    @Test func `are refused for a time and come back under the same port`() async throws {
        let rule: [String: Any] = [
            "fault": "connection_refused", "for_seconds": 1, "environment": "Production",
        ]
        let answer = try await ask([rule], ["--retry", "8", "--retry-connrefused"])
        #expect(answer.status == 0 && codes(answer.output).last == "200", "\(answer.output)")
    }

    @Test func `may offer HTTP 1 alone`() async throws {
        let answer = try await ask([["fault": "http1_only"]], ["--http2"])
        #expect(answer.output.contains("200 1.1"), "\(answer.output)")
    }

    @Test func `end with GOAWAY in good order`() async throws {
        let answer = try await ask([["fault": "goaway"]], count: 3, ["--http2"])
        #expect(codes(answer.output) == ["200", "200", "200"], "\(answer.output)")
        #expect((answer.log["connections"] as? Int ?? 0) > 1)
    }

    @Test func `end with GOAWAY before a request that is then asked again`() async throws {
        let rule: [String: Any] = ["fault": "goaway_unprocessed", "count": 1, "skip": 1]
        let options = ["--http2", "--retry", "2", "--retry-all-errors"]
        let answer = try await ask([rule], count: 3, options)
        #expect(codes(answer.output).filter { $0 == "200" }.count == 3, "\(answer.output)")
        #expect(answer.log["connections"] as? Int == 2)
    }

    @Test func `reset streams`() async throws {
        let rule: [String: Any] = ["fault": "rst_stream", "form": "internal_error", "count": 1]
        let answer = try await ask([rule], count: 2, ["--http2"])
        #expect(answer.output.contains("curl: (92)"), "\(answer.output)")
        #expect(codes(answer.output).last == "200", "\(answer.output)")
        let refused: [String: Any] = ["fault": "rst_stream", "form": "refused_stream", "count": 1]
        let again = try await ask([refused], ["--http2"])
        #expect(codes(again.output) == ["200"], "\(again.output)")
    }

    @Test(arguments: [("--http1.1", 18), ("--http2", 18)])
    func `carry bodies that are too short`(version: String, status: Int32) async throws {
        let answer = try await ask([["fault": "short_body", "bytes": 10]], [version])
        #expect(answer.status == status, "\(answer.output)")
    }

    @Test func `carry bodies that are too long`() async throws {
        let options = ["--http1.1", "--ignore-content-length"]
        let right = try await ask([], ["--http1.1"])
        let long = try await ask([["fault": "long_body", "bytes": 500]], options)
        let sizes = [right, long].map {
            $0.output.split(separator: "\n").first?.split(separator: " ").last.flatMap { Int($0) }
        }
        let surplus = try #require(sizes[1]) - (try #require(sizes[0]))
        // Two signatures of one payload are equally long; the moments in several payloads may end with
        // more or fewer digits.
        #expect((450...550).contains(surplus), "\(long.output)")
    }

    @Test func `carry bodies that are compressed, or only say so`() async throws {
        let right = try await ask([["fault": "gzip", "form": "right"]], ["--compressed"])
        #expect(right.status == 0 && codes(right.output) == ["200"], "\(right.output)")
        for form in ["plain", "bad_checksum", "garbage", "truncated"] {
            let answer = try await ask([["fault": "gzip", "form": form]], ["--compressed"])
            // libcurl does not look at the end of what it has inflated.
            let isRefused = answer.status != 0 || form == "truncated" || form == "bad_checksum"
            #expect(isRefused, "\(form): \(answer.output)")
        }
    }

    @Test func `reach Apple's hosts through a hosts file`() async throws {
        let client = try SimulatorClient(customers: 5, now: nil)
        let token = try client.token()
        let output = try await client.whileListening { report in
            let port = report.endpoint.split(separator: ":").last ?? ""
            var output = ""
            for host in [
                "api.storekit.apple.com", "api.storekit-sandbox.apple.com",
                "api.storekit.itunes.apple.com", "api.storekit-sandbox.itunes.apple.com",
            ] {
                output += try await CurlCommand.run([
                    "--silent", "--show-error", "--max-time", "20", "--cacert", report.tlsRootFile,
                    "--resolve", "\(host):\(port):127.0.0.1", "--output", "/dev/null",
                    "--header", "Authorization: Bearer \(token)", "--write-out", "%{http_code}\\n",
                    "https://\(host):\(port)\(Self.target)",
                ]).output
            }
            return output
        }
        #expect(output == "200\n200\n200\n200\n")
    }
}
