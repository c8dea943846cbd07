import AppStoreSimulation
import Foundation
import Testing

/// The real-time URL, the call to it, and the performance test.
@Suite(.serialized) struct `Real-time retention` {
    private static let url = "realtime/url"
    private static let configured = ["realtimeURL": "https://example.com/retention"]
    private static let message = "0a6a1bc0-3c1d-4d6f-9a6e-0f5b8a5a0003"
    private static let other = "0a6a1bc0-3c1d-4d6f-9a6e-0f5b8a5a0004"
    private static let text = ["header": "Stay", "body": "There is more to come."]
    private static let scenario = """
        customers:
          - name: tester
            environment: Sandbox
            life: [{at: -20d, buy: news.monthly}]
        """

    private func world() throws -> SimulatorClient {
        let client = try SimulatorClient(scenario: Self.scenario, customers: 0)
        for id in [Self.message, Self.other] {
            #expect(try client.retention("PUT", "message/\(id)", Self.text).status == 200)
        }
        let place = "default/com.example.app.news.monthly/en-US"
        let body = ["messageIdentifier": Self.other]
        #expect(try client.retention("PUT", place, body).status == 200)
        return client
    }

    private func id(_ client: SimulatorClient) throws -> String { try client.id("tester") }

    @Test func `has an HTTPS URL in each environment, in production after a passed test`() throws {
        let client = try SimulatorClient(customers: 1)
        #expect(try client.retention("GET", Self.url).errorCode == 4_040_021)
        let long = "https://example.com/" + String(repeating: "x", count: 237)
        for wrong in ["http://example.com/x", "example.com", "https://", long] {
            let answer = try client.retention("PUT", Self.url, ["realtimeURL": wrong])
            #expect(answer.errorCode == 4_000_215, "\(wrong)")
        }
        #expect(try client.retention("PUT", Self.url, [:]).errorCode == 4_000_215)
        #expect(
            try client.retention("PUT", Self.url, ["realtimeURL": String(long.dropLast())]).status
                == 200)
        #expect(try client.retention("PUT", Self.url, Self.configured).status == 200)
        let read = try client.retention("GET", Self.url)
        #expect(read.json["realtimeURL"] as? String == Self.configured["realtimeURL"])
        let production = try client.retention("PUT", Self.url, Self.configured, in: .production)
        #expect(production.errorCode == 4_030_026)
        #expect(try client.retention("DELETE", Self.url).status == 200)
        #expect(try client.retention("GET", Self.url).errorCode == 4_040_021)
    }

    /// What the customer is shown after an answer of the app's server, and what the server received.
    private func shown(
        _ answer: String, status: String = "200 OK", delay: Double = 0
    ) async throws -> (json: [String: String], bodies: [String]) {
        let client = try world()
        #expect(try client.retention("PUT", Self.url, Self.configured).status == 200)
        let receiver = try RecordingReceiver(answer: answer, status: status, delay: delay)
        return try await client.whileListening { report in
            let call = ["customer": "tester"]
            let elsewhere = try await client.call(report, "retention/request", call)
            #expect(elsewhere.status == 400)
            let address = ["address": receiver.address]
            #expect(try await client.call(report, "retention", address).status == 200)
            let (status, json) = try await client.call(
                report, "retention/request", ["customer": "tester", "locale": "en-US"])
            #expect(status == 200, "\(json)")
            return (json.compactMapValues { $0 as? String }, receiver.requests.map(\.body))
        }
    }

    @Test func `sends what Apple documents, and shows the message of the answer`() async throws {
        let answer = #"{"message":{"messageIdentifier":"\#(Self.message)"}}"#
        let (json, bodies) = try await shown(answer)
        #expect(json["shown"] == "message" && json["message_identifier"] == Self.message)
        #expect(json["result"] == "SUCCESS" && json["refused"] == nil)
        let body = try #require(bodies.first)
        let request = try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: String]
        let payload = try SimulatorClient.payload(try #require(request?["signedPayload"]))
        #expect(
            payload.keys.sorted() == [
                "appAppleId", "environment", "originalTransactionId", "productId",
                "requestIdentifier", "signedDate", "userLocale",
            ])
        #expect(payload["environment"] as? String == "Sandbox")
        #expect(payload["productId"] as? String == "com.example.app.news.monthly")
        #expect(payload["userLocale"] as? String == "en-US")
        #expect(payload["requestIdentifier"] as? String == json["request_identifier"])
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"message":{"messageIdentifier":"x"}}"#,
        #"{"message":{"messageIdentifier":"0a6a1bc0-3c1d-4d6f-9a6e-0f5b8a5a0009"}}"#,
        #"{"message":{"messageIdentifier":"0a6a1bc0-3c1d-4d6f-9a6e-0f5b8a5a0003"},"#
            + #""alternateProduct":{"messageIdentifier":"0a6a1bc0-3c1d-4d6f-9a6e-0f5b8a5a0003","#
            + #""productId":"com.example.app.news.yearly"}}"#,
        #"{"promotionalOffer":{"messageIdentifier":"0a6a1bc0-3c1d-4d6f-9a6e-0f5b8a5a0003"}}"#,
        #"{"alternateProduct":{"messageIdentifier":"0a6a1bc0-3c1d-4d6f-9a6e-0f5b8a5a0003"}}"#,
    ])
    func `shows the default message instead of a wrong answer`(answer: String) async throws {
        let (json, _) = try await shown(answer)
        #expect(json["shown"] == "default_message" && json["message_identifier"] == Self.other)
        #expect(json["refused"] != nil)
    }

    @Test func `shows the default message when the server fails or is late`() async throws {
        let answer = #"{"message":{"messageIdentifier":"\#(Self.message)"}}"#
        let failed = try await shown(answer, status: "500 Oh").json
        #expect(failed["result"] == "UNSUCCESSFUL_HTTP_RESPONSE_CODE")
        let late = try await shown(answer, delay: 2).json
        #expect(late["result"] == "TIMED_OUT")
        for json in [failed, late] {
            #expect(json["shown"] == "default_message" && json["message_identifier"] == Self.other)
        }
    }

    private func tested(delay: Double) async throws -> (result: [String: Any], production: Int) {
        let client = try world()
        let receiver = try RecordingReceiver(answer: "{}", delay: delay)
        let id = try id(client)
        let text = try await client.whileListening { report -> String in
            let begin = ["originalTransactionId": id]
            #expect(
                try client.retention("POST", "performanceTest", begin).errorCode == 4_040_021)
            #expect(try client.retention("PUT", Self.url, Self.configured).status == 200)
            let address = ["address": receiver.address]
            #expect(try await client.call(report, "retention", address).status == 200)
            #expect(
                try client.retention("POST", "performanceTest", begin, in: .production).status
                    == 404)
            let wrong: [(id: Any, code: Int)] = [
                (7, 4_000_211), ("x", 4_000_006), ("77", 4_040_005),
            ]
            for (id, code) in wrong {
                let body = ["originalTransactionId": id]
                #expect(
                    try client.retention("POST", "performanceTest", body).errorCode == code)
            }
            let begun = try client.retention("POST", "performanceTest", begin)
            let request = try #require(begun.json["requestId"] as? String)
            let config = try #require(begun.json["config"] as? [String: Int])
            #expect(config["responseTimeThreshold"] == 700)
            #expect(
                try client.retention("POST", "performanceTest", begin).errorCode == 4_000_213)
            let path = "performanceTest/result/"
            #expect(try client.retention("GET", path + "x").errorCode == 4_000_212)
            let stranger = path + UUID().uuidString
            #expect(try client.retention("GET", stranger).errorCode == 4_040_018)
            for _ in 0..<600 {
                let answer = try client.retention("GET", path + request)
                if answer.json["result"] as? String != "PENDING" {
                    return try SimulatorClient.text(answer.json)
                }
                try await Task.sleep(for: .milliseconds(50))
            }
            return "{}"
        }
        let result = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        let production = try client.retention("PUT", Self.url, Self.configured, in: .production)
        return (result ?? [:], production.status)
    }

    @Test func `passes the performance test by answering in time`() async throws {
        let (result, production) = try await tested(delay: 0)
        #expect(result["result"] as? String == "PASS", "\(result)")
        #expect(result["numPending"] as? Int == 0 && production == 200)
        #expect(result["target"] as? String == Self.configured["realtimeURL"])
    }

    @Test func `fails the performance test by answering late`() async throws {
        let (result, production) = try await tested(delay: 1)
        #expect(result["result"] as? String == "FAIL", "\(result)")
        #expect((result["failures"] as? [String: Int])?["TIMED_OUT"] ?? 0 > 0)
        #expect(production == 403)
    }
}
