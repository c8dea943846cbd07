import AppStoreSimulation
import Crypto
import Foundation
import Testing

/// The log of single requests.
@Suite struct `The log per request` {
    private func requests(
        _ client: SimulatorClient, _ query: String = ""
    ) throws -> [[String: Any]] {
        let answer = try client.control("GET", "/_simulator/log/requests" + query)
        return try #require(answer.json["requests"] as? [[String: Any]], "\(answer.json)")
    }

    @Test(.enabled(if: CurlCommand.isInstalled))
    func `has time, token, query, status and fault of each`() async throws {
        let client = try SimulatorClient(customers: 3) {
            $0.faults = "faults: [{fault: error, code: 5000001, endpoint: history}]"
        }
        let token = try client.token()
        let before = Date()
        try await client.whileListening { report in
            for target in [
                "/inApps/v1/subscriptions/420001000000000?status=1&status=2",
                "/inApps/v2/history/420001000000000", "/nowhere",
            ] {
                _ = try await CurlCommand.run([
                    "--silent", "--cacert", report.tlsRootFile, "--header",
                    "Authorization: Bearer \(token)", report.endpoint + target,
                ])
            }
        }
        let found = try requests(client)
        #expect(found.map { $0["number"] as? Int } == [1, 2, 3])
        #expect(found.map { $0["status"] as? Int } == [200, 500, 404])
        #expect(found.map { $0["endpoint"] as? String } == ["statuses", "history", "other"])
        #expect(
            found.map { $0["path"] as? String } == [
                "/inApps/v1/subscriptions/420001000000000",
                "/inApps/v2/history/420001000000000", "/nowhere",
            ])
        #expect(found.map { $0["query"] as? String } == ["status=1&status=2", nil, nil])
        #expect(found.map { $0["faults"] as? [String] } == [[], ["error"], []])
        #expect(found.allSatisfy { $0["method"] as? String == "GET" })
        let digest = SHA256.hash(data: Data(token.utf8)).prefix(8)
            .map { String(format: "%02x", $0) }.joined()
        #expect(found.allSatisfy { $0["token"] as? String == digest })
        let log = String(
            decoding: try client.control("GET", "/_simulator/log/requests").raw.body,
            as: UTF8.self)
        #expect(!log.contains(token))
        let format = ISO8601DateFormatter()
        format.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        for request in found {
            let date = try #require((request["at"] as? String).flatMap(format.date))
            #expect(date > before.addingTimeInterval(-1) && date < Date().addingTimeInterval(1))
        }
        #expect(try requests(client, "?after=2").map { $0["number"] as? Int } == [3])
        #expect(try requests(client, "?status=500").count == 1)
        #expect(try requests(client, "?endpoint=statuses&token=\(digest)").count == 1)
        #expect(try requests(client, "?token=0000000000000000").isEmpty)
        #expect(try requests(client, "?limit=1").count == 1)
        #expect(try requests(client, "?environment=Sandbox").isEmpty)
        let refused = try client.control("GET", "/_simulator/log/requests?endpoint=nothing")
        #expect(refused.status == 400)
        _ = try client.control("POST", "/_simulator/log/reset")
        #expect(try requests(client).isEmpty)
    }
}
