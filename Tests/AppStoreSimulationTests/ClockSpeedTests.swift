import AppStoreSimulation
import Foundation
import Subscriptions
import Testing

/// A clock that stands, runs or runs faster, and a server's clock that differs from the client's.
@Suite struct `The speed of the clock` {
    private func clock(_ client: SimulatorClient) throws -> (now: Int64, real: Int64) {
        let json = try client.control("GET", "/_simulator/clock").json
        func moment(_ name: String) throws -> Int64 {
            try #require((json[name] as? String).flatMap { Timestamp(rfc3339: $0) })
                .unixMilliseconds
        }
        return (try moment("now"), try moment("real"))
    }

    private func set(_ client: SimulatorClient, _ body: [String: Any]) throws {
        let answer = try client.control("POST", "/_simulator/clock", body)
        try #require(answer.status == 200, "\(answer.json)")
    }

    @Test(arguments: [0.0, 1, 2.5, 3600])
    func `is the factor between the world's time and the real one`(speed: Double) async throws {
        let client = try SimulatorClient(customers: 2)
        try set(client, ["speed": speed])
        let first = try clock(client)
        try await Task.sleep(for: .milliseconds(60))
        let second = try clock(client)
        #expect(second.real >= first.real + 60)
        let expected = Double(second.real - first.real) * speed
        // Both times are whole milliseconds.
        #expect(abs(Double(second.now - first.now) - expected) <= 2)
    }

    @Test func `lets events happen by themselves`() async throws {
        let client = try SimulatorClient(customers: 0) {
            $0.clockSpeed = 86_400
            $0.scenario = "customers: [{name: anna, life: [{at: -1d, buy: news.weekly}]}]"
        }
        let id = try client.id("anna")
        let end = try #require(try client.statement(id).date("expiresDate"))
        for _ in 0..<600 {
            guard try client.now() < end else { break }
            try await Task.sleep(for: .milliseconds(50))
        }
        #expect(try client.history(id).count >= 2)
    }

    @Test func `changes without a jump, and goes on after a restart`() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/kept-" + UUID().uuidString
        func start() throws -> SimulatorClient {
            try SimulatorClient(customers: 5) { settings in
                settings.folder = folder
                settings.keeps = true
            }
        }
        let first = try start()
        try set(first, ["speed": 1000])
        try set(first, ["speed": 0])
        let stopped = try clock(first)
        #expect(stopped.now >= (Timestamp(rfc3339: SimulatorClient.start)?.unixMilliseconds ?? 0))
        let second = try start()
        #expect(try clock(second).now == stopped.now)
        #expect(try clock(second).now == clock(second).now)
    }

    @Test func `of the server may be ahead of the client's or behind`() async throws {
        let client = try SimulatorClient(customers: 3)
        let target = "/inApps/v1/transactions/420001000000000"
        func signed() throws -> Int64? {
            let jws = try client.get(target).json["signedTransactionInfo"] as? String
            return try jws.map(SimulatorClient.payload)?["signedDate"] as? Int64
        }
        let right = try #require(try signed())
        // The token was issued now and is valid for five minutes; thirty seconds are tolerated.
        for (skew, status) in [(-600, 401), (600, 401), (-20, 200), (60, 200), (0, 200)] {
            try set(client, ["skew_seconds": skew])
            #expect(try client.get(target).status == status, "\(skew)")
        }
        try set(client, ["skew_seconds": 60])
        #expect(try signed() == right + 60_000)
        // No event happens earlier.
        #expect(try client.now() == right)
        _ = try client.control("POST", "/_simulator/limits", ["transaction_info": 0])
        let limited = try client.get(target)
        let wait = limited.raw.headers.first { $0.name == "Retry-After" }.flatMap {
            Int64($0.value)
        }
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        let hour: Int64 = 3_600_000
        #expect(limited.status == 429)
        #expect(((now + hour - 60_000)...(now + hour + 60_000)).contains(wait ?? 0))
    }

    @Test(.enabled(if: CurlCommand.isInstalled))
    func `of the server shows in the Date of answers`() async throws {
        let client = try SimulatorClient(customers: 1)
        try set(client, ["skew_seconds": 7200])
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        let before = Date().timeIntervalSince1970
        let heads = try await client.whileListening { report in
            var heads: [String] = []
            for version in ["--http1.1", "--http2"] {
                heads.append(
                    try await CurlCommand.run([
                        "--silent", "--dump-header", "-", "--output", "/dev/null", version,
                        "--cacert", report.tlsRootFile,
                        report.endpoint + "/inApps/v1/transactions/1",
                    ]).output)
            }
            return heads
        }
        let after = Date().timeIntervalSince1970
        for head in heads {
            let line = head.split(whereSeparator: \.isNewline).first {
                $0.lowercased().hasPrefix("date: ")
            }
            let date = try #require(
                line.flatMap { formatter.date(from: String($0.dropFirst(6))) }, "\(head)")
            let ahead = date.timeIntervalSince1970 - 7200
            #expect(ahead > before - 2 && ahead < after + 2)
        }
        #expect(heads.count == 2)
    }

    @Test(arguments: [
        (#"{"speed": -1}"#, "speed"), (#"{"speed": 1e9}"#, "speed"), ("{}", "neither"),
        (#"{"skew_seconds": 1e9}"#, "skew_seconds"), (#"{"pace": 3}"#, "pace"),
    ])
    func `refuses what cannot be`(body: String, name: String) throws {
        let client = try SimulatorClient(customers: 1)
        let answer = client.simulator.answerControl(
            ServiceRequest(
                method: "POST", target: "/_simulator/clock", body: Array(body.utf8)))
        #expect(answer.status == 400)
        #expect(String(decoding: answer.body, as: UTF8.self).contains(name))
    }
}
