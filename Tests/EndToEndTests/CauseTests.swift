import Foundation
import TestSupport
import Testing

/// A night on which the company's endpoint failed in every way, and what the job says about it.
///
/// Nobody applies notifications here: the table stays as it was at one o'clock. The simulator's own
/// control port is the company's endpoint; one path of it answers 200, another 404, and a closed port
/// answers nothing.
@Suite(.timeLimit(.minutes(30))) struct `The causes of a night` {
    private static let evening = "2026-11-19T01:00:00Z"
    private static let night = "2026-11-19T03:10:00Z"

    /// Six cancel while the endpoint answers 404, from 02:14 to 02:19; three are refunded while it
    /// is down, from 02:30 to 02:32.
    private static var scenario: String {
        let outage = (0..<6).map { number in
            "  - {name: refused-\(number), life: [{at: -70d, buy: video.basic.monthly}, "
                + "{at: +1h\(14 + number)m, cancel: true}]}"
        }
        let down = (0..<3).map { number in
            "  - {name: down-\(number), life: [{at: -20d, buy: news.monthly}, "
                + "{at: +1h\(30 + number)m, refund: 100}]}"
        }
        let others = """
              - {name: untold, life: [{at: -20d, buy: news.monthly}, {at: +2m, refund: 100, deliver: unsent}]}
              - {name: late, life: [{at: -20d, buy: news.monthly}, {at: +5m, cancel: true}]}
              - {name: overtaken, life: [{at: -20d, buy: news.monthly}, {at: +7m, cancel: true}, {at: +30m, reenable: true}]}
              - {name: lost, life: [{at: -20d, buy: news.monthly}, {at: +40m, cancel: true}]}
              - {name: ignored, life: [{at: -20d, buy: news.monthly}, {at: +41m, cancel: true}]}
              - {name: shifted, life: [{at: -20d, buy: news.monthly}]}
            """
        return (["customers:"] + outage + down + [others]).joined(separator: "\n") + "\n"
    }

    private func advance(_ simulator: RunningSimulator, to time: String) async throws {
        try await simulator.control(
            "/_simulator/advance", method: "POST", body: "{\"to\": \"\(time)\"}")
    }

    private func answer(_ simulator: RunningSimulator, at address: String) async throws {
        try await simulator.control(
            "/_simulator/notifications", method: "POST", body: "{\"address\": \"\(address)\"}")
    }

    /// The evening's table, then the night's notifications as the endpoint met them.
    private func livedThrough() async throws -> Workplace {
        let folder = try TemporaryFolder()
        let scenario = try folder.write(Self.scenario, to: "scenario.yaml")
        let simulator = try RunningSimulator([
            "--customers", "0", "--scenario", scenario, "--now", Self.evening, "--drift", "0",
        ])
        let place = try Workplace(on: simulator)
        try place.writeJob("nightly", "recover: {inbox: imported}")
        try place.writeJob("probe", steps: "[recover]")
        try #require(place.run("init").status == 0)
        let imported = try place.run("import", try #require(simulator.ready.tableFile))
        try #require(imported.status == 0, "\(imported.errors)")
        let control = simulator.ready.control
        let (working, broken) = (
            control + "/_simulator/log/reset", control + "/_simulator/nothing"
        )
        for (address, until) in [
            (broken, "01:15"), (working, "02:13"), (broken, "02:25"),
            ("http://127.0.0.1:1/closed", "02:35"), (working, "03:10"),
        ] {
            try await answer(simulator, at: address)
            try await advance(simulator, to: "2026-11-19T\(until):00Z")
        }
        return place
    }

    /// Original transaction ids by the customer's name.
    private func ids(_ simulator: RunningSimulator) async throws -> [String: String] {
        let data = try await simulator.control("/_simulator/customers")
        let object = try #require(
            try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let customers = try #require(object["customers"] as? [[String: Any]])
        var ids: [String: String] = [:]
        for customer in customers {
            let purchases = customer["purchases"] as? [[String: Any]]
            ids[customer["name"] as? String ?? ""] =
                purchases?.first?["original_transaction_id"] as? String
        }
        return ids
    }

    /// What the endpoint received and kept: everything delivered but what was lost.
    private func importInbox(_ place: Workplace, losing id: String) throws {
        let probe = try place.run("check", "probe", "--now", Self.night)
        try #require([0, 2].contains(probe.status), "\(probe.errors)")
        let lines = try place.report("notifications.csv").split(whereSeparator: \.isNewline)
            .map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
        let header = try #require(lines.first)
        let uuid = try #require(header.firstIndex(of: "notification_uuid"))
        let original = try #require(header.firstIndex(of: "original_transaction_id"))
        let verdict = try #require(header.firstIndex(of: "verdict"))
        let type = try #require(header.firstIndex(of: "notification_type"))
        let received = lines.dropFirst().filter { line in
            line[verdict] == "delivered" && (line[original] != id || line[type] == "SUBSCRIBED")
        }
        .map { #"{"notificationUUID": "\#($0[uuid])", "receivedAt": "2026-11-19T02:00:00Z"}"# }
        let file = try place.folder.write(
            received.joined(separator: "\n") + "\n", to: "inbox.jsonl")
        let imported = try place.run("import", "--notifications", file)
        try #require(imported.status == 0, "\(imported.errors)")
    }

    private func causes(_ place: Workplace) throws -> [String: [String: Any]] {
        let all = try #require(try place.summary()["causes"] as? [[String: Any]])
        return Dictionary(
            all.map { ($0["delivery"] as? String ?? $0["cause"] as? String ?? "", $0) },
            uniquingKeysWith: { first, _ in
                Issue.record("two clusters of one delivery")
                return first
            })
    }

    /// Makes what came of the night at the company: one row overwritten by an older notification,
    /// one written by somebody eight hours off.
    private func disturb(_ place: Workplace, _ ids: [String: String]) throws {
        let overtaken = try #require(ids["overtaken"])
        try place.sql(
            """
            UPDATE subscriptions SET auto_renew_status = 0,
                signed_date = unixepoch('2026-11-19T01:07:00Z') * 1000
            WHERE original_transaction_id = '\(overtaken)'
            """)
        let shifted = try #require(ids["shifted"])
        try place.sql(
            """
            UPDATE subscriptions SET expires_date = expires_date + 8 * 3600000
            WHERE original_transaction_id = '\(shifted)'
            """)
    }

    @Test func `are named, with the minutes in which the endpoint failed`() async throws {
        let place = try await livedThrough()
        let ids = try await ids(place.simulator)
        try disturb(place, ids)
        try importInbox(place, losing: try #require(ids["lost"]))

        let check = try place.run("check", "nightly", "--now", Self.night)
        #expect(check.status == 2, "\(check.errors)\n\(check.output)")
        let planned = try causes(place)
        let run = try place.run("run", "nightly", "--now", Self.night)
        #expect(run.status == 0, "\(run.errors)\n\(run.output)")
        let found = try causes(place)

        let expected: [String: (cause: String, example: String, rows: Int)] = [
            "refused": ("refused by us (UNSUCCESSFUL_HTTP_RESPONSE_CODE)", "refused-0", 6),
            "did_not_reach_us": ("did not reach us (NO_RESPONSE)", "down-0", 3),
            "never_sent": (
                "never sent: Apple's history holds no notification of the change", "untold", 1
            ),
            "late": (
                "late: delivered by a retry, not applied; first attempt (UNSUCCESSFUL_HTTP_RESPONSE_CODE)",
                "late", 1
            ),
            "out_of_order": (
                "out of order: an older notification came after it and overwrote it", "overtaken",
                1
            ),
            "lost_after_200": ("lost by us: answered 200, but not in the inbox", "lost", 1),
            "delivered_not_applied": ("delivered to us (SUCCESS), not applied", "ignored", 1),
            // The refund that nobody was told of also turned the renewal off; of that no date is signed.
            "unknown": (
                "unknown: no notification since the row's statement; never sent, or changed by us",
                "untold", 1
            ),
            "time zone: constant offset of +8 h": (
                "time zone: constant offset of +8 h", "shifted", 1
            ),
        ]
        #expect(Set(found.keys) == Set(expected.keys), "\(run.output)")
        for (name, cluster) in expected {
            #expect(found[name]?["cause"] as? String == cluster.cause)
            #expect(found[name]?["example"] as? String == ids[cluster.example], "\(name)")
            #expect(found[name]?["rows"] as? Int == cluster.rows, "\(name)")
            #expect(found[name]?["corrections"] as? Int == cluster.rows, "\(name)")
            #expect(planned[name]?["rows"] as? Int == cluster.rows, "\(name)")
            #expect(planned[name]?["corrections"] as? Int == cluster.rows, "\(name)")
        }
        let refused = try #require(found["refused"])
        #expect(refused["notifications"] as? Int == 6)
        #expect(refused["still_retried"] as? Int == 6)
        #expect(refused["product_id"] as? String == "com.example.app.video.basic.monthly")
        let burst = try #require((refused["bursts"] as? [[String: Any]])?.first)
        #expect(burst["start"] as? String == "2026-11-19T02:14:00.000Z")
        #expect(burst["end"] as? String == "2026-11-19T02:19:00.000Z")
        #expect(burst["notifications"] as? Int == 6)
        #expect(
            run.output.contains("6 notifications (DID_CHANGE_RENEWAL_STATUS.AUTO_RENEW_DISABLED)"))
        let words = run.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.contains("all in 02:14–02:19 UTC on 2026-11-19; Apple still retries 6"))
        let causes = try #require(run.output.range(of: "CAUSES"))
        let tieOut = try #require(run.output.range(of: "TIE-OUT"))
        #expect(causes.lowerBound < tieOut.lowerBound)

        // Every finding carries its cluster's text.
        var counts: [String: Int] = [:]
        for finding in try place.reportLines("discrepancies.jsonl") {
            counts[finding["cause"] as? String ?? "", default: 0] += 1
        }
        for cluster in found.values {
            #expect(counts[cluster["cause"] as? String ?? ""] == cluster["findings"] as? Int)
        }
    }
}
