import AppStoreSimulation
import Foundation
import Testing

/// The list of notifications by what became of them, beside Apple's history of attempts.
@Suite struct `The list of notifications` {
    private static let scenario = """
        customers:
          - name: anna
            life:
              - {at: -30d, buy: news.yearly}
              - {at: -25d, cancel: true, deliver: late}
              - {at: -20d, reenable: true, deliver: twice}
              - {at: -15d, cancel: true, deliver: never}
              - {at: -2h, reenable: true, deliver: never}
        """

    private func listed(
        _ client: SimulatorClient, _ query: String = ""
    ) throws -> [[String: Any]] {
        let answer = try client.control("GET", "/_simulator/notifications" + query)
        return try #require(answer.json["notifications"] as? [[String: Any]], "\(answer.json)")
    }

    private func results(_ entry: [String: Any]) -> [String] {
        (entry["sendAttempts"] as? [[String: Any]] ?? []).compactMap {
            $0["sendAttemptResult"] as? String
        }
    }

    @Test func `tells at once, late, twice, never and not yet apart`() throws {
        let client = try SimulatorClient(scenario: Self.scenario, customers: 0)
        let id = try client.id("anna")
        let found = try listed(client, "?environment=Production")
        #expect(
            found.map { $0["delivery"] as? String } == [
                "at_once", "late", "twice", "never", "pending",
            ])
        #expect(found.allSatisfy { $0["original_transaction_id"] as? String == id })
        for name in ["at_once", "late", "twice", "never", "pending"] {
            let some = try listed(client, "?environment=Production&delivery=\(name)")
            #expect(some.count == 1, "\(name)")
        }
        // Apple tries once and five times again, 1, 12, 24, 48 and 72 hours later.
        let attempts = found.map { results($0).count }
        #expect(attempts == [1, 3, 2, 6, 2])
        #expect(found.dropFirst(2).first.map(results) == ["TIMED_OUT", "SUCCESS"])
        let now = try client.now()
        let history = try client.post(
            "/inApps/v1/notifications/history",
            ["startDate": now - 60 * SimulatorClient.day, "endDate": now])
        let entries = try #require(history.json["notificationHistory"] as? [[String: Any]])
        #expect(entries.map(results) == found.map(results))
        let uuids = try entries.map {
            try ReadNotification(jws: try #require($0["signedPayload"] as? String)).uuid
        }
        #expect(found.map { $0["uuid"] as? String } == uuids)
    }

    @Test func `narrows by type and time, and refuses what it does not know`() throws {
        let client = try SimulatorClient(scenario: Self.scenario, customers: 0)
        let query = "?environment=Production&type=DID_CHANGE_RENEWAL_STATUS"
        #expect(try listed(client, query).count == 4)
        #expect(try listed(client, query + "&since=2026-11-04T00:00:00Z").count == 2)
        #expect(try listed(client, query + "&until=2026-11-04T00:00:00Z&limit=1").count == 1)
        for (wrong, name) in [
            ("delivery=soon", "soon"), ("type=PARTY", "PARTY"), ("since=today", "today"),
            ("sort=up", "sort"),
        ] {
            let answer = try client.control("GET", "/_simulator/notifications?" + wrong)
            #expect(answer.status == 400)
            #expect((answer.json["error"] as? String)?.contains(name) == true)
        }
    }

    @Test func `a notification that comes twice is posted twice with one UUID`() async throws {
        let client = try SimulatorClient(scenario: "customers: [{name: anna}]", customers: 0)
        let receiver = try RecordingReceiver()
        let configured = try client.control(
            "POST", "/_simulator/notifications", ["address": receiver.address])
        #expect(configured.status == 200)
        let bought = try client.control(
            "POST", "/_simulator/customers/anna/buy", ["buy": "news.monthly", "deliver": "twice"])
        #expect(bought.status == 200, "\(bought.json)")
        #expect(try listed(client, "?delivery=pending").count == 1)
        try await client.whileListening { report in
            for hours in [1, 1] {
                let moved = try await CurlCommand.run([
                    "--silent", "--data", #"{"hours": \#(hours), "wait_seconds": 300}"#,
                    report.control + "/_simulator/advance",
                ])
                #expect(moved.status == 0)
            }
        }
        let uuids = try receiver.requests.map { request in
            let json =
                try JSONSerialization.jsonObject(with: Data(request.body.utf8)) as? [String: Any]
            return try ReadNotification(
                jws: try #require(json?["signedPayload"] as? String)
            ).uuid
        }
        #expect(uuids.count == 2 && Set(uuids).count == 1)
        let found = try listed(client, "?delivery=twice")
        #expect(found.map { $0["uuid"] as? String } == uuids.prefix(1).map(\.self))
        #expect(found.map(results) == [["TIMED_OUT", "SUCCESS"]])
    }
}
