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
        // Longer than the simulator may wait for deliveries.
        request.timeoutInterval = 900
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
        let (working, broken) = (
            try RecordingReceiver(), try RecordingReceiver(status: "404 Not Found")
        )
        try await client.whileListening { report in
            let (working, broken) = (["address": working.address], ["address": broken.address])
            let refused = try await control(
                report, "notifications", ["address": "http://192.0.2.1/x"])
            #expect(refused == 400)
            #expect(try await control(report, "notifications", working) == 200)
            #expect(try await control(report, "advance", ["days": 7, "wait_seconds": 300]) == 200)
            let delivered = try results(client, since: start)
            #expect(delivered == [["SUCCESS"]])
            #expect(try await control(report, "notifications", broken) == 200)
            #expect(try await control(report, "advance", ["days": 7, "wait_seconds": 300]) == 200)
            let failed = try #require(try results(client, since: start).last)
            #expect(Set(failed) == ["UNSUCCESSFUL_HTTP_RESPONSE_CODE"] && failed.count == 5)
            #expect(try await control(report, "notifications", working) == 200)
            #expect(
                try await control(report, "advance", ["hours": 73, "wait_seconds": 300]) == 200)
            let retried = try results(client, since: start)
            #expect(retried.map(\.last) == ["SUCCESS", "SUCCESS", "SUCCESS"])
            #expect(retried.dropFirst().first?.count == 6)
        }
    }

    @Test func `sends a test notification at once, though the clock stands`() async throws {
        let client = try SimulatorClient(customers: 0)
        let start = try client.now()
        let receiver = try RecordingReceiver()
        try await client.whileListening { report in
            let working = ["address": receiver.address]
            #expect(try await control(report, "notifications", working) == 200)
            let asked = try client.post("/inApps/v1/notifications/test", [:])
            #expect(asked.json["testNotificationToken"] != nil)
            var found: [[String]] = []
            for _ in 0..<3000 where found.flatMap(\.self).isEmpty {
                try await Task.sleep(for: .milliseconds(20))
                found = try results(client, since: start)
            }
            #expect(found == [["SUCCESS"]])
        }
    }

    @Test func `takes a redirect for a failure and does not follow it`() async throws {
        let client = try SimulatorClient(now: nil) { settings in
            settings.customers = 0
            settings.scenario = Self.scenario
        }
        let start = Int64(Date().timeIntervalSince1970 * 1000)
        let receiver = try RecordingReceiver(
            status: "302 Found", headers: "Location: /elsewhere\r\n")
        try await client.whileListening { report in
            let sent = try await control(report, "notifications", ["address": receiver.address])
            #expect(sent == 200)
            #expect(try await control(report, "advance", ["days": 7, "wait_seconds": 300]) == 200)
            let results = try results(client, since: start)
            #expect(Set(results.flatMap(\.self)) == ["UNSUCCESSFUL_HTTP_RESPONSE_CODE"])
            #expect(Set(receiver.requests.map(\.target)) == ["/apple"])
        }
    }

    @Test func `never sends what was due while there was no address`() async throws {
        let client = try SimulatorClient(now: nil) { settings in
            settings.customers = 0
            settings.scenario = Self.scenario
        }
        let receiver = try RecordingReceiver()
        try await client.whileListening { report async throws in
            let receiving = ["address": receiver.address]
            #expect(try await control(report, "notifications", receiving) == 200)
            #expect(try await control(report, "notifications", ["address": NSNull()]) == 200)
            #expect(try await control(report, "advance", ["days": 21, "wait_seconds": 300]) == 200)
            #expect(try await control(report, "notifications", receiving) == 200)
            #expect(
                try await control(report, "advance", ["seconds": 1, "wait_seconds": 300]) == 200)
            #expect(receiver.requests.isEmpty)
        }
    }

    @Test func `sends production and sandbox to addresses of their own`() async throws {
        let client = try SimulatorClient(now: nil) { settings in
            settings.customers = 0
            settings.scenario = """
                customers:
                  - name: real
                    life: [{at: -20d, buy: news.weekly}]
                  - name: tester
                    environment: Sandbox
                    life: [{at: -20d, buy: news.weekly}]
                """
        }
        let real = try RecordingReceiver()
        let tester = try RecordingReceiver()
        try await client.whileListening { report async throws in
            for (receiver, environment) in [(real, "Production"), (tester, "Sandbox")] {
                let body = ["address": receiver.address, "environment": environment]
                #expect(try await control(report, "notifications", body) == 200)
            }
            #expect(try await control(report, "advance", ["days": 8, "wait_seconds": 300]) == 200)
            #expect(!real.requests.isEmpty && !tester.requests.isEmpty)
        }
    }

    @Test func `does not hold the clock for a receiver that is silent`() async throws {
        let client = try SimulatorClient(now: nil) { settings in
            settings.customers = 0
            settings.scenario = Self.scenario
        }
        let receiver = try RecordingReceiver(status: nil)
        try await client.whileListening { report async throws in
            let silent = ["address": receiver.address]
            #expect(try await control(report, "notifications", silent) == 200)
            let begin = ContinuousClock.now
            let moved: [String: Any] = ["days": 7, "wait_seconds": 0]
            #expect(try await control(report, "advance", moved) == 200)
            // Six attempts, one after the other, would have taken 30 seconds.
            #expect(ContinuousClock.now - begin < .seconds(20))
        }
    }
}
