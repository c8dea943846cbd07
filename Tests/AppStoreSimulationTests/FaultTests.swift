import AppStoreSimulation
import Foundation
import Testing

@Suite struct `A fault plan` {
    private static let id = "420001000000000"
    private static let statuses = "/inApps/v1/subscriptions/\(id)"

    private func client(_ plan: String) throws -> SimulatorClient {
        try SimulatorClient(customers: 30) { $0.faults = plan }
    }

    private func header(_ name: String, _ answer: Answer) -> String? {
        answer.raw.headers.first { $0.name == name }?.value
    }

    @Test func `answers Apple's errors by their code`() throws {
        for (code, status) in [(4_040_002, 404), (5_000_001, 500), (4_000_002, 400)] {
            let client = try client("faults: [{fault: error, code: \(code)}]")
            let answer = try client.get(Self.statuses)
            #expect(answer.errorCode == code && answer.status == status)
            #expect(answer.json["errorMessage"] as? String != "Error.")
        }
    }

    @Test func `fires by endpoint, id, count and turn`() throws {
        let client = try client(
            """
            faults:
              - {fault: error, code: 5000000, endpoint: history}
              - {fault: unauthorized, ids: ["99"]}
              - {fault: status, status: 503, endpoint: statuses, skip: 1, count: 2}
              - {fault: html, endpoint: transaction_info, every: 3}
            """)
        let statuses = try (0..<5).map { _ in try client.get(Self.statuses).status }
        #expect(statuses == [200, 503, 503, 200, 200])
        #expect(try client.get("/inApps/v2/history/\(Self.id)").errorCode == 5_000_000)
        #expect(try client.get("/inApps/v1/subscriptions/99").status == 401)
        let types = try (0..<6).map { _ in
            try client.get("/inApps/v1/transactions/\(Self.id)").raw.contentType
        }
        #expect(types.map { $0 == "text/html" } == [false, false, true, false, false, true])
        let report = try client.control("GET", "/_simulator/faults").json["faults"]
        let fired = (report as? [[String: Any]])?.compactMap { $0["fired"] as? Int }
        #expect(fired == [1, 1, 2, 2])
    }

    @Test func `affects always the same share of ids`() throws {
        let client = try client(
            "faults: [{fault: error, code: 4040010, share: 0.3, endpoint: statuses}]")
        let ids = (0..<200).map { String(420_001_000_000_000 + $0 * 4096) }
        let first = try ids.filter {
            try client.get("/inApps/v1/subscriptions/\($0)").errorCode == 4_040_010
        }
        let again = try ids.filter {
            try client.get("/inApps/v1/subscriptions/\($0)").errorCode == 4_040_010
        }
        #expect(first == again)
    }

    @Test func `writes every form of a Retry-After`() throws {
        let now = Date().timeIntervalSince1970
        func value(_ form: String) throws -> String? {
            let client = try client(
                "faults: [{fault: rate_limited, retry_after: \(form), wait_seconds: 20}]")
            let answer = try client.get(Self.statuses)
            #expect(answer.status == 429 && answer.errorCode == 4_290_000)
            return header("Retry-After", answer)
        }
        let milliseconds = try #require(try value("unix_milliseconds").flatMap(Double.init))
        #expect(abs(milliseconds / 1000 - now - 20) < 10)
        let seconds = try #require(try value("unix_seconds").flatMap(Double.init))
        #expect(abs(seconds - now - 20) < 10)
        #expect(try value("delay_seconds") == "20")
        #expect(try value("http_date")?.hasSuffix("GMT") == true)
        #expect(try value("missing") == nil)
        #expect(try value("garbage").flatMap(Double.init) == nil)
        #expect(try #require(try value("past").flatMap(Double.init)) / 1000 < now)
        #expect(try #require(try value("year_ahead").flatMap(Double.init)) / 1000 > now + 3e7)
    }

    @Test(arguments: [
        "faults: [{fault: nothing_known}]", "faults: [{fault: error}]", "fault: []",
        "faults: [{fault: html, endpont: statuses}]", "faults: [{fault: html, endpoint: status}]",
        "faults: [{fault: html, environment: production}]", "faults: {",
        "faults: [{fault: status, status: 1000}]",
        "faults: [{fault: reset, after_bytes: -1}]", "faults: [{fault: html, every: 0}]",
        "limits: {window_seconds: 0}", "limits: {nothing: 1}",
        "faults: [{fault: rate_limited, retry_after: later}]",
    ])
    func `refuses what it does not understand`(plan: String) throws {
        #expect(throws: SimulatorError.self) { try client(plan) }
        let right = try SimulatorClient(customers: 1)
        let answer = right.simulator.answerControl(
            ServiceRequest(method: "POST", target: "/_simulator/faults", body: Array(plan.utf8)))
        #expect(answer.status == 400)
    }

    @Test func `is replaced and ended by control calls`() throws {
        let client = try client("faults: [{fault: unauthorized}]")
        #expect(try client.get(Self.statuses).status == 401)
        #expect(try client.control("POST", "/_simulator/faults", ["faults": []]).status == 200)
        #expect(try client.get(Self.statuses).status == 200)
        #expect(
            try client.control("POST", "/_simulator/faults", ["faults": [["fault": "empty_data"]]])
                .status == 200)
        #expect((try client.get(Self.statuses).json["data"] as? [Any])?.isEmpty == true)
    }

    @Test func `falsifies what is not signed`() throws {
        let right = try client("faults: []").statements(Self.id)
        let honest = try #require(right[Self.id]?.status)
        let contradicting = try client("faults: [{fault: contradicting_status}]")
        #expect(try contradicting.statements(Self.id)[Self.id]?.status != honest)
        let unknown = try client("faults: [{fault: unknown_status}]")
        #expect(try unknown.statements(Self.id)[Self.id]?.status == 6)
        let other = try client("faults: [{fault: other_customer}]")
        #expect(try other.statements(Self.id)[Self.id] == nil)
        let more = try client("faults: [{fault: has_more_forever}]")
        let page = try more.get("/inApps/v2/history/\(Self.id)")
        #expect(page.json["hasMore"] as? Bool == true)
    }

    @Test func `falsifies what is signed`() throws {
        let expired = try client("faults: [{fault: everything_expired}]").statements(Self.id)
        #expect(expired.values.allSatisfy { $0.status == 2 })
        let bundle = try client("faults: [{fault: other_bundle}]").statements(Self.id)
        #expect(bundle[Self.id]?.transaction["bundleId"] as? String == "com.example.other")
        let swapped = try client("faults: [{fault: swapped_renewal}]").statements(Self.id)
        #expect(swapped[Self.id]?.renewal["originalTransactionId"] as? String != Self.id)
        let unknown = try client("faults: [{fault: unknown_values}]").statements(Self.id)
        #expect(unknown[Self.id]?.transaction["seatPlan"] != nil)
    }
}
