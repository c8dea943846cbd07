import AppStoreSimulation
import Foundation
import FoundationNetworking
import Testing

@Suite(.serialized) struct `Notification delivery` {
    private static let scenario = """
        customers:
          - name: weekly
            life: [{at: -20d, buy: news.weekly}]
        """

    private func control(
        _ report: SimulatorReport, _ path: String, _ body: [String: Any]
    ) async throws -> Int? {
        let url = try #require(URL(string: report.control + "/_simulator/" + path))
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = try JSONSerialization.data(withJSONObject: body)
        let (_, response) = try await URLSession.shared.data(for: request)
        return (response as? HTTPURLResponse)?.statusCode
    }

    /// Results of the attempts of each notification after `start`, oldest first.
    private func results(_ client: SimulatorClient, since start: Int64) throws -> [[String]] {
        let answer = try client.post(
            "/inApps/v1/notifications/history",
            ["startDate": start, "endDate": start + 170 * 86_400_000])
        let history = try #require(answer.json["notificationHistory"] as? [[String: Any]])
        return history.map { entry in
            (entry["sendAttempts"] as? [[String: Any]] ?? []).compactMap {
                $0["sendAttemptResult"] as? String
            }
        }
    }

    @Test func `is attempted at the address, with retries as the clock moves`() async throws {
        let client = try SimulatorClient(now: nil) { settings in
            settings.customers = 0
            settings.scenario = Self.scenario
        }
        let start = Int64(Date().timeIntervalSince1970 * 1000)
        try await client.whileListening { report in
            // The control port itself receives: it answers one path with 200, others with 404.
            let working = report.control + "/_simulator/log/reset"
            let broken = report.control + "/_simulator/nothing"
            let refused = try await control(
                report, "notifications", ["address": "http://192.0.2.1/x"])
            #expect(refused == 400)
            #expect(try await control(report, "notifications", ["address": working]) == 200)
            #expect(try await control(report, "advance", ["days": 7]) == 200)
            #expect(try results(client, since: start) == [["SUCCESS"]])
            #expect(try await control(report, "notifications", ["address": broken]) == 200)
            #expect(try await control(report, "advance", ["days": 7]) == 200)
            let failed = try #require(try results(client, since: start).last)
            #expect(Set(failed) == ["UNSUCCESSFUL_HTTP_RESPONSE_CODE"] && failed.count == 5)
            #expect(try await control(report, "notifications", ["address": working]) == 200)
            #expect(try await control(report, "advance", ["hours": 73]) == 200)
            let retried = try results(client, since: start)
            #expect(retried.map(\.last) == ["SUCCESS", "SUCCESS", "SUCCESS"])
            #expect(retried[1].count == 6)
        }
    }
}
