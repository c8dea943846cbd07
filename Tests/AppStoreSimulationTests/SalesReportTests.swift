import AppStoreSimulation
import Crypto
import Foundation
import Testing

@Suite struct `Sales reports over HTTPS` {
    private func client(
        now: String = "2026-11-20T20:00:00Z", change: (inout SimulatorSettings) -> Void = { _ in }
    ) throws -> (SimulatorClient, P256.Signing.PrivateKey) {
        let client = try SimulatorClient(now: now, change: change)
        let pem = try String(
            contentsOfFile: client.simulator.report.connectKeyFile, encoding: .utf8)
        return (client, try P256.Signing.PrivateKey(pemRepresentation: pem))
    }

    private func target(
        _ type: String = "SUBSCRIPTION", subType: String = "SUMMARY", day: String = "2026-11-19",
        version: String = "1_4", vendor: String = "80012345", frequency: String = "DAILY"
    ) -> String {
        "/v1/salesReports?filter%5BreportType%5D=\(type)&filter%5BreportSubType%5D=\(subType)"
            + "&filter%5Bfrequency%5D=\(frequency)&filter%5BreportDate%5D=\(day)"
            + "&filter%5BvendorNumber%5D=\(vendor)&filter%5Bversion%5D=\(version)"
    }

    private func token(
        _ client: SimulatorClient, _ key: P256.Signing.PrivateKey, _ claims: [String: Any] = [:],
        header: [String: Any] = [:]
    ) throws -> String {
        try client.token(
            header: ["kid": client.app.connectKeyID].merging(header) { $1 },
            claims: ["bid": NSNull()].merging(claims) { $1 }, key: key)
    }

    private func detail(_ answer: Answer) -> String {
        let errors = answer.json["errors"] as? [[String: Any]]
        return errors?.first?["detail"] as? String ?? ""
    }

    @Test func `are the files of the same day, packed, with an encoding that no client knows`()
        throws
    {
        let folder = FileManager.default.temporaryDirectory.path + "/sales-" + UUID().uuidString
        let (client, key) = try client { $0.salesReports = folder }
        let token = try token(client, key)
        for (name, type, subType, version) in [
            ("Subscription", "SUBSCRIPTION", "SUMMARY", "1_4"),
            ("Subscription_Event", "SUBSCRIPTION_EVENT", "SUMMARY", "1_4"),
            ("Subscriber", "SUBSCRIBER", "DETAILED", "1_3"),
        ] {
            let answer = try client.get(
                target(type, subType: subType, version: version), token: token)
            #expect(answer.status == 200)
            #expect(answer.raw.contentType == "application/a-gzip")
            #expect(answer.raw.headers.contains { $0 == ("Content-Encoding", "agzip") })
            let text = try String(
                contentsOfFile: "\(folder)/\(name)_80012345_20261119.txt", encoding: .utf8)
            #expect(answer.raw.body.starts(with: [0x1F, 0x8B]))
            // Stored blocks: the text is in the file as it is.
            #expect(String(decoding: answer.raw.body, as: UTF8.self).contains(text.prefix(4000)))
        }
    }

    @Test func `are only for a token of the team key`() throws {
        let (client, key) = try client()
        let now = Date().timeIntervalSince1970.rounded()
        let wrong = [
            try client.token(), try token(client, P256.Signing.PrivateKey()),
            try token(client, key, ["bid": client.app.bundleID]),
            try token(client, key, ["aud": "appstoreconnect-v2"]),
            try token(client, key, ["iat": now, "exp": now + 1260]),
            try token(client, key, ["exp": now - 60]),
            try token(client, key, header: ["kid": client.app.keyID]), "", "x.y.z",
        ]
        for token in wrong {
            #expect(try client.get(target(), token: token).status == 401, "\(token)")
        }
        #expect(try client.get(target(), token: token(client, key)).status == 200)
        // The team key does not open the App Store Server API.
        let other = try client.get(
            "/inApps/v1/transactions/420001000000000", token: token(client, key))
        #expect(other.status == 401)
        let sandbox = try client.get(target(), environment: .sandbox, token: token(client, key))
        #expect(sandbox.status == 404)
    }

    @Test func `say what is wrong with a question`() throws {
        let (client, key) = try client()
        let token = try token(client, key)
        func refusal(_ target: String) throws -> String {
            let answer = try client.get(target, token: token)
            return "\(answer.status) \(detail(answer))"
        }
        #expect(try refusal(target(version: "1_3")).hasSuffix("this report is 1_4."))
        #expect(try refusal(target(vendor: "1")).contains("Invalid vendor number"))
        #expect(try refusal(target(frequency: "WEEKLY")).hasPrefix("400 Some provided"))
        #expect(try refusal(target("SUBSCRIBER", version: "1_3")).hasPrefix("400 Some provided"))
        #expect(try refusal(target(day: "2026-11-20")).hasPrefix("404 Report is not available yet"))
        #expect(try refusal(target(day: "1999-01-01")).hasPrefix("410 Report is no longer"))
        #expect(try refusal(target(day: "today")).hasPrefix("404 There were no sales"))
    }

    @Test func `are there from eight o'clock in the morning`() throws {
        let (client, key) = try client(now: "2026-11-20T15:59:59Z")
        #expect(try client.get(target(), token: token(client, key)).status == 404)
        let (later, otherKey) = try self.client(now: "2026-11-20T16:00:00Z")
        #expect(try later.get(target(), token: token(later, otherKey)).status == 200)
    }

    @Test func `are limited by the hour, without a Retry-After`() throws {
        let (client, key) = try client { $0.faults = "limits: {sales_reports: 2}" }
        let token = try token(client, key)
        let answers = try (0..<3).map { _ in try client.get(target(), token: token) }
        #expect(answers.map(\.status) == [200, 200, 429])
        #expect(answers[2].raw.headers.map(\.name) == ["X-Rate-Limit"])
    }
}
